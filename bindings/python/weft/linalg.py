"""Linear algebra: decompositions, systems, norms and products of matrices, which are the last two axes."""

from ._array_api import cond, matmul, matrix_norm, matrix_rank, pinv, tensordot
from ._functions import fill
from ._other_names import of_module

__all__ = fill("weft.linalg", globals()) + ["cond", "matmul", "matrix_norm", "matrix_rank", "pinv", "tensordot"]
del fill

__getattr__ = of_module("weft.linalg")
del of_module
