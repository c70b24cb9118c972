"""Functions whose form in the array API standard, or in NumPy, is more than a row with other names.

Each is made of rows; nothing is computed here. `r` has the rows by their names.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Sequence

from . import _core
from ._core import Array, Device, DType
from ._functions import make

if TYPE_CHECKING:
    from ._types import ArrayLike, DeviceLike, DTypeLike

float32, complex64, int32 = _core.float32, _core.complex64, _core.int32
e, pi, inf, nan = 2.718281828459045, 3.141592653589793, float("inf"), float("nan")
newaxis = None


class _Rows:
    def __getattr__(self, name: str) -> Any:
        function = make(name, name, "weft")
        setattr(self, name, function)
        return function


r = _Rows()


def _on(x: Array, device: DeviceLike | None) -> Array:
    return x if device is None else _core.to_device(x, as_device(device))


def as_device(device: DeviceLike | None) -> Device | None:
    if isinstance(device, str):
        return _core.open_device(device)
    if device is not None and not isinstance(device, Device):
        raise TypeError(f"device is an object of the type {type(device).__name__}, expected a device or its name")
    return device


# ---- Creation


def asarray(obj: ArrayLike, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, copy: bool | None = None) -> Array:
    """The array of numbers, lists of numbers, or an array of any library (DLPack, buffers, NumPy).

    >>> import weft as wf
    >>> wf.asarray([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    >>> wf.asarray([1.0, 2.0], dtype="float16").dtype
    weft.float16
    >>> import numpy as np
    >>> wf.asarray(np.arange(3))
    Array([0, 1, 2], dtype=int64)

    Integers of Python's become int32 (int64 where they are larger), floats float32; arrays keep their types. Memory
    that may be written to is copied, so that an array never changes; with copy=False on the cpu it is shared, and is
    not to be written to as long as the array or anything computed of it is needed. An array of Weft's is with
    copy=False the object itself, so that assignment to either is seen by both.
    """
    if copy is False and type(obj) is Array and device is None and dtype in (None, obj.dtype):
        return obj
    if obj is None:
        raise TypeError("asarray: None, expected numbers, lists of numbers, or an array of any library")
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"asarray: copy is {copy!r}, expected True, False or None")
    return _core.asarray(obj, dtype, as_device(device), copy)


array = asarray


def from_dlpack(x: ArrayLike, /, *, device: DeviceLike | None = None, copy: bool | None = None) -> Array:
    """The array of an object with __dlpack__; copies as asarray() does."""
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: an object of the type {type(x).__name__}, which has no __dlpack__; asarray() takes others")
    return _core.from_dlpack(x, as_device(device), copy)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """start, start + step, … before stop; of one argument 0, 1, … before it.

    >>> import weft as wf
    >>> wf.arange(3)
    Array([0, 1, 2], dtype=int32)
    >>> wf.arange(1.0, 2.0, 0.25)
    Array([1.  , 1.25, 1.5 , 1.75], dtype=float32)
    """
    if stop is None:
        start, stop = 0, start
    for name, value in (("start", start), ("stop", stop), ("step", step)):
        if value != value:
            raise ValueError(f"arange: {name} is NaN")
    return _on(r.arange(start=start, stop=stop, step=step, dtype=dtype), device)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, endpoint: bool = True) -> Array:
    """num numbers at equal distances from start to stop, which is the last unless endpoint is false.

    >>> import weft as wf
    >>> wf.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    if dtype is not None and isdtype(dtype, "integral"):
        return _on(r.cast(r.linspace(start=start, stop=stop, count=num, endpoint=endpoint), dtype=dtype), device)
    return _on(r.linspace(start=start, stop=stop, count=num, dtype=dtype, endpoint=endpoint), device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """Ones on the diagonal k, zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    k = builtins.max(-n_rows, builtins.min(k, n_cols))  # all diagonals outside are alike, also those past 64 bits
    return _on(r.eye(rows=n_rows, columns=n_cols, k=k, dtype=dtype), device)


def _dtype_of(value: float) -> DType:
    if isinstance(value, bool):
        return _core.bool
    if isinstance(value, int):
        return int32 if -(2**31) <= value < 2**31 else _core.int64 if value < 2**63 else _core.uint64
    return float32


def full(shape: int | Sequence[int], fill_value: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """An array of that value everywhere, a broadcast that takes no memory."""
    if isinstance(fill_value, (bool, int, float)):
        return _on(r.full(shape=shape, value=fill_value, dtype=dtype or _dtype_of(fill_value)), device)
    return _on(r.broadcast_to(asarray(fill_value, dtype=dtype), shape), device)


def zeros(shape: int | Sequence[int], *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """Zeros, float32 by default."""
    return _on(r.zeros(shape=shape, dtype=dtype), device)


def ones(shape: int | Sequence[int], *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """Ones, float32 by default."""
    return _on(r.ones(shape=shape, dtype=dtype), device)


def full_like(x: Array, /, fill_value: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """The value everywhere in x's shape, and x's type unless another is given."""
    if isinstance(fill_value, (bool, int, float)):
        return _on(r.full_like(x, value=fill_value, dtype=dtype), device)
    x = asarray(x)
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def zeros_like(x: Array, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """Zeros in x's shape, and x's type unless another is given."""
    return _on(r.zeros_like(x, dtype=dtype), device)


def ones_like(x: Array, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """Ones in x's shape, and x's type unless another is given."""
    return _on(r.ones_like(x, dtype=dtype), device)


def empty(shape: int | Sequence[int], *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """zeros(): an array's values never change, so that there is nothing to fill."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x: Array, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """zeros_like()."""
    return zeros_like(x, dtype=dtype, device=device)


def meshgrid(*arrays: ArrayLike, indexing: str = "xy") -> tuple[Array, ...]:
    """The coordinates of a grid, of one array for each axis.

    >>> import weft as wf
    >>> x, y = wf.meshgrid([1, 2, 3], [10, 20])
    >>> x + y
    Array([[11, 12, 13],
           [21, 22, 23]], dtype=int32)
    """
    return r.meshgrid(arrays, order=indexing) if arrays else ()


# ---- Types


class finfo_object(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class iinfo_object(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: DType


def _type_of(x: ArrayLike) -> Any:
    return x.dtype if isinstance(x, Array) else _core.dtype(x)


def finfo(type: Any, /) -> finfo_object:
    """The limits of a type of floats, or of the parts of a complex one; of an array's type."""
    return finfo_object(*_core.finfo(_type_of(type)))


def iinfo(type: Any, /) -> iinfo_object:
    """The limits of a type of integers; of an array's type."""
    return iinfo_object(*_core.iinfo(_type_of(type)))


_KINDS = {
    "bool": {"bool"},
    "signed integer": {"signed integer"},
    "unsigned integer": {"unsigned integer"},
    "integral": {"signed integer", "unsigned integer"},
    "real floating": {"real floating"},
    "complex floating": {"complex floating"},
    "numeric": {"signed integer", "unsigned integer", "real floating", "complex floating"},
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether the type is that one, of that kind ("integral", "real floating", …), or one of a tuple of these.

    >>> import weft as wf
    >>> wf.isdtype(wf.int8, "integral")
    True
    """
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: there is no kind {kind!r}; the kinds are {', '.join(_KINDS)}")
        return _core.dtype(dtype).kind in _KINDS[kind]
    return _core.dtype(dtype) is _core.dtype(kind)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether values of the one type, or of the array, become the other by promotion."""
    return _core.can_cast(_type_of(from_), _type_of(to))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type that the arrays, types and numbers have in common. Numbers of Python's are weak.

    >>> import weft as wf
    >>> wf.result_type("int8", "uint8")
    weft.int16
    >>> wf.result_type(wf.float16, 2.5)
    weft.float16
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: no arrays and no types")
    return _core.result_type(*arrays_and_dtypes)


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = True, device: DeviceLike | None = None) -> Array:
    """x converted to another type. An array's values never change, so that copy= makes no difference."""
    return _on(r.cast(x, dtype=dtype), device)


# ---- Elementwise


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """The elements, but min where they are less, and max where they are greater.

    >>> import weft as wf
    >>> wf.clip(wf.asarray([-1, 2, 5]), 0, 3)
    Array([0, 2, 3], dtype=int32)
    """
    if min is not None and max is not None:
        return r.clamp(x, min, max)
    if min is not None:
        return r.maximum(x, min)
    return x if max is None else r.minimum(x, max)


def where(condition: ArrayLike, x1: Any = None, x2: Any = None, /) -> Any:
    """Elements of x1 where the condition is true, of x2 elsewhere; of the condition alone nonzero(), as NumPy's."""
    return r.nonzero(condition) if x1 is None and x2 is None else r.where(condition, x1, x2)


def _of_parts(function: Any, joined: Any) -> Any:
    """A function of real numbers that of complex ones is that of their parts."""

    def of(x: ArrayLike, /) -> Any:
        if isinstance(x, Array) and x.dtype is complex64:
            return joined(function(r.real(x)), function(r.imag(x)))
        return function(x)

    return of


def isnan(x: ArrayLike, /) -> Array:
    """True for NaN, and for complex numbers of which a part is NaN."""
    return _isnan(x)


def isinf(x: ArrayLike, /) -> Array:
    """True for infinities, and for complex numbers of which a part is infinite."""
    return _isinf(x)


def isfinite(x: ArrayLike, /) -> Array:
    """True for what is neither infinite nor NaN; of complex numbers for those of which both parts are not."""
    return _isfinite(x)


def round(x: ArrayLike, /) -> Array:
    """The nearest integer, the even one of two; of complex numbers of both parts."""
    return _round(x)


def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1, NaN for NaN; of complex numbers x / |x|, and 0 for 0."""
    if isinstance(x, Array) and x.dtype is complex64:
        size = r.abs(x)
        return r.where(r.equal(size, 0), asarray(0j), x / size)
    return r.sign(x)


def conj(x: ArrayLike, /) -> Array:
    """The conjugate; of real numbers they themselves."""
    x = asarray(x)
    return r.conj(x) if x.dtype is complex64 else r.positive(x)


def real(x: ArrayLike, /) -> Array:
    """The real part; of real numbers they themselves."""
    x = asarray(x)
    return r.real(x) if x.dtype is complex64 else r.positive(x)


_isnan = _of_parts(r.is_nan, r.logical_or)
_isinf = _of_parts(r.is_inf, r.logical_or)
_isfinite = _of_parts(r.is_finite, r.logical_and)
_round = _of_parts(r.round, r.complex)


# ---- Manipulation


def concat(arrays: Sequence[ArrayLike] | Array, /, *, axis: int | None = 0) -> Array:
    """The arrays one after the other along an axis; flattened first if it is None."""
    return r.concat_flattened(arrays) if axis is None else r.concat(arrays, axis=axis)


def expand_dims(x: ArrayLike, /, axis: int | Sequence[int]) -> Array:
    """The array with new axes of one element, which stand at these places of the result."""
    x = asarray(x)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    rank = x.ndim + len(axes)
    for a in axes:
        if not -rank <= a < rank:
            raise IndexError(f"expand_dims: axis {a} is outside of the result's {rank} axes")
    return r.expand_dims(x, axis=axes)


def repeat(x: Array, repeats: ArrayLike, /, *, axis: int | None = None) -> Array:
    """Each element as often as `repeats` says, a number or one for each; of all elements if axis is None.

    >>> import weft as wf
    >>> wf.repeat(wf.asarray([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int32)
    """
    if isinstance(repeats, int):
        return r.repeat_flattened(x, count=repeats) if axis is None else r.repeat(x, count=repeats, axis=axis)
    counts = asarray(repeats)
    if axis is None:
        x, axis = r.flatten(x), 0
    if counts.ndim == 0 or counts.shape == (1,) != (x.shape[axis],):
        return r.repeat(x, count=int(counts), axis=axis)
    return r.repeat_by(x, counts, axis=axis)


def roll(x: Array, /, shift: Any, *, axis: Any = None) -> Array:
    """The elements moved along the axes, from the end to the front; of all elements in a row if axis is None.

    >>> import weft as wf
    >>> wf.roll(wf.arange(4), 1)
    Array([3, 0, 1, 2], dtype=int32)
    """
    if axis is None:
        return r.roll_flattened(x, shift=shift)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    return r.roll(x, shifts=shifts, axis=axes)


def take(x: Array, indices: ArrayLike, /, *, axis: int | None = None) -> Array:
    """The slices at these indices along an axis, which an array of one axis need not name.

    >>> import weft as wf
    >>> wf.take(wf.asarray([10, 20, 30]), wf.asarray([2, 0]))
    Array([30, 10], dtype=int32)
    """
    x = asarray(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: axis is needed for an array of {x.ndim} axes")
        axis = 0
    return r.gather(x, indices, axis=axis)


def take_along_axis(x: ArrayLike, indices: ArrayLike, /, axis: int | None = -1) -> Array:
    """Single elements along an axis: those of x at the indices, which have as many axes as x; other axes than `axis`
    broadcast. Of all elements in a row if axis is None. NumPy's take_along_axis."""
    if axis is None:
        x, axis = r.flatten(x), 0
    return r.gather_elements(x, indices, axis=axis)


def reshape(x: ArrayLike, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Array:
    """The same elements in another shape, in which one size may be -1. An array's values never change, so that copy=
    makes no difference."""
    return r.reshape(x, shape=shape)


def split(x: Array, indices_or_sections: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Parts along an axis: so many equal ones, or those that begin at the indices. NumPy's split.

    >>> import weft as wf
    >>> first, second = wf.split(wf.arange(4), 2)
    >>> second
    Array([2, 3], dtype=int32)
    """
    x = asarray(x)
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"split: axis {axis} is outside of {x.ndim} axes")
    n = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or n % indices_or_sections:
            raise ValueError(f"split: an axis of {n} elements is not {indices_or_sections} equal parts")
        return r.split(x, sizes=[n // indices_or_sections] * indices_or_sections, axis=axis)
    bounds = [0, *(builtins.min(i + n if i < 0 else i, n) for i in indices_or_sections), n]
    return r.split(x, sizes=[builtins.max(b - a, 0) for a, b in zip(bounds, bounds[1:])], axis=axis)


def transpose(x: Array, /, axes: Any = None) -> Array:
    """The axes in another order, by default the reverse one. NumPy's transpose."""
    x = asarray(x)
    return r.permute(x, axes=tuple(range(x.ndim))[::-1] if axes is None else axes)


def swapaxes(x: Array, axis1: int, axis2: int, /) -> Array:
    """Two axes exchanged."""
    x = asarray(x)
    for axis in (axis1, axis2):
        if not -x.ndim <= axis < x.ndim:
            raise IndexError(f"swapaxes: axis {axis} is outside of {x.ndim} axes")
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return r.permute(x, axes=order)


def squeeze(x: ArrayLike, /, axis: int | Sequence[int] | None = None) -> Array:
    """The array without these axes, each of one element; without all that have one if axis is None.

    >>> import weft as wf
    >>> wf.squeeze(wf.ones((1, 2, 1))).shape
    (2,)
    """
    x = asarray(x)
    return r.squeeze(x, axis=[i for i, n in enumerate(x.shape) if n == 1] if axis is None else axis)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast."""
    return r.broadcast_arrays(*[zeros(s) for s in shapes])[0].shape if shapes else ()


# ---- Sorting, searching, sets. All sorts are stable.


def searchsorted(x1: ArrayLike, x2: ArrayLike, /, *, side: str = "left", sorter: Any = None) -> Array:
    """Where the elements of x2 stand in x1, which is sorted, or is when taken in the order of `sorter`.

    >>> import weft as wf
    >>> wf.searchsorted(wf.asarray([1, 3, 5]), wf.asarray([0, 3, 9]))
    Array([0, 1, 3], dtype=int32)
    """
    x1 = asarray(x1)
    if isinstance(x2, (bool, int, float)):
        x2 = asarray(x2, dtype=result_type(x1, x2))  # a number has the array's type
    return r.searchsorted(x1 if sorter is None else r.gather(x1, sorter), asarray(x2), side=side)


def sort(x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements in order along an axis; NaN at the end.

    >>> import weft as wf
    >>> wf.sort(wf.asarray([3, 1, 2]), descending=True)
    Array([3, 2, 1], dtype=int32)
    """
    return r.sort(x, axis=axis, descending=descending)


def argsort(x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The indices that sort the elements along an axis."""
    return r.argsort(x, axis=axis, descending=descending)


def isin(x1: ArrayLike, x2: ArrayLike, /, *, invert: bool = False) -> Array:
    """Which elements of x1 are among those of x2; which are not with invert. A number has the array's type."""
    for name, given in (("x1", x1), ("x2", x2)):
        if given is None:
            raise TypeError(f"isin: {name} is None, expected an array")
    if isinstance(x1, (bool, int, float)):
        x1 = asarray(x1, dtype=result_type(x1, x2) if isinstance(x2, Array) else None)
    elif isinstance(x2, (bool, int, float)):
        x1 = asarray(x1)
        x2 = asarray(x2, dtype=result_type(x1, x2))
    return r.isin(x1, x2, invert=invert)


class UniqueAllResult(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    values: Array
    inverse_indices: Array


def _unique(x: ArrayLike) -> Any:
    """(values, where each is first, of each element which it is, how often each occurs)"""
    x = asarray(x)
    if x.dtype is not complex64:
        return r.unique(x)
    # In the order of their real parts, then of the imaginary ones. NaN differs from NaN.
    row = r.flatten(x)
    if row.size == 0:
        return (row, zeros(0, dtype=int32), zeros(x.shape, dtype=int32), zeros(0, dtype=int32))
    order = r.lexsort([r.imag(row), r.real(row)])
    ordered = r.gather(row, order)
    differs = r.concat([ones(1, dtype=_core.bool), r.not_equal(ordered[1:], ordered[:-1])])
    groups = r.cumulative_sum(differs, dtype=int32) - 1
    starts = r.nonzero(differs)[0]
    counts = r.concat([starts[1:], full(1, row.size, dtype=starts.dtype)]) - starts
    return ordered[differs], order[differs], r.reshape(r.gather(groups, r.argsort(order)), shape=x.shape), counts


def unique_all(x: ArrayLike, /) -> UniqueAllResult:
    """Each value once, in order; where it stands first; of each element which it is; how often it occurs."""
    return UniqueAllResult(*_unique(x))


def unique_counts(x: ArrayLike, /) -> UniqueCountsResult:
    """Each value once, in order, and how often it occurs.

    >>> import weft as wf
    >>> wf.unique_counts(wf.asarray([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    all = _unique(x)
    return UniqueCountsResult(all[0], all[3])


def unique_inverse(x: ArrayLike, /) -> UniqueInverseResult:
    """Each value once, in order, and of each element which it is."""
    all = _unique(x)
    return UniqueInverseResult(all[0], all[2])


def unique_values(x: ArrayLike, /) -> Array:
    """Each value once, in order."""
    return _unique(x)[0]


# ---- Products and norms


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The product of matrices, which are the last two axes; an array of one axis is a row or a column."""
    return _core.matmul(asarray(x1), asarray(x2))


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2) -> Array:
    """The sum of products over so many last axes of x1 and first ones of x2, or over pairs of axes."""
    if isinstance(axes, int):
        return r.tensordot(x1, x2, axes)
    first, second = axes
    return r.tensordot_pairs(x1, x2, a_axes=first, b_axes=second)


_ORDERS = {"fro": "fro", "nuc": "nuc", 1: "one", -1: "minus_one", 2: "two", -2: "minus_two", inf: "inf", -inf: "minus_inf"}


def _order(function: str, order: Any) -> str:
    if order not in _ORDERS:
        raise ValueError(f"{function}: ord is {order!r}, expected one of {', '.join(map(repr, _ORDERS))}")
    return _ORDERS[order]


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norms of the matrices in the last two axes."""
    return r.matrix_norm(x, ord=_order("matrix_norm", ord), keepdims=keepdims)


def cond(x: ArrayLike, /, p: Any = None) -> Array:
    """The condition number of matrices."""
    return r.condition_number(x, ord="two" if p is None else _order("cond", p))


def _above(x: Array, rtol: Any, values: Array) -> Array:
    """Which singular values are more than rtol, of which each matrix may have its own, times the largest."""
    least = asarray(rtol)[..., None] * r.max(values, axis=-1, keepdims=True) if values.shape[-1] else values
    return r.greater(values, least)


def pinv(x: ArrayLike, /, *, rtol: float | ArrayLike | None = None) -> Array:
    """The pseudoinverse of matrices: singular values of at most rtol times the largest count as zero. rtol is one number
    or one for each matrix, by default max(M, N) times the type's epsilon."""
    if rtol is None or isinstance(rtol, (int, float)):
        return r.pinv(x, rtol=rtol)
    x = asarray(x)
    u, values, vh = r.svd(x, full_matrices=False)
    inverse = r.where(_above(x, rtol, values), r.reciprocal(values), 0)
    return matmul(conj(r.matrix_transpose(vh)) * astype(inverse[..., None, :], x.dtype), conj(r.matrix_transpose(u)))


def matrix_rank(x: ArrayLike, /, *, rtol: float | ArrayLike | None = None) -> Array:
    """How many singular values of each matrix are more than rtol times the largest; rtol is that of pinv()."""
    if rtol is None or isinstance(rtol, (int, float)):
        return r.matrix_rank(x, rtol=rtol)
    x = asarray(x)
    return r.sum(_above(x, rtol, r.svdvals(x)), axis=-1, dtype=int32)


# ---- Signals


def _over_places(function: Any, x1: ArrayLike, x2: ArrayLike, mode: str) -> Array:
    """function, whose "same" is NumPy's, with SciPy's."""
    if mode != "same":
        return function(x1, x2, mode=mode)
    x1, x2 = asarray(x1), asarray(x2)
    before = (x2.size - 1) // 2
    return function(x1, x2, mode="full")[before : before + x1.size]


def convolve(x1: ArrayLike, x2: ArrayLike, *, mode: Literal["full", "same", "valid"] = "full") -> Array:
    """Σ_j x1[i - j] · x2[j], SciPy's convolve of arrays of one axis. mode: all places of overlap ("full"), the middle of
    these, as many as x1 has elements ("same"; of weft.convolve, as of NumPy's, as many as the longer operand has), or
    those of full overlap ("valid").

    >>> import weft as wf
    >>> wf.signal.convolve(wf.asarray([1.0, 2.0]), wf.asarray([1.0, 1.0, 1.0]), mode="same")
    Array([3., 3.], dtype=float32)
    """
    return _over_places(r.convolve, x1, x2, mode)


def correlate(x1: ArrayLike, x2: ArrayLike, *, mode: Literal["full", "same", "valid"] = "full") -> Array:
    """Σ_j x1[i + j] · conj(x2[j]), SciPy's correlate of arrays of one axis, with the modes of convolve(): as this with x2
    reversed and, of complex numbers, conjugated. (weft.correlate is NumPy's, whose mode is "valid" by default.)

    >>> import weft as wf
    >>> wf.signal.correlate(wf.asarray([1.0, 2.0]), wf.asarray([1.0, 1.0, 2.0]), mode="same")
    Array([5., 3.], dtype=float32)
    """
    return _over_places(r.correlate, x1, x2, mode)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """The frequencies of fft()'s results, for samples at distances d."""
    return _on(r.fftfreq(n=n, spacing=d, dtype=dtype), device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array:
    """The frequencies of rfft()'s results, for samples at distances d."""
    return _on(r.rfftfreq(n=n, spacing=d, dtype=dtype), device)


def einsum(subscripts: str, /, *arrays: ArrayLike) -> Array:
    """Einstein's sums: einsum("ij,jk->ik", a, b) is the product of matrices.

    >>> import weft as wf
    >>> wf.einsum("ij,ij->i", wf.ones((2, 3)), wf.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """
    return r.einsum(subscripts, *arrays)


# ---- What there is


class ArrayNamespaceInfo:
    """What the standard asks libraries: types, devices and limits."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> Device:
        return _core.default_device()

    def devices(self) -> tuple[Device, ...]:
        return tuple(_core.open_device(d[0]) for d in _core.available_devices())

    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, Any]:
        return {"real floating": float32, "complex floating": complex64, "integral": int32, "indexing": int32}

    def dtypes(self, *, device: DeviceLike | None = None, kind: Any = None) -> dict[str, DType]:
        where = _core.default_device() if device is None else as_device(device)
        return {t.name: t for t in _core.computes(where) if kind is None or isdtype(t, kind)}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What the standard asks libraries: types, devices and limits."""
    return ArrayNamespaceInfo()
