"""Random numbers: of a key, or of the default generator, which seed() starts. The same numbers on every device."""

from ._core import seed
from ._functions import fill

__all__ = fill("weft.random", globals()) + ["seed"]
del fill
