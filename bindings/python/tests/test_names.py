"""Every public name of the package says what it is."""

import inspect
import re
import types

import pytest

import weft as wf

MODULES = [wf, *(m for m in vars(wf).values() if isinstance(m, types.ModuleType) and m.__name__.startswith("weft."))]
CONSTANTS = {"e", "inf", "nan", "newaxis", "pi"}


def public():
    """(module, name, object) of all public names."""
    for module in MODULES:
        if module.__name__.rpartition(".")[2].startswith("_"):
            continue
        for name in module.__all__:
            yield module.__name__, name, getattr(module, name)


def test_modules_have_a_text_and_list_their_names():
    names = {m.__name__ for m in MODULES}
    assert {"weft", "weft.linalg", "weft.fft", "weft.random", "weft.nn", "weft.webnn", "weft.onnx", "weft.signal"} <= names
    for module in MODULES:
        if not module.__name__.rpartition(".")[2].startswith("_"):
            assert module.__doc__ and module.__all__ and all(hasattr(module, n) for n in module.__all__)


def test_every_name_has_a_text():
    missing = []
    for module, name, thing in public():
        if name in CONSTANTS or isinstance(thing, (wf.DType, types.ModuleType)):
            continue
        text = getattr(thing, "__doc__", None)
        if not text or not text.strip():
            missing.append(f"{module}.{name}")
    assert not missing


def test_every_method_and_attribute_has_a_text():
    missing = []
    for module, name, thing in public():
        if not isinstance(thing, type) or issubclass(thing, BaseException):
            continue
        fields = getattr(thing, "_fields", ())
        for method, own in vars(thing).items():
            if method.startswith("_") or method in fields or method in ("__module__",):
                continue
            text = getattr(own, "__doc__", None) or ""
            if not re.sub(r"^(\w*\(.*?\) -> [\w.]+\s*)", "", text):  # the signature is not enough
                missing.append(f"{module}.{name}.{method}")
    assert not missing


def test_texts_are_sentences():
    """They begin with a capital letter, a name or a sign, and end."""
    for module, name, thing in public():
        text = inspect.getdoc(thing) if not isinstance(thing, (wf.DType, types.ModuleType)) else None
        if text and name not in CONSTANTS:
            first = text.split("\n\n")[0].strip()
            assert first[-1] in ".:…)" or "\n" in text, f"{module}.{name}: {first!r}"


def test_texts_speak_of_python():
    """Functions' texts are made of C++'s comments, with the words that Python has."""
    words = re.compile(r"\bThrows\b|InvalidArgument|ShapeError|\bundefined\b|\bTensor\b|\b(f|bf|i|u|c)(8|16|32|64)\b|\boptions\.|[a-z]{2,}::")
    found = []
    for module, name, thing in public():
        text = getattr(thing, "__doc__", "") if type(thing).__name__ == "Function" else ""
        found += [f"{module}.{name}: {m[0]}" for m in words.finditer(text)]
    assert not found


@pytest.mark.parametrize("name", ["softmax", "asarray", "grad", "kernel", "profile"])
def test_help_has_a_signature(name):
    function = getattr(wf, name, None) or getattr(wf.nn, name)
    assert inspect.signature(function).parameters
    assert len(inspect.getdoc(function)) > 40
