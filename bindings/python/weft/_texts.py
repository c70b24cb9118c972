"""Texts of functions, which are made of comments in C++, in Python's words."""

from __future__ import annotations

import re
import textwrap

_ERRORS = {
    "InvalidArgument": "ValueError",
    "ShapeError": "ValueError",
    "DeviceError": "ValueError",
    "OutOfMemory": "MemoryError",
    "IoError": "OSError",
}
_TYPES = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint", "c": "complex"}
# What is otherwise in C++.
_OTHERWISE = [
    (r"options\.scale is 1 unless it is set \(.*?sqrt\(dim\)\); query", "Query"),  # here 1 / sqrt(dim)
    (r" ?\([^()]*\bundefined\b[^()]*\)", ""),
    (r"an undefined Tensor, ", ""),
    (r"\bmay be undefined\b", "may be None"),
    (r"\bundefined\b", "None"),
    (r"\boptions\.", ""),
    (r"\bThrows\b", "Raises"),
    (r"\bf8e4m3\b", "float8_e4m3fn"),
    (r"\bf8e5m2\b", "float8_e5m2"),
    (r"\brandom::", "random."),
    (r"\b[A-Z]\w+::(\w+)", r"\1"),  # an enumerator, which is a string
    (r"\b([Aa]) tensor\b", r"\1n array"),
    (r"\b[Tt]ensor(s?)\b", r"array\1"),
]


def in_python(text: str) -> str:
    """The text with Python's names of errors, types and values."""
    for pattern, words in _OTHERWISE:
        text = re.sub(pattern, words, text)
    text = re.sub(rf"\b({'|'.join(_ERRORS)})\b", lambda m: _ERRORS[m[1]], text)
    text = re.sub(
        r"Raises ((?:\w+Error(?:, and |, | and ))+\w+Error)\b",
        lambda m: "Raises " + ", ".join(dict.fromkeys(re.findall(r"\w+Error", m[1]))),
        text,
    )
    return re.sub(r"\b(f|bf|i|u|c)(2|4|8|16|32|64)\b", lambda m: _TYPES[m[1]] + m[2], text)


def paragraph(text: str) -> str:
    """The text in Python's words, in lines."""
    return textwrap.fill(in_python(" ".join(text.split())), 88)
