"""Who holds the interpreter's lock: nobody, while something takes time. And one key in many threads."""

import sys
import threading
import time

import pytest

import sealstone
from sealstone import jwt

KEY = sealstone.generate("ML-DSA-65")
PUBLIC = KEY.verifying_key
MESSAGE = bytes(1 << 20)
SIGNATURE = KEY.sign(b"m")
MU = PUBLIC.mu(b"m")
RULES = jwt.Rules(without_expiry=True)
TOKEN = jwt.sign(KEY, {})
HASHER = PUBLIC.mu_hasher()


def turns_of_another_thread(call, calls):
    """How often another thread ran while `call` was called so often: never, if the lock is not released in it.

    The interpreter takes the lock from nobody by itself here, so that what is counted does not depend on time or cores.
    """
    turns, over = 0, threading.Event()

    def other():
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    sys.setswitchinterval(3600)
    try:
        thread.start()
        time.sleep(0.01)
        turns = 0
        for _ in range(calls):
            call()
        counted = turns
        over.set()
    finally:
        over.set()
        sys.setswitchinterval(interval)
        thread.join()
    return counted


# A waiting thread needs some ten microseconds to wake: of many short calls it meets few.
@pytest.mark.parametrize(
    ("calls", "call"),
    [
        (500, lambda: sealstone.generate("ML-DSA-65")),
        (500, lambda: sealstone.SigningKey.from_seed("ML-DSA-65", bytes(32))),
        (500, lambda: KEY.sign(b"m")),
        (500, lambda: KEY.sign_mu(MU)),
        (5000, lambda: PUBLIC.verify(b"m", SIGNATURE)),
        (5000, lambda: PUBLIC.verify_mu(MU, SIGNATURE)),
        (50, lambda: sealstone.sign_batch([(KEY, b"m")] * 32)),
        (50, lambda: sealstone.verify_batch([(PUBLIC, b"m", SIGNATURE)] * 128)),
        (500, lambda: jwt.sign(KEY, {})),
        (5000, lambda: jwt.verify(TOKEN, PUBLIC, RULES)),
        (50, lambda: PUBLIC.mu(MESSAGE)),
        (50, lambda: HASHER.update(bytearray(1 << 18))),
    ],
)
def test_the_lock_is_released(calls, call):
    assert turns_of_another_thread(call, calls) >= 10


@pytest.mark.parametrize(("calls", "size"), [(50, 100000), (5000, 200)])
def test_the_measure_sees_a_lock_that_is_held(calls, size):
    assert turns_of_another_thread(lambda: sum(range(size)), calls) <= 2


def test_one_key_in_many_threads():
    failures = []

    def work(number):
        try:
            for round in range(20):
                message = b"%d %d" % (number, round)
                PUBLIC.verify(message, KEY.sign(message))
                with pytest.raises(sealstone.BadSignature):
                    PUBLIC.verify(message + b"!", KEY.sign(message))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_message_that_changes_while_it_is_read():
    message, over, refused = bytearray(1 << 20), threading.Event(), 0

    def writer():
        nonlocal refused
        while not over.is_set():
            message[0] = message[-1] = (message[0] + 1) % 256
            try:
                message.append(1)
                message.pop()
            except BufferError:  # it may change while it is read, and not its length
                refused += 1

    thread = threading.Thread(target=writer)
    thread.start()
    try:
        assert all(len(PUBLIC.mu(message)) == 64 for _ in range(50))
    finally:
        over.set()
        thread.join()
    assert refused > 0
