"""Quantised numbers and weights."""

from ._functions import fill

__all__ = fill("weft.quantized", globals())
del fill
