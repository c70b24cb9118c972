"""Fourier transforms of any length."""

from ._array_api import fftfreq, rfftfreq
from ._functions import fill

__all__ = fill("weft.fft", globals()) + ["fftfreq", "rfftfreq"]
del fill
