#!/usr/bin/env python3
"""Makes what of the package is made of the library: texts of functions from the headers' comments (_comments.py), and
types of all functions for checkers and editors (*.pyi).

  generate.py comments HEADERS PACKAGE     HEADERS is include/weft; needs nothing else
  generate.py stubs PACKAGE                PACKAGE is the directory weft with its built _core
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import sys
import textwrap

NAMES = """array graph convolution pooling resampling recurrent losses fft signal rotary_embedding linalg quantization
quantized_weights special statistics numeric segments sets distributions creation random evaluate""".split()


def comments(headers: pathlib.Path) -> dict[str, str]:
    """The comment in front of each function that gives a tensor, by the name of its row."""
    found: dict[str, str] = {}
    for name in NAMES:
        prefix = "random::" if name == "random" else ""
        comment: list[str] = []
        declaration = ""
        for line in (headers / f"{name}.h").read_text().splitlines():
            if line.startswith("// ----") or not line.strip():
                comment, declaration = [], ""
            elif line.startswith("//"):
                comment.append(line[2:].strip())
            else:
                declaration += " " + line.strip()
                match = re.match(r" (?:inline )?[\w:<>]+ (\w+)\(", declaration)
                if match and comment and (";" in declaration or "{" in declaration):
                    found.setdefault(prefix + match[1], " ".join(comment))
                if ";" in declaration or "{" in declaration:
                    comment, declaration = [], ""
    return found


def write_comments(headers: pathlib.Path, package: pathlib.Path) -> None:
    lines = ['"""Made by generate.py from the comments of the library\'s headers."""', "", "COMMENTS = {"]
    for name, text in sorted(comments(headers).items()):
        lines.append(f"    {name!r}: {textwrap.fill(text, 88)!r},")
    (package / "_comments.py").write_text("\n".join([*lines, "}"]) + "\n")


# ---- Types

KINDS = {
    "boolean": "_bool",
    "integer": "int",
    "number": "float",
    "integers": "int | Sequence[int]",
    "numbers": "Sequence[float]",
}


def type_of(row: dict, of: str, may_be_none: bool, starred: bool) -> str:
    arities = {i[0]: i[1] for i in row["inputs"]}
    if of in arities:
        text = "ArrayLike"
        if arities[of] == "repeated" and not starred:
            text = "Sequence[ArrayLike] | Array"
    else:
        _, kind, _, _, _, choices, _ = next(a for a in row["attributes"] if a[0] == of)
        if kind != "text":
            text = KINDS[kind]
        elif choices:
            text = f"Literal[{', '.join(repr(c) for c in choices)}]"
        else:
            text = "DTypeLike" if of in ("dtype", "type") else "str"
    return text + (" | None" if may_be_none else "")


def stub_of(name: str, function: object, functions: object) -> tuple[str, list[str]]:
    row, parameters = functions._made[id(function)]  # type: ignore[attr-defined]
    extra: list[str] = []
    made = []
    keyword_only = False
    for text, of, required, may_be_none, positional, starred, default in parameters:
        if starred:
            made.append(f"*{text}: {type_of(row, of, False, True)}")
            keyword_only = True
            continue
        if not positional and not keyword_only:
            made.append("*")
            keyword_only = True
        # Choices of a type's own default, as None stands for it.
        made.append(f"{text}: {type_of(row, of, may_be_none, False)}" + ("" if required else f" = {default!r}"))
    outputs = row["outputs"]
    if outputs[-1][1] == "repeated":
        result = "tuple[Array, ...]"
    elif len(outputs) == 1:
        result = "Array"
    else:
        made_by = functions._result_type(row, name)  # type: ignore[attr-defined]
        result = getattr(made_by, "title", None) or made_by.__name__
        fields = getattr(made_by, "names", None) or list(made_by._fields)
        extra = [f"class {result}(NamedTuple):", *[f"    {f}: Array" for f in fields], ""]
    lines = [f"def {name}({', '.join(made)}) -> {result}: ..."]
    return "\n".join(lines), extra


HEAD = '''# Made by generate.py from the library's rows.
from builtins import bool as _bool
from typing import Literal, NamedTuple, Sequence

from weft._core import Array
from weft._types import ArrayLike, DTypeLike
'''


def write_stubs(package: pathlib.Path) -> None:
    sys.path.insert(0, str(package.parent))
    weft = importlib.import_module("weft")
    functions = importlib.import_module("weft._functions")
    core = importlib.import_module("weft._core")
    for module in functions.MODULES:
        namespace = weft if module == "weft" else getattr(weft, module[5:])
        bodies, extras = [], []
        for name in functions.names_in(module):
            function = getattr(namespace, name)
            if not isinstance(function, core.Function):
                continue
            body, extra = stub_of(name, function, functions)
            bodies.append(body)
            extras += extra
        text = HEAD + "\n" + "\n".join(extras) + ("\n" if extras else "") + "\n".join(bodies) + "\n"
        if module == "weft":
            # A name that is imported twice is exported only if the first time says so.
            text = text.replace("import Array\n", "import Array as Array\n") + "\n" + reexports(package)
        else:
            source = (package / f"{module[5:]}.py").read_text()
            for name, signature in re.findall(r"^def (\w+)(\(.*\) -> .*):$", source, re.M):
                text += f"\ndef {name}{signature}: ...\n"
            for line in re.findall(r"^from \.(?:_array_api|_core) import (.+)$", source, re.M):
                source_module = "_array_api" if "_array_api" in source else "_core"
                text += "\n" + "\n".join(f"from weft.{source_module} import {n} as {n}" for n in line.split(", ")) + "\n"
        target = package / ("__init__.pyi" if module == "weft" else f"{module[5:]}.pyi")
        target.write_text(text)
    (package / "webnn.pyi").write_text(webnn_stub(weft.webnn))
    (package / "_core.pyi").write_text(core_stub(weft, functions, core))


def webnn_stub(webnn: object) -> str:
    """Of the module itself, whose operations are made of rows."""
    lines = [
        "# Made by generate.py from the library's rows.",
        "from typing import Any, Mapping, NamedTuple, Sequence",
        "",
        "from weft._core import Array as Array, Device as Device",
        "from weft._types import DTypeLike",
    ]
    for name in webnn.__all__:  # type: ignore[attr-defined]
        value = getattr(webnn, name)
        if getattr(core_of(webnn), name, None) is value:
            lines.append(f"from weft._core import {name} as {name}")
        elif not isinstance(value, type):
            lines += ["", f"def {name}{inspect.signature(value)}: ..."]
        elif issubclass(value, tuple):
            lines += ["", f"class {name}(NamedTuple):"]
            lines += [f"    {n}: {t if isinstance(t, str) else t.__forward_arg__}" for n, t in value.__annotations__.items()]
        else:
            lines += ["", f"class {name}:"]
            for method, own in vars(value).items():
                if method.startswith("_") and method != "__init__":
                    continue
                if isinstance(own, property):
                    lines += ["    @property", f"    def {method}{inspect.signature(own.fget)}: ..."]
                else:
                    word = "async def" if inspect.iscoroutinefunction(own) else "def"
                    lines.append(f"    {word} {method}{inspect.signature(own)}: ...")
    return "\n".join(lines) + "\n"


def core_of(module: object) -> object:
    return module._core  # type: ignore[attr-defined]


def reexports(package: pathlib.Path) -> str:
    """What __init__.py imports from modules of the package, and what it defines itself."""
    source = (package / "__init__.py").read_text()
    lines = []
    for where, names in re.findall(r"^from (\.\w*) import \([^)\n]*\n([^)]*)\)", source, re.M):
        for name in names.replace("\n", " ").split(","):
            if name.strip():
                lines.append(f"from weft{where} import {name.strip()} as {name.strip()}")
    for where, names in re.findall(r"^from (\.\w*) import ([^(\n#]+)", source, re.M):
        for name in names.split(","):
            target = "weft" if where == "." else f"weft{where}"
            if not name.strip().startswith("_"):
                lines.append(f"from {target} import {name.strip()} as {name.strip()}")
    lines += ["", "__version__: str", "__array_api_version__: str"]
    lines += ["def eval(*trees: object) -> None: ...", "def wait(*trees: object) -> None: ..."]
    return "\n".join(lines) + "\n"


OPERATORS = """add sub mul truediv floordiv mod pow and or xor lshift rshift matmul""".split()


def core_stub(weft: object, functions: object, core: object) -> str:
    lines = [
        "# Made by generate.py.",
        "from builtins import bool as _bool",
        "from typing import Any, Generator, Iterator, Sequence",
        "",
        "from weft._array import _At",
        "from weft._types import ArrayLike, DTypeLike, DeviceLike",
        "",
        "class DType:",
        "    name: str",
        "    itemsize: int",
        "    bits: int",
        "    kind: str",
        "",
        "class Device:",
        "    name: str",
        "    is_gpu: _bool",
        "    reason: str",
        "    def wait(self) -> None: ...",
        "    def __enter__(self) -> Device: ...",
        "    def __exit__(self, *args: Any) -> None: ...",
        "",
        "class Array:",
        "    @property",
        "    def shape(self) -> tuple[int, ...]: ...",
        "    @property",
        "    def dtype(self) -> DType: ...",
    ]
    for name in ("ndim", "size", "itemsize", "nbytes"):
        lines += ["    @property", f"    def {name}(self) -> int: ..."]
    for name, text in (("device", "Device"), ("T", "Array"), ("mT", "Array"), ("real", "Array"), ("imag", "Array"), ("at", "_At")):
        lines += ["    @property", f"    def {name}(self) -> {text}: ..."]
    lines += [
        "    label: str",
        "    def item(self) -> Any: ...",
        "    def tolist(self) -> Any: ...",
        "    def numpy(self, dtype: Any = None, copy: _bool | None = None) -> Any: ...",
        "    def to_device(self, device: DeviceLike, /, *, stream: Any = None) -> Array: ...",
        "    def reshape(self, *shape: int | Sequence[int], copy: _bool | None = None) -> Array: ...",
        "    def astype(self, dtype: DTypeLike, /, *, copy: _bool = True, device: DeviceLike | None = None) -> Array: ...",
        "    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array: ...",
        "    def sort(self, *, axis: int = -1, descending: _bool = False, stable: _bool = True) -> Array: ...",
        "    def argsort(self, *, axis: int = -1, descending: _bool = False, stable: _bool = True) -> Array: ...",
        "    def repeat(self, repeats: ArrayLike, /, *, axis: int | None = None) -> Array: ...",
        "    def take(self, indices: ArrayLike, /, *, axis: int | None = None) -> Array: ...",
        "    def transpose(self, axes: Sequence[int] | None = None) -> Array: ...",
        "    def swapaxes(self, axis1: int, axis2: int, /) -> Array: ...",
        "    def round(self) -> Array: ...",
        "    def squeeze(self, axis: int | Sequence[int] | None = None) -> Array: ...",
        "    def conj(self) -> Array: ...",
        "    def __getitem__(self, index: Any) -> Array: ...",
        "    def __setitem__(self, index: Any, value: ArrayLike) -> None: ...",
        "    def __len__(self) -> int: ...",
        "    def __iter__(self) -> Iterator[Array]: ...",
        "    def __contains__(self, value: ArrayLike) -> _bool: ...",
        "    def __bool__(self) -> _bool: ...",
        "    def __int__(self) -> int: ...",
        "    def __index__(self) -> int: ...",
        "    def __float__(self) -> float: ...",
        "    def __complex__(self) -> complex: ...",
        "    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> Any: ...",
        "    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...",
        "    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,"
        " dl_device: tuple[int, int] | None = None, copy: _bool | None = None) -> Any: ...",
        "    def __dlpack_device__(self) -> tuple[int, int]: ...",
        "    def __await__(self) -> Generator[Any, None, Array]: ...",
    ]
    for name in OPERATORS:
        for prefix in ("", "r", "i"):
            lines.append(f"    def __{prefix}{name}__(self, other: ArrayLike, /) -> Array: ...")
    for name in ("lt", "le", "gt", "ge"):
        lines.append(f"    def __{name}__(self, other: ArrayLike, /) -> Array: ...")
    for name in ("eq", "ne"):
        lines.append(f"    def __{name}__(self, other: object, /) -> Array: ...  # type: ignore[override]")
    for name in ("neg", "pos", "abs", "invert"):
        lines.append(f"    def __{name}__(self) -> Array: ...")
    array = getattr(core, "Array")
    for name, function in sorted(vars(array).items()):
        if isinstance(function, getattr(core, "Function")):
            body, _ = stub_of(name, function, functions)
            lines.append("    " + re.sub(r"\((x|x1): ArrayLike", "(self", body))
    lines.append("")
    for name in dir(core):
        value = getattr(core, name)
        if isinstance(value, getattr(core, "DType")):
            lines.append(f"{name}: DType")
        elif name == "KernelError":
            lines += ["class KernelError(ValidationError):", "    line: int", "    message: str"]
        elif isinstance(value, type) and issubclass(value, Exception):
            lines.append(f"class {name}({value.__mro__[1].__name__}): ...")
    for name, own in (("MLOperand", ()), ("MLTensor", ("readable", "writable", "constant", "destroyed"))):
        lines += [f"class {name}:", "    data_type: str", "    shape: tuple[int, ...]"]
        lines += [f"    {n}: _bool" for n in own] + (["    def destroy(self) -> None: ..."] if own else [])
    lines += ["class MLGraph:"]
    lines += [f"    {n}: dict[str, tuple[str, tuple[int, ...]]]" for n in ("inputs", "outputs")]
    lines += ["    destroyed: _bool", "    def destroy(self) -> None: ..."]
    lines += ["version: str", "def seed(seed: int) -> None: ...", "def __getattr__(name: str) -> Any: ..."]
    return "\n".join(lines) + "\n"


def main() -> None:
    what, *paths = sys.argv[1:]
    places = [pathlib.Path(p) for p in paths]
    if what == "comments":
        write_comments(*places)
    else:
        write_stubs(*places)


if __name__ == "__main__":
    main()
