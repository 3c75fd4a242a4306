"""Fixtures of the tests of the Python package. REWISE_PROGRAM is the program just built. PYTHONPATH
has the package with the module just built, unless the package is installed."""

import json
import os
import subprocess

import pytest

import rewise as rw


@pytest.fixture(scope="session")
def program():
    """A function that runs the program and returns its JSON."""
    path = os.environ["REWISE_PROGRAM"]

    def run(*words):
        done = subprocess.run([path, *map(str, words), "--json"], capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def small():
    return rw.rewire(size=(16, 8), p=0.1, seed=3)
