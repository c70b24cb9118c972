"""Models in ONNX's format: loaded, compiled and run on any device.

    model = weft.onnx.load("resnet50.onnx")
    scores = model(image)                          # or by the input's name: model(x=image)

A model is compiled for the shapes that it is given, when it is first given them; what comes in a shape again compiles
nothing. No package but this one is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from . import _core
from ._core import Device, DType
from ._devices import current_precision
from ._files import GraphFunction

__all__ = [
    "Description",
    "FallbackNode",
    "Model",
    "OperatorCall",
    "OperatorUse",
    "Port",
    "Readback",
    "describe",
    "load",
    "save",
]


class Port(NamedTuple):
    """An input or output. Of shape a dimension is a size, the name of one that each call may choose, or None, which is
    neither; a shape of None is any. What is no tensor, or of a type that Weft lacks, has no dtype."""

    name: str
    type: str
    dtype: DType | None
    shape: tuple[int | str | None, ...] | None


class OperatorUse(NamedTuple):
    """An operator that a model uses, in how many nodes, and whether Weft has it; reason says why not, or what of it Weft
    lacks."""

    domain: str
    name: str
    version: int
    count: int
    supported: bool
    reason: str


class FallbackNode(NamedTuple):
    """A node that runs on the fallback, and why."""

    node: str
    op: str
    reason: str


class Readback(NamedTuple):
    """A value that calls read from the device on the way, since the graph depends on it: its name, the node that needs it
    and its operator, the bytes of one read, and how often it was read."""

    value: str
    node: str
    op: str
    bytes: int
    count: int


class OperatorCall(NamedTuple):
    """A node of an operator of the program's own: its inputs, of which those that are left out are None, its attributes by
    name, how many results it has, and the version of the operator's domain. Arrays have types and shapes, but no values
    that can be read."""

    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    outputs: int
    version: int


class Description(NamedTuple):
    """What is in a model's file. parameters and weight_bytes are those of its initializers and constants, of which
    external_bytes are in the files beside it; opsets are versions by domain. problems and remarks say what keeps it from
    running here, or from running on a GPU alone, besides operators."""

    name: str
    producer: str
    ir_version: int
    opsets: dict[str, int]
    metadata: dict[str, str]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operators: tuple[OperatorUse, ...]
    parameters: int
    weight_bytes: int
    files: tuple[str, ...]
    external_bytes: int
    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def _description(made: Any) -> Description:
    fields = list(made)
    for i, kind in ((5, Port), (6, Port), (7, OperatorUse)):
        fields[i] = tuple(kind(*f) for f in fields[i])
    return Description(*fields)


class Model:
    """A model as a function of arrays. load() makes it; any number of threads may call it."""

    def __init__(self, handle: Any) -> None:
        if not isinstance(handle, _core.OnnxModel):
            raise TypeError(f"Model: got {handle!r}; weft.onnx.load() makes one of a file, or of its bytes")
        self._own = handle
        self._description = _description(handle.description())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The output, or a tuple of several in their order, on the model's device.

        Inputs are arrays of any library and device, or lists of numbers, in the order of inputs or by name: a name that
        is none of Python's as model(**{"input.1": x}). Arrays have the input's type. A sequence is a list of arrays, as
        an input and as an output; None is an optional without a value. Returns before the work is done, unless the graph
        depends on values that are computed on the way. Inside of functions that are compiled, batched or differentiated a
        call is part of the function."""
        names = [port.name for port in self.inputs]
        if len(args) > len(names):
            raise TypeError(f"the model has {len(names)} inputs, got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                told = ", ".join(map(repr, names)) or "none"
                raise ValueError(f"no input is called {name!r}; there are {told}")
            if name in given:
                raise TypeError(f"the model's input {name!r} is given twice")
            given[name] = value
        results = self._own.run(given)
        return results[0] if len(results) == 1 else tuple(results)

    def graph(
        self,
        shapes: Mapping[str, Sequence[int]] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> GraphFunction:
        """What it computes of inputs of these shapes, as a function whose graph can be saved. Inputs of which the model
        fixes the shape need none. constants are values of inputs, which become part of the graph: it needs those of inputs
        that say what the graph is like. Raises Unsupported if the graph depends on other data."""
        for what, given in (("shapes", shapes), ("constants", constants)):
            if given is not None and not isinstance(given, Mapping):
                raise TypeError(f"graph: {what} is {given!r}, expected a mapping by inputs' names")
        return GraphFunction(self._own.graph(dict(shapes or {}), dict(constants or {})))

    @property
    def description(self) -> Description:
        """What is in its file."""
        return self._description

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What it takes, in the order of a call's arguments."""
        return self._description.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What it gives, in the order of a call's results."""
        return self._description.outputs

    @property
    def device(self) -> Device:
        """Where it runs."""
        return self._own.device

    @property
    def compilations(self) -> int:
        """How many forms were compiled since it was loaded: one for each combination of shapes, or several where the
        graph depends on values."""
        return self._own.compilations

    @property
    def readbacks(self) -> tuple[Readback, ...]:
        """What was read from the device since it was loaded, since the graph depends on it."""
        return tuple(Readback(*r) for r in self._own.readbacks())

    @property
    def on_fallback(self) -> tuple[FallbackNode, ...]:
        """The nodes that ran on the fallback of load()."""
        return tuple(FallbackNode(*n) for n in self._own.on_fallback())

    def __repr__(self) -> str:
        text = ", ".join(f"{p.name}: {p.type}{_sizes(p)}" for p in self.inputs)
        result = ", ".join(f"{p.name}: {p.type}{_sizes(p)}" for p in self.outputs)
        return f"<weft.onnx.Model ({text}) -> ({result}) on {self.device}>"


def _sizes(port: Port) -> str:
    if port.shape is None:
        return ""
    return "[" + ", ".join("?" if d is None else str(d) for d in port.shape) + "]"


def load(
    path: str | os.PathLike[str] | bytes | bytearray | memoryview,
    device: Device | str | None = None,
    precision: str | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    operators: Mapping[str, Callable[[OperatorCall], Any]] | None = None,
    fallback: Device | str | None = None,
) -> Model:
    """The model of a file, or of its bytes, on a device: by default the default device.

    precision says whether weights and values may be stored as float16: "float32", the default, "float16", or "auto",
    where that keeps an error bound, as weft.compile() has it. The file is mapped, and weights are read when they are first
    uploaded; those in files of their own are found beside it, and those of bytes in `folder`. Raises Unsupported for a
    model with operators that Weft lacks, and names their nodes.

    fallback, "cpu", is where nodes run that the device cannot compute, as those of float64 on a GPU: Model.on_fallback
    lists them. Without it a call raises Unsupported, which names all of them.

    operators are functions for operators of the program's own, by "domain.Name", the domain of ONNX being "ai.onnx". Each is
    given an OperatorCall, gives an array or a tuple of them, and is called when the model is compiled for new shapes:

        load("model.onnx", operators={"my.domain.ScaledTanh": lambda node: weft.tanh(node.inputs[0] * node.attributes["scale"])})
    """
    rows = _rows(operators)
    device = _device("device", device) or _core.default_device()
    fallback = _device("fallback", fallback)
    if precision is not None and not isinstance(precision, str):
        raise TypeError(f"load: precision is {precision!r}, expected 'float32', 'float16', 'auto' or None")
    precision = precision or current_precision.get()
    if isinstance(path, (bytes, bytearray, memoryview)):
        where = "" if folder is None else _path("load", folder)
        return Model(_core.onnx_from_bytes(bytes(path), device, precision, where, rows, fallback))
    if folder is not None:
        raise TypeError("load: a folder goes with bytes; of a file it is its own")
    return Model(_core.load_onnx(_path("load", path), device, precision, rows, fallback))


def _device(what: str, given: Any) -> Device | None:
    if isinstance(given, str):
        return _core.open_device(given)
    if given is None or isinstance(given, Device):
        return given
    raise TypeError(f"load: {what} is {given!r}, expected a Device, the name of one, or None")


def _path(function: str, given: Any) -> str:
    try:
        path = os.fspath(given)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise TypeError(f"{function}: expected the path of a file (str or os.PathLike), got {type(given).__name__}")
    if "\0" in path:
        raise ValueError(f"{function}: the path {path!r} holds a zero byte")
    return path


def _rows(operators: Any) -> list[tuple[str, str, Any]]:
    if operators is None:
        return []
    if not isinstance(operators, Mapping):
        raise TypeError(f"load: operators is {operators!r}, expected a mapping of 'domain.Name' to functions")
    for name, function in operators.items():
        if not isinstance(name, str):
            raise TypeError(f"load: an operator is called {name!r}, expected 'domain.Name'")
        if not callable(function):
            raise TypeError(f"load: the operator {name!r} is {function!r}, expected a function of an OperatorCall")
    return [(*_split(name), _called(name, function)) for name, function in operators.items()]


def _split(name: str) -> tuple[str, str]:
    domain, dot, own = name.rpartition(".")
    if not dot or not own:
        raise ValueError(f"the operator {name!r} has no domain: 'my.domain.Name', or 'ai.onnx.Name'")
    return domain, own


def _called(name: str, function: Callable[[OperatorCall], Any]) -> Callable[..., list[Any]]:
    def call(inputs: list[Any], attributes: dict[str, Any], outputs: int, version: int) -> list[Any]:
        made = function(OperatorCall(tuple(inputs), attributes, outputs, version))
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        if outputs and all(result is None for result in results):
            expected = "an array" if outputs == 1 else f"a tuple of {outputs} arrays"
            raise TypeError(f"the function of the operator {name!r} returned {made!r}, expected {expected}")
        return results

    return call


def save(
    path: str | os.PathLike[str],
    function: Any,
    *args: Any,
    opset: int | None = None,
    external_data: bool | None = None,
) -> None:
    """Writes a function as a model in ONNX's format.

    The function is one that weft.compile() made, with arguments of the types that the model takes, or one that
    weft.load_graph() or Model.graph() gave. What ONNX has no operator for becomes a function of the model, made of its
    operators. opset is the version of ai.onnx, 21 to 25: without one the first that has all that is needed. Weights of a
    model of 2 GiB or more are written to a file beside it, path with ".data" behind, and with external_data=True always.
    Raises Unsupported, which lists all operations that cannot be said.

        f = weft.compile(lambda x: weft.nn.silu(x) @ w)
        weft.onnx.save("f.onnx", f, weft.ones((2, 3)))
    """
    if isinstance(function, GraphFunction):
        if args:
            raise TypeError("save: a graph has the types of its inputs, and takes no arguments")
        graph = function.graph
    elif hasattr(function, "graph"):
        graph = function.graph(*args)
    else:
        raise TypeError("save: expected a function that weft.compile() made, or a graph")
    _core.save_onnx(_path("save", path), graph, opset, external_data)


def describe(path: str | os.PathLike[str]) -> Description:
    """What is in a model's file, whether it runs here or not. Its weights are not read."""
    return _description(_core.describe_onnx(_path("describe", path)))
