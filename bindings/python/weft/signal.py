"""Filters, windows, convolutions and short-time Fourier transforms."""

from ._array_api import convolve, correlate
from ._functions import fill

__all__ = fill("weft.signal", globals()) + ["convolve", "correlate"]
del fill
