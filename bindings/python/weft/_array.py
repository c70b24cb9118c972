"""Methods of arrays that are functions too, and what Python itself asks of objects."""

from __future__ import annotations

from typing import Any, Iterator

from . import _array_api as api
from . import _core
from ._other_names import of_array

Array = _core.Array
API_VERSION = "2025.12"


def _repr(x: Any) -> str:
    if x._is_empty:
        return "Array(donated)"
    head = "Array("
    try:
        text = x._text(8, 1000, 3, 75 - len(head), ",")
    except _core.LinAlgError:
        raise
    except ValueError:  # while a function is traced it has no values
        return f"Array(shape={x.shape}, dtype={x.dtype})"
    if x.size == 0:
        text = f"[], shape={x.shape}"
    lines = text.split("\n")
    indented = [line and " " * len(head) + line for line in lines[1:]]
    return head + "\n".join([lines[0], *indented]) + f", dtype={x.dtype})"


_one_item = Array.item


def _item(x: Any, *index: Any) -> Any:
    """The element of an array that has one, as a number of Python's. Waits."""
    if index:
        raise TypeError(f"item() takes no arguments, got {index}: x[i].item() is that of an element")
    return _one_item(x)


def _format(x: Any, spec: str) -> str:
    """Of a single element as of the number; of several only without a format."""
    if not spec:
        return str(x)
    if x.size != 1:
        raise TypeError(
            f"the format {spec!r} of an array of the shape {x.shape}, expected one of a single element; "
            "format the numbers of tolist()"
        )
    return format(x.item(), spec)


def _same_dtype(dtype: Any, other: Any) -> bool:
    """Whether the other is this type, or what dtype= takes for it: its name, NumPy's type, Python's."""
    if other is dtype:
        return True
    if other is None or isinstance(other, (_core.DType, Array)):
        return False
    try:
        return _core.dtype(other) is dtype
    except TypeError:
        return False


def _numpy_dtype(dtype: Any) -> Any:
    """NumPy's type, by which NumPy takes this one; of types that NumPy itself lacks that of ml_dtypes."""
    try:
        import numpy

        if dtype._numpy is not None:
            return numpy.dtype(dtype._numpy)
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, dtype.name))
    except ImportError as error:
        raise AttributeError(f"the type {dtype} of NumPy: {error}") from None


def _str(x: Any) -> str:
    try:
        return x._text(8, 1000, 3, 75, "")
    except _core.LinAlgError:
        raise
    except ValueError:
        return _repr(x)


def _repr_html_(x: Any) -> str:
    """For notebooks: the elements, and what they are."""
    from html import escape

    return f"<pre>{escape(_str(x))}</pre><small>{escape(str(x.dtype))} {escape(str(x.shape))} on {escape(str(x.device))}</small>"


def _iter(x: Any) -> Iterator[Any]:
    if x.ndim == 0:
        raise TypeError("iteration over an array without axes")
    return iter(api.r.unstack(x))


def _contains(x: Any, value: Any) -> bool:
    return bool(api.r.any(x == value))


def _dlpack(
    x: Any,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule: on the cpu a view without a copy, which is read only; of a GPU's array a copy, if asked for."""
    if dl_device is not None and (int(dl_device[0]), dl_device[1]) not in ((1, 0), _dlpack_device(x)):
        raise BufferError(f"__dlpack__: the array is on the device {_dlpack_device(x)} and can be copied to (1, 0), not to {dl_device}")
    if stream is not None:
        raise BufferError("__dlpack__: there are no streams here; leave stream out")
    host = dl_device is not None and int(dl_device[0]) == 1
    return _core.to_dlpack(x, max_version is not None and max_version[0] >= 1, host, copy)


def _dlpack_device(x: Any) -> tuple[int, int]:
    return (15, 0) if x.device.is_gpu else (1, 0)


def _numpy(x: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's array: on the cpu a view without a copy, which is read only. Waits."""
    import numpy

    if x.dtype._numpy is None:
        try:
            import ml_dtypes  # NumPy's types beside its own
        except ImportError:
            raise TypeError(
                f"NumPy itself has no {x.dtype}: install the package ml_dtypes, which brings it, or convert by "
                'astype("float32")'
            ) from None

        made = numpy.frombuffer(x._bytes(), dtype=getattr(ml_dtypes, x.dtype.name)).reshape(x.shape)
    else:
        made = numpy.asarray(memoryview(x))
    if dtype is not None and made.dtype != dtype:
        if copy is False:
            raise ValueError("copy=False, and the type is converted")
        if made.dtype.kind == "c" and numpy.dtype(dtype).kind in "fiu":
            import warnings

            kind = getattr(numpy, "exceptions", numpy).ComplexWarning
            warnings.warn("Casting complex values to real discards the imaginary part", kind, stacklevel=2)
            made = made.real
        return made.astype(dtype)
    return made.copy() if copy else made


def _namespace(x: Any, /, *, api_version: str | None = None) -> Any:
    import weft

    if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12", API_VERSION):
        raise ValueError(f"there is no version {api_version!r} of the array API here; the newest is {API_VERSION}")
    return weft


def _to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    """The array on that device: itself if it is there."""
    return _core.to_device(x, api.as_device(device))


def _unpickled(dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
    return _core.from_bytes(dtype, shape, data)


def _reduce(x: Any) -> Any:
    return _unpickled, (x.dtype.name, x.shape, x._bytes())


def _await(x: Any) -> Any:
    """Waits for the values without blocking the loop of asyncio, and gives the array."""
    import asyncio

    async def values() -> Any:
        await asyncio.get_running_loop().run_in_executor(None, _core.wait, [x])
        return x

    return values().__await__()


def _transposed(x: Any) -> Any:
    """The array of two axes with these exchanged."""
    if x.ndim != 2:
        raise ValueError(f"T: an array of {x.ndim} axes, expected two; mT exchanges the last two")
    return api.r.matrix_transpose(x)


class _At:
    """x.at[index]: an array like x with some elements changed, while x keeps its values."""

    __slots__ = ("_x", "_index")

    def __init__(self, x: Any, index: Any = None) -> None:
        self._x, self._index = x, index

    def __getitem__(self, index: Any) -> _At:
        return _At(self._x, index)

    def set(self, value: Any) -> Any:
        """With those elements replaced."""
        return _core.at_set(self._x, self._index, value)

    def add(self, value: Any) -> Any:
        """With the value added to those elements, as often as the index names them."""
        return _core.at_add(self._x, self._index, value)

    def max(self, value: Any) -> Any:
        """With those elements replaced by the greater of themselves and the value."""
        return _core.at_max(self._x, self._index, value)

    def min(self, value: Any) -> Any:
        """With those elements replaced by the lesser of themselves and the value."""
        return _core.at_min(self._x, self._index, value)


# Functions that are methods too.
_METHODS = """
    all any sum prod mean max min argmax argmin var std flip ravel diagonal round conj
    cumulative_sum cumulative_prod
"""
_API_METHODS = "sort argsort clip astype repeat take transpose swapaxes squeeze"


def _reshape(x: Any, *shape: Any, copy: bool | None = None) -> Any:
    """The same elements in another shape, a tuple or sizes; one of these may be -1."""
    return api.reshape(x, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


def finish(namespace: dict[str, Any]) -> None:
    """Gives arrays their methods, which the namespace has as functions."""
    own: dict[str, Any] = {
        "__repr__": _repr,
        "__str__": _str,
        "__format__": _format,
        "item": _item,
        "__getattr__": of_array,
        "_repr_html_": _repr_html_,
        "__iter__": _iter,
        "__contains__": _contains,
        "__dlpack__": _dlpack,
        "__dlpack_device__": _dlpack_device,
        "__array__": _numpy,
        "__array_namespace__": _namespace,
        "__array_api_version__": API_VERSION,
        "__reduce__": _reduce,
        "__await__": _await,
        "to_device": _to_device,
        "reshape": _reshape,
        "numpy": _numpy,
        "T": property(_transposed),
        "mT": property(api.r.matrix_transpose, doc="The array with its last two axes exchanged."),
        "at": property(_At, doc=_At.__doc__),
        "real": property(namespace["real"]),
        "imag": property(namespace["imag"]),
    }
    for name in _METHODS.split():
        own[name] = namespace[name]
    for name in _API_METHODS.split():
        own[name] = getattr(api, name)
    for name, value in own.items():
        setattr(Array, name, value)
    # As of NumPy's types the hash is not that of what names it.
    setattr(_core.DType, "__eq__", _same_dtype)
    setattr(_core.DType, "__hash__", lambda dtype: hash(dtype.name + ", a type"))
    # NumPy asks from 2.4 on for the first, and before for the second.
    setattr(_core.DType, "__numpy_dtype__", property(_numpy_dtype))
    setattr(_core.DType, "dtype", property(_numpy_dtype))
