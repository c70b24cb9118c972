"""The array API standard's own tests, of a checkout that WEFT_ARRAY_API_TESTS names. array_api_exceptions.txt has those
that fail, and why."""

import os
import pathlib
import subprocess
import sys

import pytest

import weft as wf
from array_api_exceptions import exceptions

CHECKOUT = os.environ.get("WEFT_ARRAY_API_TESTS")


def test_exceptions_have_reasons():
    assert 0 < len(exceptions()) <= 15
    assert all(why for _, why in exceptions())


@pytest.mark.skipif(not CHECKOUT, reason="WEFT_ARRAY_API_TESTS names no checkout of github.com/data-apis/array-api-tests")
@pytest.mark.skipif(wf.device().is_gpu, reason="they compute in float64, which GPUs do not")
def test_official_tests():
    for name in ("ndindex", "pytest_jsonreport"):
        pytest.importorskip(name, reason=f"{name} is not installed, which array-api-tests needs")
    if not list(pathlib.Path(CHECKOUT, "array-api", "src").glob("*stubs*")):
        pytest.skip(f"{CHECKOUT} has no array-api: git submodule update --init")
    here = str(pathlib.Path(__file__).parent)
    environment = dict(os.environ, ARRAY_API_TESTS_MODULE="weft")
    environment["PYTHONPATH"] = os.pathsep.join([here, *sys.path[1:]])
    examples = os.environ.get("WEFT_ARRAY_API_EXAMPLES", "20")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "array_api_exceptions",
         "--disable-deadline", "--max-examples", examples, "array_api_tests"],
        cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-10000:]
