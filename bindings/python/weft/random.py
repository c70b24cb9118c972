"""Random numbers: of a key, or of the default generator, which seed() starts. The same numbers on every device."""

from . import _core
from ._functions import fill
from ._other_names import of_module


def seed(seed: int) -> None:
    """Starts the default generator anew: the same seed gives the same numbers afterwards."""
    if not hasattr(seed, "__index__"):
        raise TypeError(f"random.seed: seed is {seed!r}, expected an integer")
    value = seed.__index__()
    if not 0 <= value < 2**64:
        raise ValueError(f"random.seed: seed is {value}, expected 0 to 2**64 - 1")
    _core.seed(value)


__all__ = fill("weft.random", globals()) + ["seed"]
del fill

__getattr__ = of_module("weft.random")
del of_module
