"""authlib with a person: the code flow and what surrounds it, and devices."""

from contextlib import nullcontext

from authlib.common.security import generate_token
from authlib.integrations.base_client.sync_openid import OpenIDMixin

ASKS = ["start", "redeem", "userinfo", "refresh", "sign-out", "start-device", "redeem-device"]
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class People(OpenIDMixin):
    """The library's own part for OpenID Connect, which its integrations for web frameworks share."""

    def __init__(self, session, metadata):
        self.client_id, self.server_metadata, self._session = session.client_id, dict(metadata), session

    def load_server_metadata(self):
        return self.server_metadata

    def _get_session(self):
        return nullcontext(self._session)

    def get(self, url, **how):
        return self._session.get(url, **how)

    def start(self, redirect_uri, scope, **_):
        self._session.redirect_uri, self._session.scope = redirect_uri, scope
        self._session.code_challenge_method = "S256"
        self._verifier, self._nonce = generate_token(48), generate_token(20)
        endpoint = self.server_metadata["authorization_endpoint"]
        url, self._state = self._session.create_authorization_url(
            endpoint, code_verifier=self._verifier, nonce=self._nonce
        )
        return {"url": url}

    def redeem(self, url):
        fields = {"authorization_response": url, "state": self._state, "code_verifier": self._verifier}
        return self._take(self._session.fetch_token(self.server_metadata["token_endpoint"], **fields))

    def userinfo(self):
        return {"response": super().userinfo()}

    def refresh(self):
        self._nonce = None  # OpenID Connect Core §12.2: an ID token that comes with a refresh should have none
        return self._take(self._session.refresh_token(self.server_metadata["token_endpoint"]))

    def sign_out(self, post_logout_redirect_uri):
        return self.create_logout_url(post_logout_redirect_uri, self._id_token)

    def start_device(self, scope):
        """The library polls for a device; it has no call for how the device begins."""
        form = {"client_id": self.client_id, "scope": scope}
        answer = self._session.post(self.server_metadata["device_authorization_endpoint"], form, withhold_token=True)
        answer.raise_for_status()
        self._device, self._nonce = answer.json(), None
        return {"response": self._device}

    def redeem_device(self):
        fields = {"grant_type": DEVICE, "device_code": self._device["device_code"]}
        return self._take(self._session.fetch_token(self.server_metadata["token_endpoint"], **fields))

    def _take(self, given):
        self._id_token = given["id_token"]
        return {"claims": self.parse_id_token(given, self._nonce)}

