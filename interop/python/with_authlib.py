"""authlib: the OAuth client of many Python web frameworks, here over requests."""

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url

from wire import Refused, serve

session = metadata = None


def discover(issuer, ca, client_id, client_secret, method, document):
    """RFC 8414 §3; the library judges what RFC 8414 §2 says of each member."""
    global session, metadata
    methods = {"token_endpoint_auth_method": method, "revocation_endpoint_auth_method": method}  # by default, Basic
    session = OAuth2Session(client_id, client_secret, **methods)
    session.verify, session.trust_env = ca, False  # else a variable of the environment outweighs `ca`
    url = get_well_known_url(issuer, external=True, suffix=document)
    metadata = AuthorizationServerMetadata(of_json(session.get(url, withhold_token=True)))
    metadata.validate()
    if metadata.issuer != issuer:
        raise ValueError(f"the document names the issuer {metadata.issuer}")
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
serve("authlib", "none", asks)
