"""Signed MQTT messages among others: envelopes travel with a foreign client, through a real broker, to our gateway, and what it lets
pass is read by that client; COSE envelopes are made and verified with foreign CBOR and ML-DSA."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from itertools import count
from pathlib import Path

from ours import free_port
from partner import Broken, Refused

BROKER = shutil.which("mosquitto", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
WAYS = [("v1", "3.1.1"), ("v1", "5"), ("cose", "3.1.1"), ("cose", "5"), ("paper", "3.1.1"), ("paper", "5"), ("detached", "5")]
TOPIC, FOREIGN = "device/7/telemetry/flow", "device/8/telemetry/flow"
SAID = {"ContentType": "text/plain", "ResponseTopic": "device/7/answers", "CorrelationData": b64encode(b"\x01\x02").decode()}
texts = (f"flow-{number}" for number in count())


def exchange(report, levels, sealstone, carrier, cose, work):
    """`carrier` is a client of MQTT; `cose` has keys of its own."""
    folder = work / "mqtt"
    folder.mkdir()
    sealstone.run("mqtt", "provision", "7", "--directory", folder / "devices", "--out", folder / "7.device", "--flash", folder / "7.flash")
    entry = json.loads((folder / "devices/7.json").read_text())
    ours = {key["level"]: key for key in entry["keys"]}
    theirs = {level: cose.ask("make-key", level=level) for level in levels} if cose else {}
    keys = [{"id": 1 + i, "level": level, "public": unpadded(bytes.fromhex(key["public"]))} for i, (level, key) in enumerate(theirs.items())]
    (folder / "devices/8.json").write_text(json.dumps({"device": "8", "keys": keys}))
    place = Place(sealstone, folder)

    for level in levels if cose else []:
        with report.case(cose, "Sealstone to partner", "COSE_Sign1 envelope", level):
            theirs_opens(cose, place, level, ours[level])
        with report.case(cose, "partner to Sealstone", "COSE_Sign1 envelope", level):
            ours_opens(cose, place, level, theirs[level], 1 + levels.index(level))
    if not carrier:
        return
    with place.running() as port:
        for version in ["3.1.1", "5"]:
            carrier.ask("subscribe", port=port, version=version, filters=["clean/#", "dead-letters/#"])
        for level in levels:
            for form, version in WAYS:
                with report.case(carrier, "carries to the gateway", f"{form}, MQTT {version}, QoS 0, 1, 2", level):
                    for qos in [0, 1, 2]:
                        carried(carrier, place, level, form, version, qos, ours[level])
            if cose:
                with report.case(cose, "partner to the gateway", f"COSE_Sign1, by {carrier.name}", level):
                    text = next(texts)
                    envelope = made(cose, level, theirs[level], 1 + levels.index(level), text)
                    clean = sent(carrier, "5", FOREIGN, envelope, 1, {}, [])
                    expect(clean["topic"], f"clean/{FOREIGN}")
                    expect(b64decode(clean["payload"]).decode(), text)
                    expect(clean["properties"]["ContentType"], "text/plain")


def theirs_opens(cose, place, level, key):
    text = next(texts)
    envelope = place.sealed(level, "cose", text)
    public = urlsafe_b64decode(key["public"] + "==").hex()
    opened = cose.ask("open", level=level, public=public, topic=TOPIC, envelope=b64encode(envelope).decode())
    expect(b64decode(opened["payload"]).decode(), text)
    expect((opened["key_id"], opened["content_type"]), (key["id"], "text/plain"))
    for topic, changed in [(TOPIC, envelope.replace(b"flow-", b"flaw-")), (f"{TOPIC}2", envelope)]:
        refused(lambda: cose.ask("open", level=level, public=public, topic=topic, envelope=b64encode(changed).decode()))


def ours_opens(cose, place, level, key, key_id):
    text = next(texts)
    envelope = made(cose, level, key, key_id, text)
    said = place.inspect(FOREIGN, envelope)
    expect((said["payload"], said["key_id"], said["form"], said["verified"]), (text, key_id, "cose", True))
    refused(lambda: place.inspect(FOREIGN, envelope.replace(b"flow-", b"flaw-")))
    refused(lambda: place.inspect(f"{FOREIGN}2", envelope))


def made(cose, level, key, key_id, text):
    answer = cose.ask(
        "seal", level=level, seed=key["seed"], key_id=key_id, topic=FOREIGN, payload=b64encode(text.encode()).decode(),
        content_type="text/plain", time=int(time.time()), epoch=1, sequence=int(text.removeprefix("flow-")),
    )  # fmt: skip
    return b64decode(answer["envelope"])


def carried(carrier, place, level, form, version, qos, key):
    """One that passes, and one that somebody changed on the way."""
    for forged in [False, True]:
        text = next(texts)
        envelope, user = place.sealed(level, form, text), []
        if form == "detached":
            envelope, user = text.encode(), [["sealstone", unpadded(envelope)]]
        if forged:
            envelope = envelope.replace(b"flow-", b"flaw-")
        came = sent(carrier, version, TOPIC, envelope, qos, {} if form == "paper" else SAID, user)
        if forged:
            expect((came["topic"], b64decode(came["payload"])), (f"dead-letters/bad-signature/{TOPIC}", envelope))
            continue
        expect((came["topic"], b64decode(came["payload"]).decode(), came["retain"]), (f"clean/{TOPIC}", text, False))
        if version == "5":
            expect(came["properties"], {} if form == "paper" else SAID)
            verified = {"sealstone-device": "7", "sealstone-key": str(key["id"]), "sealstone-level": level}
            expect({name: came["user"].get(name) for name in verified}, verified)
            expect("sealstone-number" in came["user"], form != "paper")


def sent(carrier, version, topic, envelope, qos, properties, user):
    """Publishes, and returns what the gateway made of it; both subscribers get that."""
    fields = {"topic": topic, "payload": b64encode(envelope).decode(), "qos": qos, "properties": properties, "user": user}
    carrier.ask("publish", version=version, **fields)
    came = {version: carrier.ask("receive", version=version) for version in ["3.1.1", "5"]}
    for field in ["topic", "payload"]:
        expect(came["3.1.1"][field], came["5"][field])
    return came[version]


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r}, expected {wanted!r}")


def refused(attempt):
    try:
        attempt()
    except Refused:
        return
    raise AssertionError("a forgery passed")


def unpadded(data):
    return urlsafe_b64encode(data).decode().rstrip("=")


class Place:
    """A folder with a device, and a broker and a gateway for a while."""

    def __init__(self, sealstone, folder):
        self._sealstone, self._folder = sealstone, folder

    def sealed(self, level, form, text):
        more = [] if form == "paper" else ["--content-type", "text/plain", "--response-topic", "device/7/answers", "--correlation", "0102"]
        out = self._folder / "envelope"
        self._sealstone.run(
            "mqtt", "publish", "--as", self._folder / "7.device", "--topic", TOPIC, "--message", text, "--form", form,
            "--level", level, *more, "--out", out,
        )  # fmt: skip
        return out.read_bytes()

    def inspect(self, topic, envelope):
        file = self._folder / "foreign"
        file.write_bytes(envelope)
        options = ["--directory", self._folder / "devices", "--json"]
        return json.loads(self._sealstone.run("mqtt", "inspect", "--topic", topic, *options, file))

    @contextlib.contextmanager
    def running(self):
        port = free_port()
        (self._folder / "mosquitto.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        config = self._folder / "gateway.toml"
        config.write_text(
            f'data_dir = "{self._folder}/data"\ndirectory = "{self._folder}/devices"\n[broker]\naddress = "127.0.0.1:{port}"\n'
        )
        log = self._folder / "log"
        with contextlib.ExitStack() as stack:
            for argv in [BROKER, "-c", self._folder / "mosquitto.conf"], [self._sealstone.binary, "mqtt", "gateway", "--config", config]:
                with open(log, "a") as out:
                    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
                stack.callback(process.wait)
                stack.callback(process.kill)
            until = time.monotonic() + 60
            while " subscribed" not in log.read_text():
                if time.monotonic() > until or process.poll() is not None:
                    raise Broken(f"no gateway: {log.read_text()[-2000:]}")
                time.sleep(0.05)
            yield port
