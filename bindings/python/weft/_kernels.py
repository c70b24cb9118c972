"""Kernels of a program's own, in WGSL."""

from __future__ import annotations

import atexit
import math
import threading
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from . import _core
from ._array_api import asarray
from ._core import Array, KernelError




def _end() -> None:
    """Executables, which are kept, would keep what programs' modules hold beyond the end."""
    _core.end_kernels()
    _core.drop_objects()


atexit.register(_end)


class _ArrayType(NamedTuple):
    shape: tuple[int, ...]
    dtype: Any


class ArrayType(_ArrayType):
    """The shape and the data type of an array.

    >>> import weft as wf
    >>> wf.ArrayType((2, 3), "float32")
    ArrayType(shape=(2, 3), dtype=weft.float32)
    """

    __slots__ = ()

    def __new__(cls, shape: int | Iterable[int], dtype: Any) -> ArrayType:
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        if not all(isinstance(n, int) and n >= 0 for n in sizes):
            raise ValueError(f"ArrayType: shape is {sizes}, expected sizes of at least 0")
        return super().__new__(cls, sizes, _core.dtype(dtype))


class _Form:
    """What the library asks of a kernel for operands of some types: the results' types, and how often it runs."""

    def __init__(self, name: str, outputs: int, results: Any, threads: Any, workgroups: Any) -> None:
        self._name, self._outputs = name, outputs
        self._results, self._threads, self._workgroups = results, threads, workgroups

    def __call__(self, operands: list[tuple[tuple[int, ...], Any]]) -> tuple[list[Any], Any, Any]:
        types = [ArrayType(*o) for o in operands]
        results = self._result_types(types)
        threads = self._threads(*types) if callable(self._threads) else self._threads
        workgroups = self._workgroups(*types) if callable(self._workgroups) else self._workgroups
        if threads is None:
            threads = math.prod(results[0][0])
        return results, threads, workgroups

    def _result_types(self, types: list[ArrayType]) -> list[tuple[Any, Any]]:
        given = self._results(*types) if callable(self._results) else self._results
        if given is None:
            given = [types[0]] * self._outputs
        elif _is_type(given):
            given = [given]
        if len(given) != self._outputs:
            raise ValueError(f"kernel {self._name!r}: results has {len(given)} types for {self._outputs} outputs")
        pairs = [(one.shape, one.dtype) if hasattr(one, "dtype") else one for one in given]
        return [tuple(ArrayType(s, dtype)) for s, dtype in pairs]


def _is_type(given: Any) -> bool:
    """Whether it is an array or a type, not several: a pair of a shape and a data type."""
    return hasattr(given, "dtype") or (
        isinstance(given, tuple)
        and len(given) == 2
        and not hasattr(given[0], "dtype")
        and (isinstance(given[0], int) or all(isinstance(n, int) for n in given[0]))
        and (isinstance(given[1], (str, type, _core.DType)) or hasattr(given[1], "itemsize"))
    )


class _OnCpu:
    """The kernel's function for the cpu: of arrays, giving bytes."""

    def __init__(self, name: str, function: Callable[..., Any], numbers: dict[str, Any]) -> None:
        self._name, self._function, self._numbers = name, function, numbers

    def __call__(self, operands: list[Array], types: list[tuple[tuple[int, ...], Any]]) -> list[bytes]:
        import numpy

        made = self._function(*(x.numpy() for x in operands), **self._numbers)
        given = [made] if len(types) == 1 and not isinstance(made, (tuple, list)) else made
        if len(given) != len(types):
            raise ValueError(f"kernel {self._name!r}: cpu gave {len(given)} arrays for {len(types)} outputs")
        all_bytes = []
        for one, (shape, dtype) in zip(given, types):
            if dtype._numpy is None:
                import ml_dtypes

                one = numpy.asarray(one, dtype=getattr(ml_dtypes, dtype.name))
            else:
                one = numpy.asarray(one, dtype=dtype.name)
            if one.shape != shape:
                raise ValueError(f"kernel {self._name!r}: cpu gave an array of the shape {one.shape}, expected {shape}")
            all_bytes.append(one.tobytes())
        return all_bytes


def _number_type(name: str, value: Any) -> str:
    """The type that WGSL has it in."""
    own = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
    for prefix, made in (("uint", "u32"), ("bool", "u32"), ("int", "i32"), ("float", "f32")):
        if own.startswith(prefix):
            return made
    raise TypeError(f"kernel: the number {name} is {value!r}, expected an integer or a float")


class Kernel:
    """A kernel in WGSL as a function of arrays. kernel() makes it."""

    def __init__(
        self,
        wgsl: str,
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        numbers: Mapping[str, Any],
        enables: Sequence[str],
        form: _Form,
        has_workgroups: bool,
        cpu: Callable[..., Any] | None,
    ) -> None:
        self.name, self.wgsl, self.inputs, self.outputs = name, wgsl, tuple(inputs), tuple(outputs)
        self.numbers = dict(numbers)
        self._types = {n: _number_type(n, v) for n, v in self.numbers.items()}
        self._enables, self._form, self._has_workgroups, self._cpu = tuple(enables), form, has_workgroups, cpu
        self._made: dict[tuple[Any, ...], Any] = {}  # one for each combination of numbers
        self._checked: set[Any] = set()  # devices and types of operands
        self._lock = threading.Lock()

    def _with(self, numbers: dict[str, Any]) -> Any:
        for n in numbers:
            if n not in self.numbers:
                raise TypeError(f"kernel {self.name!r} has no number {n!r}; its numbers are {list(self.numbers)}")
        cast = {"f32": float, "i32": int, "u32": int}
        own = {n: cast[self._types[n]](numbers.get(n, v)) for n, v in self.numbers.items()}
        key = tuple(own.values())
        with self._lock:
            if key not in self._made:
                if len(self._made) >= 64:
                    self._made.clear()
                self._made[key] = _core.CustomKernel(
                    name=self.name,
                    wgsl=self.wgsl,
                    inputs=self.inputs,
                    outputs=self.outputs,
                    numbers=[(n, self._types[n], v) for n, v in own.items()],
                    enables=self._enables,
                    form=self._form,
                    has_workgroups=self._has_workgroups,
                    cpu=None if self._cpu is None else _OnCpu(self.name, self._cpu, own),
                )
            return self._made[key]

    def _check(self, kernel: Any, operands: list[Array]) -> None:
        """Compiles the kernel alone, so that what is wrong with it has the line of the call."""
        try:
            device = operands[0].device
        except ValueError:  # while a function is traced there are no values, and so no device
            device = _core.default_device()
        key = (device, tuple((x.shape, x.dtype.name) for x in operands))
        if key in self._checked:
            return
        try:
            kernel.check(operands, device)
        except KernelError as error:
            lines = self.wgsl.split("\n")
            if 0 < error.line <= len(lines):
                error.add_note(f"line {error.line}: {lines[error.line - 1].strip()}")
            raise
        if len(self._checked) >= 256:
            self._checked.clear()
        self._checked.add(key)

    def __call__(self, *operands: Any, **numbers: Any) -> Any:
        if len(operands) != len(self.inputs):
            raise TypeError(f"kernel {self.name!r} takes {len(self.inputs)} arrays, got {len(operands)}")
        given = [asarray(x) for x in operands]
        kernel = self._with(numbers)
        self._check(kernel, given)
        results = kernel(given)
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"<kernel {self.name!r}: {', '.join(self.inputs)} -> {', '.join(self.outputs)}>"


def _names(given: str | Iterable[str]) -> list[str]:
    return given.replace(",", " ").split() if isinstance(given, str) else list(given)


def kernel(
    wgsl: str,
    *,
    inputs: str | Iterable[str] = "x",
    outputs: str | Iterable[str] = "y",
    results: Any = None,
    numbers: Mapping[str, Any] | None = None,
    threads: int | Callable[..., int] | None = None,
    workgroups: int | Sequence[int] | Callable[..., int | Sequence[int]] | None = None,
    enables: str | Iterable[str] = (),
    cpu: Callable[..., Any] | None = None,
    name: str = "kernel",
) -> Kernel:
    """A function of arrays that this text of WGSL computes.

    The text declares `fn kernel(i: u32)`, which runs once for each i below `threads`. For each operand `x` it finds
    `load_x(i)` (inputs) or `store_x(i, value)` (outputs), by an element's place in row-major order, whatever the data
    type is; `x_t`, the type in which elements are computed; `p.x_count`, `p.x_n0`, `p.x_n1`, …, how many elements
    there are and the sizes; and `p.name` for each of `numbers`. Indices are not checked.

    >>> import weft as wf
    >>> scale = wf.kernel('''
    ... fn kernel(i: u32) { store_y(i, p.factor * load_x(i)); }
    ... ''', numbers={"factor": 2.0}, cpu=lambda x, factor: factor * x)
    >>> scale(wf.asarray([1.0, 2.0]))
    Array([2., 4.], dtype=float32)
    >>> scale(wf.asarray([1.0, 2.0]), factor=10)
    Array([10., 20.], dtype=float32)

    The function is pure: equal calls are computed once. It has no derivative unless custom_vjp() gives one.

    Parameters
    ----------
    inputs, outputs: the operands' names in the text, as "x, w" or a list.
    results: the results' types, (shape, data type) or an ArrayType for each output; or a function that gives them of
        the operands' ArrayTypes. None: each result is like the first operand.
    numbers: more values, with their defaults: floats are f32 in the text, integers i32, NumPy's uint32 u32. Calls may
        give others by name.
    threads: how often kernel(i) runs, or a function of the operands' ArrayTypes. None: once for each element of the
        first output.
    workgroups: instead, the grid of an entry point of the text's own,
        `@compute @workgroup_size(64) fn main(@builtin(workgroup_id) group: vec3<u32>, …)`.
    enables: extensions of WGSL that the text uses, "f16" and "subgroups".
    cpu: the same for the cpu, which runs no WGSL: a function of NumPy's arrays and the numbers, by name, that gives an
        array for each output. Without it Unsupported is raised there.
    name: in schedules, profiles and messages.

    Raises
    ------
    KernelError, when it is called, where the WGSL compiler rejects the text: `line` counts from 1 in it.
    """
    if threads is not None and workgroups is not None:
        raise TypeError("kernel: threads are for kernel(i), workgroups for main(); give one of them")
    into, out = _names(inputs), _names(outputs)
    form = _Form(name, len(out), results, threads, workgroups)
    return Kernel(wgsl, name, into, out, numbers or {}, _names(enables), form, workgroups is not None, cpu)
