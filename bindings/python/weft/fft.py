"""Fourier transforms of any length."""

from ._array_api import fftfreq, rfftfreq
from ._functions import fill
from ._other_names import of_module

__all__ = fill("weft.fft", globals()) + ["fftfreq", "rfftfreq"]
del fill

__getattr__ = of_module("weft.fft")
del of_module
