"""A partner: a program of its own around one library, asked by lines of JSON (see README.md)."""

import contextlib
import json
import subprocess
import tempfile
import threading

PATIENCE = 180  # seconds a partner may think about one request: a key of RSA on a busy machine


class Refused(Exception):
    """The partner looked at the input and said that it is not valid."""


class Broken(Exception):
    """The partner did not do what it was asked for; the input is not judged."""


class Partner:
    ours = False

    def __init__(self, name, command):
        self.name = name
        self._errors = tempfile.TemporaryFile(mode="w+", errors="replace")
        self._process = subprocess.Popen(
            command.argv,
            cwd=command.folder,
            env=command.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        try:
            hello = self.ask("hello")
        except Broken:
            self.__exit__()
            raise
        self.version = hello["version"].removeprefix("v")
        self.engine = hello["engine"]
        self.asks = hello["asks"]
        self.writes, self.reads = hello.get("writes", []), hello.get("reads", [])
        self.methods, self.signs = hello.get("methods", []), hello.get("signs", [])
        self.ways, self.id_tokens = hello.get("ways", []), hello.get("id_tokens", [])
        self.judges, self.composites = hello.get("judges", []), hello.get("composites", [])
        self.certificates, self.borrows = hello.get("certificates", []), []
        self.roots = hello.get("roots", [])
        self.deterministic = hello.get("deterministic", False)

    def make_key(self, level, **seed):
        return self.ask("make-key", level=level, **seed)

    def sign_token(self, level, form, key, payload, typ, **how):
        return self.ask("sign-token", level=level, form=form, key=key, payload=payload, typ=typ, **how)["token"]

    def check_token(self, token, level, form, key):
        return self.ask("check-token", token=token, level=level, form=form, key=key)["payload"]

    def ask(self, ask, **fields):
        answer = json.loads(self._exchange_lines(json.dumps({"ask": ask} | fields)))
        if "refused" in answer:
            raise Refused(answer["refused"])
        if "error" in answer:
            raise Broken(f"{self.name}, {ask}: {answer['error']}")
        return answer

    def _exchange_lines(self, line):
        alarm = threading.Timer(PATIENCE, self._process.kill)
        alarm.start()
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            alarm.cancel()
        if not answer:
            raise Broken(f"{self.name} ended: {self._last_words()}")
        return answer

    def _last_words(self):
        self._process.wait()
        self._errors.seek(0)
        return gist(self._errors.read()) or f"exit code {self._process.returncode}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def gist(output):
    """The line of a program's output that says best why it failed."""
    lines = output.strip().splitlines()
    return next((line.strip() for line in lines if "error" in line.lower()), lines[-1] if lines else "")
