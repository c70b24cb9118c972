"""Layers of neural networks as functions: activations, norms, products, pools, attention."""

from ._functions import fill

__all__ = fill("weft.nn", globals())
del fill
