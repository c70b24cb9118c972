"""Types of arguments, for checkers and editors."""

from __future__ import annotations

from typing import Any, Protocol, Sequence, Union

from ._core import Array, Device, DType


class SupportsDLPack(Protocol):
    """An array of another library."""

    def __dlpack__(self) -> Any: ...


class SupportsArray(Protocol):
    """What NumPy makes an array of."""

    def __array__(self) -> Any: ...


ArrayLike = Union[Array, complex, Sequence[Any], SupportsDLPack, SupportsArray]
DTypeLike = Union[DType, str, type]
DeviceLike = Union[Device, str]
