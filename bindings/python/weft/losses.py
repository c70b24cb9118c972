"""Losses: cross entropies, squares and their kin."""

from ._functions import fill

__all__ = fill("weft.losses", globals())
del fill
