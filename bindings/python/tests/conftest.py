"""The tests see the installed wheel, never the sources."""

import pathlib
import sys

import pytest

import sealstone

INSTALLED = pathlib.Path(sealstone.__file__).resolve()
assert INSTALLED.is_relative_to(pathlib.Path(sys.prefix).resolve()), f"{INSTALLED} is not the installed wheel"


@pytest.fixture(params=sealstone.LEVELS)
def level(request):
    return request.param


@pytest.fixture
def key(level):
    return sealstone.generate(level)
