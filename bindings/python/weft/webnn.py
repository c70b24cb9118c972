"""The W3C's Web Neural Network API: https://www.w3.org/TR/webnn/, its classes and operations with names in Python's
spelling (averagePool2d is average_pool2d, its option windowDimensions window_dimensions=), on any device of Weft's.

    context = webnn.create_context()
    b = webnn.MLGraphBuilder(context)
    x = b.input("x", "float32", (1, 3, 8, 8))
    graph = b.build({"y": b.relu(b.conv2d(x, b.constant(weights), padding=(1, 1, 1, 1), label="stem"))})
    into = context.create_tensor("float32", (1, 3, 8, 8), writable=True)
    out = context.create_tensor("float32", (1, 4, 8, 8), readable=True)
    context.write_tensor(into, image)
    context.dispatch(graph, {"x": into}, {"y": out})     # returns at once
    y = context.read_tensor(out)                         # waits
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from . import _core
from ._array_api import asarray
from ._core import (
    Array,
    Device,
    InvalidStateError,
    MLGraph,
    MLOperand,
    MLTensor,
    NotSupportedError,
    OperationError,
    UnknownError,
)

__all__ = [
    "InvalidStateError",
    "MLContext",
    "MLGraph",
    "MLGraphBuilder",
    "MLOperand",
    "MLTensor",
    "NotSupportedError",
    "OperandLimits",
    "OperationError",
    "OpSupportLimits",
    "UnknownError",
    "create_context",
]

for _class in (MLGraph, MLOperand, MLTensor):
    _class.__module__ = __name__


def _snake(name: str) -> str:
    """averagePool2d, isNaN, gatherND: average_pool2d, is_nan, gather_nd."""
    return re.sub(r"(?<=[a-z0-9])([A-Z]+)", r"_\1", name.replace("NaN", "Nan")).lower()


def _bytes_of(op: str, data: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """The data as dense bytes of that type: of an array of any library, which has the type and shape, of numbers in
    lists, or bytes as they are."""
    if isinstance(data, (bytes, bytearray)):
        return data
    has_type = hasattr(data, "dtype")
    with _core.open_device("cpu"):
        x = asarray(data) if has_type else asarray(data, dtype=dtype)
        x = x.to_device("cpu")
    if x.dtype != dtype:
        raise TypeError(f"{op}: the data is {x.dtype}, expected {dtype}")
    if x.shape != shape and (x.ndim != 1 or x.size != _product(shape)):
        raise ValueError(f"{op}: the data has the shape {x.shape}, expected {shape}")
    return x._bytes() if dtype._numpy is None else memoryview(_core.contiguous(x))


def _product(sizes: Sequence[int]) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


class OperandLimits(NamedTuple):
    """The data types and ranks that an operand may have."""

    data_types: tuple[str, ...]
    min_rank: int
    max_rank: int


class OpSupportLimits(NamedTuple):
    """What MLContext.op_support_limits() tells. ops has, of each operation, its operands and results by name."""

    preferred_input_layout: str
    max_tensor_byte_length: int
    input: OperandLimits
    constant: OperandLimits
    output: OperandLimits
    ops: dict[str, dict[str, OperandLimits]]


class MLContext:
    """The state of neural networks on one device, with one timeline: what is called takes effect in the order of the
    calls, and nothing but reading waits. Any number of threads may use it. create_context() makes one."""

    def __init__(self, device: Device) -> None:
        self._own = _core.MLContextHandle(device)

    @property
    def accelerated(self) -> bool:
        """Whether it is on a GPU."""
        return self._own.accelerated

    @property
    def device(self) -> Device:
        """The device."""
        return self._own.device

    @property
    def lost(self) -> str | None:
        """None; or, once the context is destroyed or its GPU is gone, why."""
        return self._own.lost()

    def create_tensor(
        self, data_type: Any, shape: Sequence[int], *, readable: bool = False, writable: bool = False
    ) -> MLTensor:
        """A tensor of zeros, which the program may read or write where that is said."""
        return self._own.create_tensor(data_type, shape, readable, writable)

    def create_constant_tensor(self, data: Any, data_type: Any = None, shape: Sequence[int] | None = None) -> MLTensor:
        """A tensor that never changes, for MLGraphBuilder.constant(). An array has its own type and shape; bytes and
        lists need them."""
        dtype, sizes, held = _described("create_constant_tensor", data, data_type, shape)
        return self._own.create_constant_tensor(dtype, sizes, held)

    def write_tensor(self, tensor: MLTensor, data: Any) -> None:
        """Puts data, of the tensor's type and shape, into a writable one. It is copied at once."""
        self._own.write_tensor(tensor, _bytes_of("write_tensor", data, tensor._dtype(), tensor.shape))

    def read_tensor(self, tensor: MLTensor) -> Array:
        """What a readable tensor holds when all that was called before is done, as an array on the cpu. Waits."""
        return self._own.read_tensor(tensor).get()

    async def read_tensor_async(self, tensor: MLTensor) -> Array:
        """The same in a coroutine, whose loop goes on meanwhile."""
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(None, self._own.read_tensor(tensor).get)

    def dispatch(self, graph: MLGraph, inputs: Mapping[str, MLTensor], outputs: Mapping[str, MLTensor]) -> None:
        """Runs the graph on these tensors, which are all different ones; returns at once."""
        self._own.dispatch(graph, dict(inputs), dict(outputs))

    def op_support_limits(self) -> OpSupportLimits:
        """The data types and ranks that each operation takes here."""
        layout, most, into, constant, output, ops = self._own.limits()
        limits = {_snake(op): {_snake(n): _limits(o) for n, o in operands.items()} for op, operands in ops.items()}
        return OpSupportLimits(layout, most, _limits(into), _limits(constant), _limits(output), limits)

    def destroy(self) -> None:
        """Loses the context, with its tensors and graphs."""
        self._own.destroy()

    def __repr__(self) -> str:
        return f"<MLContext on {self.device}>"


def _limits(given: tuple[Any, int, int]) -> OperandLimits:
    return OperandLimits(tuple(given[0]), given[1], given[2])


def _described(op: str, data: Any, data_type: Any, shape: Sequence[int] | None) -> tuple[Any, tuple[int, ...], Any]:
    if isinstance(data, (bytes, bytearray)):
        if data_type is None or shape is None:
            raise TypeError(f"{op}: bytes need data_type and shape")
        return _core.dtype(data_type), tuple(shape), data
    if not hasattr(data, "dtype"):
        if data_type is None:
            raise TypeError(f"{op}: numbers need data_type")
        data = asarray(data, dtype=data_type, device="cpu")
    dtype = _core.dtype(data.dtype if data_type is None else data_type)
    sizes = tuple(data.shape) if shape is None else tuple(shape)
    return dtype, sizes, _bytes_of(op, data, dtype, sizes)


def create_context(
    device: Device | str | None = None, *, power_preference: str = "default", accelerated: bool = True
) -> MLContext:
    """A context on a device of weft.devices(); or on the best one for these wishes.

    power_preference: "high-performance" and "low-power" ask for a GPU, discrete or integrated. accelerated=False
    prefers the cpu. With the defaults it is the default device.
    """
    if device is not None:
        return MLContext(_core.open_device(device) if isinstance(device, str) else device)
    choices = {"default": 0, "high-performance": 1, "low-power": 2}
    if power_preference not in choices:
        raise TypeError(f"create_context: power_preference is {power_preference!r}, expected {', '.join(map(repr, choices))}")
    if power_preference == "default" and accelerated:
        return MLContext(_core.default_device())
    return MLContext(_core.webnn_device(choices[power_preference], accelerated))


class MLGraphBuilder:
    """Records operations, each of which is checked at once, and compiles them: b = MLGraphBuilder(context)."""

    def __init__(self, context: MLContext) -> None:
        self._own = _core.MLGraphBuilderHandle(context._own)

    def input(self, name: str, data_type: Any, shape: Sequence[int]) -> MLOperand:
        """An input of the graph, which dispatch() is given under this name."""
        return self._own.input(name, data_type, shape)

    def constant(self, data: Any, data_type: Any = None, shape: Sequence[int] | None = None) -> MLOperand:
        """A constant: of an array of any library, of bytes or lists with their type and shape, of a number with its
        type, or of a tensor that create_constant_tensor() made."""
        if isinstance(data, MLTensor):
            return self._own.constant_of(data)
        if data_type is not None and shape is None and isinstance(data, (bool, int, float)):
            return self._own.scalar(data_type, data)
        return self._own.constant(*_described("constant", data, data_type, shape))

    def build(self, outputs: Mapping[str, MLOperand]) -> MLGraph:
        """Compiles what these outputs need. A builder builds once."""
        return self._own.build(dict(outputs))

    async def build_async(self, outputs: Mapping[str, MLOperand]) -> MLGraph:
        """The same in a coroutine, whose loop goes on meanwhile."""
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(None, self._own.build, dict(outputs))


_KINDS = {
    "operand": "MLOperand",
    "operands": "Sequence[MLOperand]",
    "boolean": "bool",
    "size": "int",
    "integer": "int",
    "sizes": "Sequence[int]",
    "splits": "int | Sequence[int]",
    "number": "float",
    "real": "float",
    "reals": "Sequence[float]",
    "choice": "str",
    "choices": "Sequence[str]",
    "data_type": "DTypeLike",
}


def _method(op: tuple[Any, ...]) -> Callable[..., Any]:
    """The method for an operation, whose signature and text are made of the library's row of it."""
    name, gives_list, section, arguments, outputs = op
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    told = []
    for argument, kind, required, default, choices in arguments:
        parameters.append(
            inspect.Parameter(
                _snake(argument),
                inspect.Parameter.POSITIONAL_OR_KEYWORD if required else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if required else None,
                annotation=_KINDS[kind] if required else f"{_KINDS[kind]} | None",
            )
        )
        what = " | ".join(map(repr, choices)) if choices else default
        if what and not required:
            told.append(f"{_snake(argument)}: {what if choices else 'by default ' + what}")
    parameters.append(inspect.Parameter("label", inspect.Parameter.KEYWORD_ONLY, default="", annotation="str"))
    result = "list[MLOperand]" if gives_list else "MLOperand"
    signature = inspect.Signature(parameters, return_annotation=result)
    own_names = {_snake(a[0]): a[0] for a in arguments} | {"label": "label"}

    def method(self: MLGraphBuilder, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(self, *args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{method.__name__}() {error}") from None
        given = {own_names[n]: v for n, v in bound.items() if n != "self" and v is not None}
        results = self._own.call(name, given)
        return results if gives_list else results[0]

    method.__name__ = _snake(name)
    method.__qualname__ = f"MLGraphBuilder.{method.__name__}"
    method.__signature__ = signature  # type: ignore[attr-defined]
    text = f"WebNN's {name}: https://www.w3.org/TR/webnn/{section}"
    if gives_list and len(outputs) > 1:
        text += f"\n\nGives {', '.join(_snake(o) for o in outputs)}."
    method.__doc__ = text + ("\n\n" + "\n".join(told) if told else "")
    return method


for _op in _core.webnn_ops():
    setattr(MLGraphBuilder, _snake(_op[0]), _method(_op))
