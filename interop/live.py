"""A running server: its tokens go to every partner, and OAuth client libraries go through its endpoints."""

import json
import time
import uuid

import people
import proofs
from base64url import decode
from ours import Server
from partner import Broken, Refused
from tokens import check_and_refuse, forge

METHODS = ["client_secret_basic", "client_secret_post"]
STOCK = "https://stock.example"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
# What a client is registered with that exchanges tokens and brings assertions.
GRANTS = ["--grant", "client_credentials", "--grant", TOKEN_EXCHANGE, "--grant", JWT_BEARER, "--exchange-to", STOCK]
DOCUMENTS = ["oauth-authorization-server", "openid-configuration"]


def server(report, levels, sealstone, partners, clients, work):
    """`clients` are those of machines and those of people; a library may be both."""
    machines = [client for client in clients if "introspect" in client.asks]
    certificates = proofs.Certificates(work)
    stopped = Server(sealstone, [*levels, "ES256"], work, certificates.authority)  # ES256: a verifier must find its key among others
    accounts = {level: {method: stopped.add_client(level, method) for method in METHODS} for level in levels}
    bound = {level: stopped.add_client(level, METHODS[0], "--dpop-bound-access-tokens") for level in levels}
    ways = {level: proofs.register(stopped, level, sealstone, work, certificates) for level in levels}
    policy = [*GRANTS, "--exchange-from", stopped.issuer]
    more = {level: stopped.add_client(level, METHODS[1], *policy, called="more") for level in levels}
    issuers = [Issuer(maker, level, stopped, more[level]) for maker in partners for level in levels]
    accounts_of_people = people.register(stopped, sealstone, work)
    with stopped as running:
        for level, by_method in accounts.items():
            with report.case(sealstone, "server", "access token over TLS", level) as given:
                token, jwks = running.fetch_token(by_method["client_secret_basic"]), running.fetch_jwks()
                payload = decode(token.split(".")[1])
            if not given.passed:
                continue
            for partner in partners:
                with report.case(partner, "server to partner", "access token, JWKS over TLS", level):
                    check_and_refuse(partner, token, level, "jwks", jwks, payload)
            for client in machines:
                for document, method in zip(DOCUMENTS, METHODS):
                    flow(report, level, client, running, by_method[method], document, method)
                proofs.flows(report, level, client, running, sealstone, ways[level])
                grants(report, level, client, running, more[level], [one for one in issuers if one.level == level])
                if "fetch-bound-token" in client.asks:
                    bound_tokens(report, level, client, running, bound[level])
        for client in clients:
            people.flows(report, client, running, accounts_of_people)


def flow(report, level, client, running, account, document, method):
    """Discovery, a token, introspection, revocation: each through the door that the library has for it."""
    step = lambda subject: report.case(client, f"client, {method}", subject, level)
    door = {"issuer": running.issuer, "ca": str(running.ca), "method": method, "document": document}
    with step(f"discovery, {document}") as discovered:
        expect(client.ask("discover", **door, **account)["metadata"], issuer=running.issuer)
    if not discovered.passed:
        return
    with step("client_credentials") as given:
        answer = client.ask("fetch-token")["response"]
        expect(json.loads(decode(answer["access_token"].split(".")[0])), alg=level, typ="at+jwt")
        token = answer["access_token"]
    if not given.passed:
        return
    if "check-access-token" in client.asks:
        with step("access token as a resource server (RFC 9068)"):
            check = {"audience": running.issuer, "level": level}
            claims = client.ask("check-access-token", token=token, **check)["claims"]
            expect(claims, iss=running.issuer, client_id=account["client_id"])
            must_refuse(client, "check-access-token", token=forge(token, "signature"), **check)
    with step("introspection"):
        expect(introspect(client, token), active=True, client_id=account["client_id"], iss=running.issuer)
    with step("introspection of a forgery"):
        expect(introspect(client, forge(token, "signature")), active=False)
    with step("introspection after revocation"):
        client.ask("revoke", token=token)
        expect(introspect(client, token), active=False)
    with step("a wrong secret"):
        client.ask("discover", **door, **account | {"client_secret": "wrong"})
        must_refuse(client, "fetch-token", because="invalid_client")


def grants(report, level, client, running, account, issuers):
    """RFC 8693 and RFC 7523 §2.1."""
    step = lambda grant, subject: report.case(client, f"client, {grant}", subject, level)
    door = {"issuer": running.issuer, "ca": str(running.ca), "method": METHODS[1], "document": DOCUMENTS[0]}
    client.ask("discover", **door, **account)
    fetch = lambda grant, **parameters: client.ask("fetch-by-grant", grant=grant, parameters=parameters)["response"]
    with step("token exchange", "a token for another audience") as given:
        subject = client.ask("fetch-token")["response"]["access_token"]
        asked = {"subject_token": subject, "subject_token_type": ACCESS_TOKEN}
        answer = fetch(TOKEN_EXCHANGE, audience=STOCK, **asked)
        expect(answer, issued_token_type=ACCESS_TOKEN)
        actor = {"client_id": account["client_id"], "sub": account["client_id"]}
        claims = json.loads(decode(answer["access_token"].split(".")[1]))
        expect(claims, act=actor, aud=STOCK, sub=account["client_id"])
    if given.passed:
        with step("token exchange", "the end of the first is the end of the second"):
            expect(introspect(client, answer["access_token"]), active=True, act=actor)
            client.ask("revoke", token=subject)
            expect(introspect(client, answer["access_token"]), active=False)
    with step("token exchange", "another target, a revoked token"):
        fresh = client.ask("fetch-token")["response"]["access_token"]
        asked = {"subject_token": fresh, "subject_token_type": ACCESS_TOKEN}
        refused = lambda code, **more: must_refuse(
            client, "fetch-by-grant", code, grant=TOKEN_EXCHANGE, parameters=asked | more
        )
        refused("invalid_target", audience="https://elsewhere.example")
        if given.passed:
            refused("invalid_request", subject_token=subject)
    for issuer in issuers:
        with step("jwt-bearer", f"assertion by {issuer.maker.name}"):
            assertion = issuer.assertion(running.issuer)
            token = fetch(JWT_BEARER, assertion=assertion)["access_token"]
            claims = json.loads(decode(token.split(".")[1]))
            expect(claims, sub=f"{issuer.name}|job", client_id=account["client_id"])
            expect(introspect(client, token), active=True, sub=f"{issuer.name}|job")
            for wrong in [assertion, forge(issuer.assertion(running.issuer), "signature")]:  # used before, forged
                asked = {"grant": JWT_BEARER, "parameters": {"assertion": wrong}}
                must_refuse(client, "fetch-by-grant", "invalid_grant", **asked)


class Issuer:
    """Somebody else's identity provider: a partner with a key of its own, which the server trusts for one client."""

    def __init__(self, maker, level, server, account):
        self.maker, self.level = maker, level
        self.name = f"https://{maker.name.replace('/', '.')}.{level.lower()}.example"
        self._keys = maker.make_key(level)
        server.add_issuer(self.name, self._keys["jwks"], account["client_id"])

    def assertion(self, audience):
        claims = {"iss": self.name, "sub": "job", "aud": audience}
        claims |= {"exp": int(time.time()) + 60, "jti": str(uuid.uuid4())}
        return self.maker.sign_token(self.level, "private jwk", self._keys["private jwk"], json.dumps(claims), "JWT")


def bound_tokens(report, level, client, running, account):
    """RFC 9449: the token names the key that the client proves to hold, and without a proof there is none."""
    step = lambda subject: report.case(client, f"client, DPoP, {METHODS[0]}", subject, level)
    door = {"issuer": running.issuer, "ca": str(running.ca), "method": METHODS[0], "document": DOCUMENTS[0]}
    with step("without a proof"):
        client.ask("discover", **door, **account)
        must_refuse(client, "fetch-token", because="invalid_dpop_proof")
    for alg, whose in [("ES256", "ES256"), (level, "the level's algorithm")]:
        with step(f"client_credentials with a nonce, proof by {whose}") as given:
            answer = client.ask("fetch-bound-token", alg=alg)
            expect(answer["response"], token_type="dpop")  # the library writes it in lower case
            token, cnf = answer["response"]["access_token"], {"jkt": answer["jkt"]}
            expect(json.loads(decode(token.split(".")[1])), cnf=cnf)
        if not given.passed:
            continue
        with step(f"introspection, proof by {whose}"):
            expect(introspect(client, token), active=True, token_type="DPoP", cnf=cnf)
        with step(f"token and proof as a resource server, proof by {whose}"):
            check = {"audience": running.issuer, "level": level}
            expect(client.ask("check-bound-token", token=token, alg=alg, **check)["claims"], cnf=cnf)
            must_refuse(client, "check-access-token", token=token, **check)


def introspect(client, token):
    return client.ask("introspect", token=token)["response"]


def expect(found, **members):
    for name, value in members.items():
        if found.get(name) != value:
            raise Broken(f"`{name}` is {found.get(name)!r}, expected {value!r}")


def must_refuse(client, ask, because=None, **fields):
    try:
        client.ask(ask, **fields)
    except Refused as why:
        if because and str(why) != because:
            raise Broken(f"{ask} refused with {why}, expected {because}")
    else:
        raise Broken(f"{ask} accepted what is not valid")
