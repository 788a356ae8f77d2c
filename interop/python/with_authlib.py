"""authlib: the OAuth client of many Python web frameworks, here over requests."""

import json
import time

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import ClientSecretJWT, PrivateKeyJWT
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from joserfc.jwk import ECKey

from people_by_authlib import ASKS, People
from wire import Refused, serve

session = metadata = someone = None
CERTIFICATES = ["tls_client_auth", "self_signed_tls_client_auth"]


class FiveMinutes:
    """The library's assertions last an hour, and given claims are given once: jti included."""

    def sign(self, auth, token_endpoint):
        self.claims = {"exp": int(time.time()) + 60}
        return super().sign(auth, token_endpoint)


class ShortSecretJWT(FiveMinutes, ClientSecretJWT):
    pass


class ShortPrivateKeyJWT(FiveMinutes, PrivateKeyJWT):
    pass


def discover(issuer, ca, client_id, method, document, client_secret=None, key=None, alg=None, certificate=None,
             certificate_key=None):  # fmt: skip
    """RFC 8414 §3; the library judges what RFC 8414 §2 says of each member."""
    global session, metadata, someone
    spoken = "none" if method in CERTIFICATES else method  # the library then sends client_id: RFC 8705 §2
    methods = {"token_endpoint_auth_method": spoken, "revocation_endpoint_auth_method": spoken}  # by default, Basic
    secret = ECKey.import_key(json.loads(key)) if key else client_secret
    session = OAuth2Session(client_id, secret, **methods)
    session.register_client_auth_method(ShortSecretJWT(issuer))  # what is called token_endpoint becomes `aud`
    session.register_client_auth_method(ShortPrivateKeyJWT(issuer, alg=alg))
    session.cert = (certificate, certificate_key) if certificate else None
    session.verify, session.trust_env = ca, False  # else a variable of the environment outweighs `ca`
    url = get_well_known_url(issuer, external=True, suffix=document)
    metadata = AuthorizationServerMetadata(of_json(session.get(url, withhold_token=True)))
    metadata.validate()
    if metadata.issuer != issuer:
        raise ValueError(f"the document names the issuer {metadata.issuer}")
    someone = People(session, metadata)
    return {"metadata": metadata}


def fetch_token():
    try:
        return {"response": session.fetch_token(metadata.token_endpoint, grant_type="client_credentials")}
    except OAuthError as error:
        raise Refused(error.error)


def fetch_by_grant(grant, parameters):
    try:
        return {"response": session.fetch_token(metadata.token_endpoint, grant_type=grant, **parameters)}
    except OAuthError as error:
        raise Refused(error.error)


def introspect(token):
    return {"response": of_json(session.introspect_token(metadata.introspection_endpoint, token=token))}


def revoke(token):
    session.revoke_token(metadata.revocation_endpoint, token=token).raise_for_status()
    return {}


def with_person(ask):
    def asked(**fields):
        try:
            return getattr(someone, ask.replace("-", "_"))(**fields)
        except OAuthError as error:
            raise Refused(error.error)

    return asked


def of_json(answer):
    answer.raise_for_status()
    return answer.json()


asks = {
    "discover": discover,
    "fetch-token": fetch_token,
    "fetch-by-grant": fetch_by_grant,
    "introspect": introspect,
    "revoke": revoke,
}
asks |= {ask: with_person(ask) for ask in ASKS}
methods = ["client_secret_jwt", "private_key_jwt", *CERTIFICATES]
ways = ["code", "code, public client", "code, private_key_jwt", "device"]
serve("authlib", "none", asks, methods=methods, signs=["ES256"], ways=ways, id_tokens=["ES256"])
