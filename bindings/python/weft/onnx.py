"""Models in ONNX's format: loaded, compiled and run on any device.

    model = weft.onnx.load("resnet50.onnx")
    scores = model(image)                          # or by the input's name: model(x=image)

A model is compiled for the shapes that it is given, when it is first given them; what comes in a shape again compiles
nothing. No package but this one is needed.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from . import _core
from ._core import Device, DType
from ._devices import current_precision

__all__ = ["Description", "Model", "OperatorUse", "Port", "describe", "load"]


class Port(NamedTuple):
    """An input or output. Of shape a dimension is a size, the name of one that each call may choose, or None, which is
    neither; a shape of None is any. What is no tensor, or of a type that Weft lacks, has no dtype."""

    name: str
    type: str
    dtype: DType | None
    shape: tuple[int | str | None, ...] | None


class OperatorUse(NamedTuple):
    """An operator that a model uses, in how many nodes, and whether Weft has it."""

    domain: str
    name: str
    version: int
    count: int
    supported: bool


class Description(NamedTuple):
    """What is in a model's file. parameters and weight_bytes are those of its initializers, opsets are versions by
    domain."""

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


def _description(made: Any) -> Description:
    fields = list(made)
    for i, kind in ((5, Port), (6, Port), (7, OperatorUse)):
        fields[i] = tuple(kind(*f) for f in fields[i])
    return Description(*fields)


class Model:
    """A model as a function of arrays. load() makes it; any number of threads may call it."""

    def __init__(self, handle: Any) -> None:
        self._own = handle
        self._description = _description(handle.description())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The output, or a tuple of several in their order, on the model's device.

        Inputs are arrays of any library and device, or lists of numbers, in the order of inputs or by name: a name that
        is none of Python's as model(**{"input.1": x}). Arrays have the input's type. A sequence is a list of arrays, as
        an input and as an output; None is an optional without a value. Returns before the work is done, unless the graph
        depends on values that are computed on the way. It is a step of its own: not inside of functions that weft.compile()
        or weft.vmap() trace, and a constant for derivatives."""
        names = [port.name for port in self.inputs]
        if len(args) > len(names):
            raise TypeError(f"the model has {len(names)} inputs, got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"the model's input {name!r} is given twice")
            given[name] = value
        results = self._own.run(given)
        return results[0] if len(results) == 1 else tuple(results)

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
    def reads(self) -> int:
        """How many values were read from the device since it was loaded, since the graph depends on them."""
        return self._own.reads

    def __repr__(self) -> str:
        text = ", ".join(f"{p.name}: {p.type}{_sizes(p)}" for p in self.inputs)
        result = ", ".join(f"{p.name}: {p.type}{_sizes(p)}" for p in self.outputs)
        return f"<weft.onnx.Model ({text}) -> ({result}) on {self.device}>"


def _sizes(port: Port) -> str:
    if port.shape is None:
        return ""
    return "[" + ", ".join("?" if d is None else str(d) for d in port.shape) + "]"


def load(
    path: str | os.PathLike[str] | bytes,
    device: Device | str | None = None,
    precision: str | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
) -> Model:
    """The model of a file, or of its bytes, on a device: by default the default device.

    precision says whether weights and values may be stored as float16: "float32", the default, "float16", or "auto",
    where that keeps an error bound, as weft.compile() has it. The file is mapped, and weights are read when they are first
    uploaded; those in files of their own are found beside it, and those of bytes in `folder`. Raises Unsupported for a
    model with operators that Weft lacks, and names their nodes.
    """
    if device is None:
        device = _core.default_device()
    elif isinstance(device, str):
        device = _core.open_device(device)
    precision = precision or current_precision.get()
    if isinstance(path, bytes):
        where = "" if folder is None else os.fspath(folder)
        return Model(_core.onnx_from_bytes(path, device, precision, where))
    if folder is not None:
        raise TypeError("load: a folder goes with bytes; of a file it is its own")
    return Model(_core.load_onnx(os.fspath(path), device, precision))


def describe(path: str | os.PathLike[str]) -> Description:
    """What is in a model's file, whether it runs here or not. Its weights are not read."""
    return _description(_core.describe_onnx(os.fspath(path)))
