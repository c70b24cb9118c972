"""Devices, precision and memory."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from typing import Any, Iterator, NamedTuple

from . import _core
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
    return _core.default_device() if name is None else _core.open_device(name)


def set_default_device(device: Device | str) -> None:
    """Makes it the device of all threads where none is named."""
    _core.set_default_device(_core.open_device(device) if isinstance(device, str) else device)


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


class Memory:
    """Memory of a device in bytes, by default of the default device."""

    @staticmethod
    def live(device: Device | None = None) -> int:
        """In use now."""
        return _core.memory_live(device or _core.default_device())

    @staticmethod
    def peak(device: Device | None = None) -> int:
        """The most that was in use at once, since the device was opened or reset_peak()."""
        return _core.memory_peak(device or _core.default_device())

    @staticmethod
    def cached(device: Device | None = None) -> int:
        """Kept to be used again, beside what is live."""
        return _core.memory_cached(device or _core.default_device())

    @staticmethod
    def reset_peak(device: Device | None = None) -> None:
        """Makes peak() begin again."""
        _core.memory_reset_peak(device or _core.default_device())

    @staticmethod
    def clear_cache(device: Device | None = None) -> None:
        """Gives back what is cached."""
        _core.memory_clear_cache(device or _core.default_device())

    @staticmethod
    def set_limit(limit: int | None, device: Device | None = None) -> None:
        """An allocation that would make more than this live raises MemoryError. None: as much as there is."""
        _core.memory_set_limit(limit, device or _core.default_device())


memory = Memory()
