"""What NumPy prints for the arrays of tests/tensor/print_test.cc."""
import numpy as np

f = np.float32
thirds = np.array([1 / 3, 2 / 3, 100])
arrays = [f([1, 2.5, 3]), f([[1, 2.5, 3], [4, 5, -6]]), f(np.arange(24).reshape(2, 3, 4)), f(3.5), f([0.1, 0.25]),
          f([1e10, 1.5]), f([1e-5, 1]), f([np.nan, 1, -np.inf]), f([-0.0, 1]), f(thirds), f([]), f(np.arange(40) / 7),
          f(np.arange(2000)), f(np.arange(2000).reshape(50, 40)), np.array([1, -20, 300]), np.array([True, False]),
          np.array([0.1, 0.25], np.float16), np.array([1 + 2j, -0.5 - 3j], np.complex64), np.arange(30) * 1000]
for array in arrays:
    print(array, end="\n\n")
