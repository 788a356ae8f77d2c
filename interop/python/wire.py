"""The wire every Python partner speaks: a JSON request per line in, a JSON answer per line out (see ../README.md)."""

import json
import sys
from importlib.metadata import version


class Refused(Exception):
    """The library looked at the input and said that it is not valid."""


def serve(package, engine, asks, **abilities):
    """Answers until the driver closes the pipe. `asks` maps the name of a request to a function of its fields;
    `engine` says whose ML-DSA the library uses. A `version` among the abilities is that of something that is no package."""

    def hello():
        said = {} if "version" in abilities else {"version": version(package)}
        return said | {"engine": engine, "asks": sorted(asks), **abilities}

    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = (asks | {"hello": hello})[request.pop("ask")](**request)
        except Refused as refusal:
            answer = {"refused": str(refusal) or "not valid"}
        except Exception as error:  # the driver shows it; the partner lives on
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
