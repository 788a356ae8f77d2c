"""paho-mqtt: Eclipse's client, which carries envelopes and reads what a gateway published. It signs and verifies nothing."""

import queue
import threading
from base64 import b64decode, b64encode

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from wire import serve

VERSIONS = {"3.1.1": mqtt.MQTTv311, "5": mqtt.MQTTv5}
PATIENCE = 30  # seconds
connected = {}


class Connection:
    def __init__(self, port, version):
        self.version, self.came = version, queue.Queue()
        self._ready, self._subscribed = threading.Event(), threading.Event()
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=VERSIONS[version])
        self.client.on_connect = lambda *_: self._ready.set()
        self.client.on_subscribe = lambda *_: self._subscribed.set()
        self.client.on_message = lambda _, __, message: self.came.put(message)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        if not self._ready.wait(PATIENCE):
            raise TimeoutError("no CONNACK")

    def subscribe(self, filters):
        self._subscribed.clear()
        self.client.subscribe([(one, 2) for one in filters])
        if not self._subscribed.wait(PATIENCE):
            raise TimeoutError("no SUBACK")


def subscribe(port, version, filters):
    connected[version] = Connection(port, version)
    connected[version].subscribe(filters)
    return {}


def publish(version, topic, payload, qos, properties, user):
    sent = None
    if version == "5":
        sent = Properties(PacketTypes.PUBLISH)
        for name, value in properties.items():
            setattr(sent, name, b64decode(value) if name == "CorrelationData" else value)
        if user:
            sent.UserProperty = [tuple(pair) for pair in user]
    told = connected[version].client.publish(topic, b64decode(payload), qos, properties=sent)
    told.wait_for_publish(PATIENCE)
    return {"published": told.is_published()}


def receive(version):
    try:
        message = connected[version].came.get(timeout=PATIENCE)
    except queue.Empty:
        raise TimeoutError("no message")
    answer = {"topic": message.topic, "payload": b64encode(message.payload).decode(), "retain": message.retain}
    if version == "5":
        said = message.properties
        answer["user"] = dict(getattr(said, "UserProperty", []))
        answer["properties"] = {name: getattr(said, name) for name in ("ContentType", "ResponseTopic") if hasattr(said, name)}
        if hasattr(said, "CorrelationData"):
            answer["properties"]["CorrelationData"] = b64encode(said.CorrelationData).decode()
    return answer


serve("paho-mqtt", "none", {"subscribe": subscribe, "publish": publish, "receive": receive})
