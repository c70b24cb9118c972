"""Filters, windows, convolutions and short-time Fourier transforms."""

from ._functions import fill

__all__ = fill("weft.signal", globals())
del fill
