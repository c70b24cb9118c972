"""Devices, precision and memory."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from typing import Any, Iterator, NamedTuple

from . import _core
from ._array_api import as_device
from ._core import Device

_entered = threading.local()


def _enter(self: Any) -> Any:
    scope = _core.DeviceScope()
    scope.enter(self)
    if not hasattr(_entered, "scopes"):
        _entered.scopes = []
    _entered.scopes.append(scope)
    return self


def _exit(self: Any, *_: Any) -> None:
    _entered.scopes.pop().leave()


setattr(Device, "__enter__", _enter)
setattr(Device, "__exit__", _exit)


class DeviceDescription(NamedTuple):
    """A device of this machine. open_as is what device() takes for exactly this one."""

    open_as: str
    name: str
    backend: str
    type: str
    description: str
    memory: int | None


def devices() -> list[DeviceDescription]:
    """The devices of this machine, the best first, the cpu last. None of them is opened.

    >>> import weft as wf
    >>> wf.devices()[-1].name
    'cpu'
    """
    return [DeviceDescription(*d) for d in _core.available_devices()]


def device(name: str | None = None) -> Device:
    """The device of that name: "cpu"; "gpu", the best hardware GPU; a number or a part of a name of devices(). Without
    a name it is the default device. `with weft.device("cpu"):` makes it the thread's default meanwhile.

    >>> import weft as wf
    >>> wf.device("cpu")
    weft.device('cpu')
    >>> with wf.device("cpu"):
    ...     x = wf.asarray([1.0, 2.0])
    >>> x.device
    weft.device('cpu')
    """
    return _device(name)


def set_default_device(device: Device | str) -> None:
    """Makes it the device of all threads where none is named."""
    if device is None:
        raise TypeError("set_default_device: device is None, expected a device or its name")
    _core.set_default_device(as_device(device))


current_precision: contextvars.ContextVar[str | None] = contextvars.ContextVar("weft.precision", default=None)


@contextlib.contextmanager
def precision(name: str) -> Iterator[None]:
    """`with weft.precision("float16"):` compiled functions that are called meanwhile, and name no precision, have it.

    >>> import weft as wf
    >>> f = wf.compile(lambda x: x @ x)
    >>> with wf.precision("float16"):
    ...     y = f(wf.ones((2, 2)))
    >>> y
    Array([[2., 2.],
           [2., 2.]], dtype=float32)
    """
    before = current_precision.set(name)
    try:
        yield
    finally:
        current_precision.reset(before)


def _device(device: Any) -> Device:
    given = as_device(device)
    return _core.default_device() if given is None else given


class Memory:
    """Memory of a device in bytes, by default of the default device."""

    @staticmethod
    def live(device: Device | None = None) -> int:
        """In use now."""
        return _core.memory_live(_device(device))

    @staticmethod
    def peak(device: Device | None = None) -> int:
        """The most that was in use at once, since the device was opened or reset_peak()."""
        return _core.memory_peak(_device(device))

    @staticmethod
    def cached(device: Device | None = None) -> int:
        """Kept to be used again, beside what is live."""
        return _core.memory_cached(_device(device))

    @staticmethod
    def reset_peak(device: Device | None = None) -> None:
        """Makes peak() begin again."""
        _core.memory_reset_peak(_device(device))

    @staticmethod
    def clear_cache(device: Device | None = None) -> None:
        """Gives back what is cached."""
        _core.memory_clear_cache(_device(device))

    @staticmethod
    def set_limit(limit: int | None, device: Device | None = None) -> None:
        """An allocation that would make more than this live raises MemoryError. None: as much as there is."""
        if limit is not None and not isinstance(limit, int):
            raise TypeError(f"memory.set_limit: limit is {limit!r}, expected a number of bytes or None")
        if limit is not None and not 0 <= limit < 2**64:
            raise ValueError(f"memory.set_limit: limit is {limit}, expected 0 to 2**64 - 1 bytes")
        _core.memory_set_limit(limit, _device(device))


memory = Memory()
