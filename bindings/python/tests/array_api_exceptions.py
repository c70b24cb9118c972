"""Marks the tests of array_api_exceptions.txt in array-api-tests: pytest's -p array_api_exceptions."""

import pathlib
import re

import pytest

PATH = pathlib.Path(__file__).with_suffix(".txt")


def exceptions():
    """(what is searched for in a test's id, why it fails), one of each line."""
    lines = [line for line in PATH.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [(re.compile(pattern), why) for pattern, why in (line.split(": ", 1) for line in lines)]


def pytest_collection_modifyitems(items):
    found = exceptions()
    for item in items:
        for pattern, why in found:
            if pattern.search(item.nodeid):
                item.add_marker(pytest.mark.xfail(reason=why))
                break
