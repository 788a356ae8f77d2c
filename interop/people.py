"""Flows with a person: OAuth clients send them to the running server, where they sign in and agree."""

import http.cookiejar
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser

import live
from partner import Broken

ALGS = ["ES256", "ML-DSA-65"]
CALLBACK = "http://127.0.0.1/callback"
LEFT = "http://127.0.0.1/left"
SCOPE = "openid profile offline_access"
NAME, USERNAME, PASSWORD = "Alice Archer", "alice", "correct horse battery staple"
PUSHED, SIGNED = "--require-pushed-authorization-requests", "--require-signed-request-object"
# What a way is called, how its client proves who it is, what it is registered with, and what the library is told to do.
WAYS = [
    ("code", "client_secret_basic", [], {}),
    ("code, public client", "none", [], {}),
    ("code, private_key_jwt", "private_key_jwt", [], {}),
    ("PAR", "private_key_jwt", [PUSHED], {"pushed": True}),
    ("JAR", "private_key_jwt", [SIGNED], {"signed": True}),
    ("JAR in PAR", "private_key_jwt", [PUSHED, SIGNED], {"pushed": True, "signed": True}),
    ("DPoP", "client_secret_basic", ["--dpop-bound-access-tokens"], {"bound": True}),
    ("DPoP and PAR", "private_key_jwt", ["--dpop-bound-access-tokens", PUSHED], {"bound": True, "pushed": True}),
]
DEVICE = "device"


def register(server, sealstone, work):
    """Before the start: a person, and one client for each way and algorithm."""
    server.add_user(USERNAME, NAME, PASSWORD)
    scopes = [word for scope in SCOPE.split() for word in ("--scope", scope)]
    accounts = {}
    for alg in ALGS:
        keys = sealstone.make_key(alg)
        (work / f"people-{alg}.jwks").write_text(keys["jwks"])
        code = ["--redirect-uri", CALLBACK, "--post-logout-redirect-uri", LEFT, *scopes]
        for way, method, options, asked in WAYS:
            keyed = ["--jwks", work / f"people-{alg}.jwks"] if method == "private_key_jwt" else []
            given = server.add_client(alg, method, *code, *options, *keyed, called=f"people-{len(accounts)}")
            secret = {"key": keys["private jwk"], "alg": alg} if keyed else {}
            accounts[way, alg] = method, given | secret, asked
        grants = ["--grant", "device_code", "--grant", "refresh_token"]
        accounts[DEVICE, alg] = "none", server.add_client(alg, "none", *grants, *scopes, called=DEVICE), {}
    return accounts


def flows(report, client, running, accounts):
    """Each way and algorithm that the library knows."""
    for (way, alg), (method, account, asked) in accounts.items():
        if way not in client.ways or alg not in client.id_tokens:
            continue
        step = lambda subject: report.case(client, f"person, {way}", subject, alg)
        door = {"issuer": running.issuer, "ca": str(running.ca), "method": method, "document": live.DOCUMENTS[1]}
        person, ask = Person(running), client.ask
        with step("signed in, ID token verified") as signed_in:
            ask("discover", **door, **account)
            if way == DEVICE:
                started = ask("start-device", scope=SCOPE)["response"]
                person.walk(started["verification_uri_complete"])
                claims = ask("redeem-device")["claims"]
            else:
                fields = {"redirect_uri": CALLBACK, "scope": SCOPE, "alg": alg, "key": account.get("key")}
                back = person.walk(ask("start", **fields, **asked)["url"])
                claims = ask("redeem", url=back)["claims"]
            live.expect(claims, iss=running.issuer, aud=account["client_id"])
        if not signed_in.passed:
            continue
        with step("userinfo"):
            live.expect(ask("userinfo")["response"], sub=claims["sub"], name=NAME, preferred_username=USERNAME)
        with step("refresh"):
            live.expect(ask("refresh")["claims"], sub=claims["sub"])
            live.expect(ask("userinfo")["response"], sub=claims["sub"])
        if way == DEVICE:
            continue
        if "sign-out" in client.asks:
            with step("sign-out at the client's word"):
                told = ask("sign-out", post_logout_redirect_uri=LEFT)
                arrived = person.walk(told["url"])
                if arrived != f"{LEFT}?{urllib.parse.urlencode({'state': told['state']})}":
                    raise Broken(f"the person arrived at {arrived}")
                if not person.must_sign_in(f"{running.issuer}/login"):
                    raise Broken("the person is still signed in")
        with step("the code a second time"):
            live.must_refuse(client, "redeem", because="invalid_grant", url=back)
            live.must_refuse(client, "refresh", because="invalid_grant")


class Person:
    """A browser without a script, with its cookies, whose forms are filled in as the person would."""

    def __init__(self, running):
        self._issuer = running.issuer
        tls = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=running.ca))
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._browser = urllib.request.build_opener(tls, cookies, urllib.request.ProxyHandler({}), Stay())

    def walk(self, url):
        """Goes from page to page, signs in, agrees; where they leave the server, or None on a page without a form."""
        body = None
        for _ in range(10):
            if not url.startswith(f"{self._issuer}/"):
                return url
            answer = self._open(url, body)
            if answer.headers["location"]:
                url, body = urllib.parse.urljoin(url, answer.headers["location"]), None
                continue
            form = Form(answer.read().decode())
            if answer.status != 200:
                raise Broken(f"{url}: {answer.status}: {form.text}")
            if not form.action:
                return None
            url, body = urllib.parse.urljoin(url, form.action), urllib.parse.urlencode(self._fill(form)).encode()
        raise Broken(f"it does not end: {url}")

    def must_sign_in(self, url):
        return "password" in Form(self._open(url).read().decode()).fields

    def _fill(self, form):
        known = {"username": USERNAME, "password": PASSWORD, "decision": "allow"}
        return {name: known.get(name, value) for name, value in form.fields.items()}

    def _open(self, url, body=None):
        try:
            return self._browser.open(urllib.request.Request(url, body), timeout=20)
        except urllib.error.HTTPError as answer:
            return answer


class Stay(urllib.request.HTTPRedirectHandler):
    """The person sees where they are sent."""

    def redirect_request(self, *_):
        return None


class Form(HTMLParser):
    """The first form of a page: where it goes, its fields and its first button, and the page's text."""

    def __init__(self, page):
        super().__init__()
        self.action, self.fields, self.text, self._within = None, {}, "", False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form" and self.action is None:
            self.action, self._within = attributes["action"], True
        if self._within and tag in ("input", "button") and attributes.get("name"):
            self.fields.setdefault(attributes["name"], attributes.get("value") or "")

    def handle_endtag(self, tag):
        self._within = self._within and tag != "form"

    def handle_data(self, data):
        self.text = f"{self.text} {data.strip()}".strip()
