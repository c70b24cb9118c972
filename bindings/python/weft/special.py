"""Special functions of single elements."""

from ._functions import fill

__all__ = fill("weft.special", globals())
del fill
