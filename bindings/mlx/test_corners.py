"""Tests what MLX's own leave out of Weft as its GPU: special values, arrays without elements or with many axes, the
memory that products and reads take, and how processes end. Where Metal's kernels and MLX's CPU agree, both are held to
the value; where they do not, Weft's has Metal's (docs/mlx.md lists them).

usage: test_corners.py [TEST...]
WEFT_MLX_WHEEL: the wheel to look into.
"""

import functools
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import zipfile

import mlx.core as mx
import numpy as np

INF, NAN = float("inf"), float("nan")
MIB = 1 << 20
BOTH, GPU = (mx.gpu, mx.cpu), (mx.gpu,)


def on(device, function) -> list[np.ndarray]:
    """The function's arrays, computed there."""
    mx.set_default_device(device)
    try:
        result = function()
        arrays = list(result) if isinstance(result, (list, tuple)) else [result]
        mx.eval(arrays)
        return [np.array(a.astype(mx.float32) if a.dtype == mx.bfloat16 else a) for a in arrays]
    finally:
        mx.set_default_device(mx.gpu)


def leave_numbers_in_memory() -> None:
    """Fills memory that arrays without a value of their own would show."""
    mx.synchronize()
    mx.clear_cache()
    mx.eval([mx.full((size,), 103.0) + 0 for size in (8, 8, 16, 64, 80, 80, 512) for _ in range(4)])
    mx.synchronize()


class Case(unittest.TestCase):
    def expect(self, what: str, function, expected, devices=BOTH, tolerance: float = 0) -> None:
        """Holds what a function gives on each device to the expected arrays."""
        arrays = expected if isinstance(expected, tuple) else (expected,)
        for device in devices:
            with self.subTest(what, device=str(device)):
                got = on(device, function)
                self.assertEqual(len(got), len(arrays))
                for value, wanted in zip(got, arrays):
                    np.testing.assert_allclose(value, np.asarray(wanted), rtol=tolerance, atol=tolerance)

    def alike(self, what: str, function, tolerance: float = 1e-5) -> None:
        """Holds the GPU to the CPU."""
        with self.subTest(what):
            for value, wanted in zip(on(mx.gpu, function), on(mx.cpu, function)):
                self.assertEqual(value.shape, wanted.shape)
                np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


class Numbers(Case):
    def test_sign(self):
        for dtype in (mx.float32, mx.float16, mx.bfloat16):
            x = mx.array([NAN, 0.0, -0.0, INF, -INF, 2.5, -1e-3], dtype)
            self.expect(f"sign of {dtype}", lambda: mx.sign(x), [0, 0, 0, 1, -1, 1, -1])
            self.expect("compiled", lambda: mx.compile(mx.sign)(x), [0, 0, 0, 1, -1, 1, -1])

    def test_quotients(self):
        """The floor is that of the rounded quotient, also of infinities."""
        a = mx.array([1.0, 7.0, -7.0, 7.0, -7.0, INF, -INF, INF, 3.0, -3.0, 3.0, 0.0, NAN, 1.0, -1.0])
        b = mx.array([0.1, 2.0, 2.0, -2.0, -2.0, 2.0, 2.0, INF, INF, INF, -INF, 0.0, 1.0, 0.0, 0.0])
        floors = [10, 3, -4, -4, 3, INF, -INF, NAN, 0, -0.0, -0.0, NAN, NAN, INF, -INF]
        rests = [1 - 9 * np.float32(0.1), 1, 1, -1, -1, NAN, NAN, NAN, 3, INF, -INF, NAN, NAN, NAN, NAN]
        for function in (mx.floor_divide, mx.compile(mx.floor_divide)):
            self.expect("floor_divide", lambda: function(a, b), floors)
        self.expect("divmod", lambda: mx.divmod(a, b), (floors, rests), tolerance=1e-7)
        self.expect("remainder", lambda: mx.remainder(a, b), rests, tolerance=1e-7)
        half = mx.array([1.0, 0.3], mx.float16), mx.array([0.1, 0.1], mx.float16)
        self.expect("float16", lambda: mx.floor_divide(*half), np.floor(np.array([1, 0.3], np.float16) / np.float16(0.1)))
        wide = mx.array([1.0, 0.3], mx.bfloat16), mx.array([0.1, 0.1], mx.bfloat16)
        self.expect("bfloat16", lambda: mx.floor_divide(*wide), [10, 3])

    def test_quotients_of_integers(self):
        """Metal leaves what is divided by 0 open; the CPU has a // 0 = 0 and a % 0 = a, and its divmod ends the process."""
        values = [5, -5, 0, 7, -7, 3, -3]
        a, b = (mx.array(np.array(v, np.int32)) for v in zip(*itertools.product(values, values)))
        floors = [0 if y == 0 else x // y for x, y in itertools.product(values, values)]
        rests = [x if y == 0 else x % y for x, y in itertools.product(values, values)]
        self.expect("divmod of int32", lambda: mx.divmod(a, b), (floors, rests), GPU)
        self.expect("int32", lambda: [mx.floor_divide(a, b), mx.remainder(a, b)], (floors, rests))
        a, b = a.astype(mx.int8), b.astype(mx.int8)
        self.expect("divmod of int8", lambda: mx.divmod(a, b), (floors, rests), GPU)
        self.expect("int8", lambda: [mx.floor_divide(a, b), mx.remainder(a, b)], (floors, rests))
        a, b = mx.array([5, 0, 7], mx.uint32), mx.array([0, 0, 2], mx.uint32)
        self.expect("uint32", lambda: mx.divmod(a, b), ([0, 0, 3], [5, 0, 1]), GPU)
        a, b = mx.array([True, True, False, False]), mx.array([True, False, True, False])
        floors, rests = [True, False, False, False], [False, True, False, False]
        self.expect("bool", lambda: mx.divmod(a, b), (floors, rests), GPU)  # the CPU's quotient is not its own //
        self.expect("bool //", lambda: mx.floor_divide(a, b), floors)
        self.expect("bool %", lambda: mx.remainder(a, b), rests)

    def test_complex_logarithms(self):
        rng = np.random.default_rng(0)
        z = (rng.normal(size=300) * 3 + 1j * rng.normal(size=300) * 3).astype(np.complex64)
        sums = np.logaddexp.accumulate(z.real)  # bounds of the magnitudes
        for reverse, inclusive in itertools.product((False, True), (False, True)):
            with self.subTest("logcumsumexp", reverse=reverse, inclusive=inclusive):
                got, = on(mx.gpu, lambda: mx.logcumsumexp(mx.array(z), 0, reverse=reverse, inclusive=inclusive))
                terms = np.exp(z.astype(np.complex128))[:: -1 if reverse else 1]
                wanted = np.cumsum(terms) if inclusive else np.concatenate([[0], np.cumsum(terms)[:-1]])
                wanted = wanted[:: -1 if reverse else 1]
                largest = np.exp(z.real.astype(np.float64).max())
                np.testing.assert_allclose(np.exp(got.astype(np.complex128)), wanted, atol=2e-5 * largest * len(sums) ** 0.5)
        values = [-INF, -INF, 1 + 1j, INF, 2]
        self.expect("of infinities", lambda: mx.logcumsumexp(mx.array(values, mx.complex64), 0),
                    np.array([-INF, -INF, 1 + 1j, INF, INF], np.complex64), GPU, 1e-6)
        small = mx.array([1e-5 + 1e-6j, -1e-4 + 2e-5j, 0.3 - 0.2j, 2 + 1j, -1.5, 1e-20j], mx.complex64)
        self.expect("log1p", lambda: mx.log1p(small), np.log1p(np.array(small).astype(np.complex128)), tolerance=3e-7)
        self.expect("of small numbers", lambda: mx.log1p(small).real[:2] * 1e5,
                    np.log1p(np.array(small)[:2].astype(np.complex128)).real * 1e5, tolerance=1e-5)

    def test_softmax_of_integers(self):
        x = mx.array([[1, 2, 3], [4, 5, 6]])
        for axis in (0, 1, (0, 1)):
            self.alike(f"softmax along {axis}", lambda: mx.softmax(x, axis))
        self.alike("of uint8", lambda: mx.softmax(x.astype(mx.uint8), 1))
        self.alike("of uint8 down", lambda: mx.softmax(mx.array([[200, 255, 3], [4, 5, 6]], mx.uint8), 0))
        self.alike("of bool", lambda: mx.softmax(x > 2, 1))
        self.alike("of large integers", lambda: mx.softmax(mx.array([[2**30 + 1, 2**30], [4, 5]]), 1))
        self.alike("logsumexp", lambda: mx.logsumexp(x, 0))

    def test_special_values(self):
        """Functions of one and two numbers at their edges, beside the CPU."""
        # 1 / 3e37 is no subnormal number, which may be 0.
        edges = [1.0, -1.0, 0.0, -0.0, INF, -INF, NAN, 7.0, -7.0, 0.5, 2.5, -0.5, 3e37]
        x = mx.array(edges)
        for name in ("abs arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh degrees erf erfinv exp expm1 floor "
                     "isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not negative radians reciprocal "
                     "round rsqrt sigmoid sign sin sinh sqrt square stop_gradient tan tanh").split():
            # The tangent, sine and cosine of large numbers differ by the rounding of the argument.
            if name in ("sin", "cos", "tan"):
                self.alike(name, lambda: getattr(mx, name)(x[:-1]))
            else:
                self.alike(name, lambda: getattr(mx, name)(x))
        a, b = (mx.array(v) for v in zip(*itertools.product(edges, edges)))
        for name in ("add arctan2 divide equal floor_divide greater greater_equal less less_equal logaddexp logical_and "
                     "logical_or maximum minimum multiply not_equal power remainder subtract").split():
            self.alike(name, lambda: getattr(mx, name)(a, b))

    def test_reductions_of_special_values(self):
        rows = [[1, NAN, 3], [NAN, NAN, NAN], [-INF, -INF, -INF], [INF, INF, INF], [INF, -INF, 0], [-INF, 1, 2], [0, -0.0, 0]]
        x = mx.array(rows)
        for name in "argmax argmin max min sum prod mean var logsumexp cummax cummin cumsum cumprod logcumsumexp sort".split():
            self.alike(name, lambda: getattr(mx, name)(x, axis=1))
        self.alike("softmax", lambda: mx.softmax(x, 1))
        self.alike("all", lambda: [mx.all(x, 1), mx.any(x, 1)])


class CrossEntropy(Case):
    LOGITS = [[1, 2, 3], [INF, 1, 2], [1, 2, -INF], [-INF, 1, 2], [3, 2, 1]]
    TARGETS = [-1, 2, 0, 0, -3]

    def test_loss(self):
        logits, targets = mx.array(self.LOGITS, mx.float32), mx.array(self.TARGETS)
        one = np.log(np.exp([1, 2, 3]).sum())
        wanted = [one - 3, INF, np.log(np.exp([1, 2]).sum()) - 1, INF, one - 3]
        self.expect("loss", lambda: mx.fast.cross_entropy(logits, targets), wanted, tolerance=1e-6)

    def test_gradient(self):
        logits, targets = mx.array(self.LOGITS, mx.float32), mx.array(self.TARGETS)
        p = np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum()
        q = np.exp([1, 2]) / np.exp([1, 2]).sum()
        # In a row whose largest logit is infinite its own gradient is NaN; Metal's kernel gives numbers for the others,
        # but for those beside a target of -∞.
        wanted = [p - [0, 0, 1], [NAN, 0, -1], [q[0] - 1, q[1], 0], [NAN] * 3, p[::-1] - [1, 0, 0]]
        gradient = lambda: mx.grad(lambda x: mx.fast.cross_entropy(x, targets).sum())(logits)
        self.expect("gradient", gradient, np.array(wanted), GPU, 1e-6)
        finite = mx.array([self.LOGITS[i] for i in (0, 4)], mx.float32), mx.array([-1, -3])
        self.expect("gradient of negative targets", lambda: mx.grad(lambda x: mx.fast.cross_entropy(x, finite[1]).sum())(finite[0]),
                    np.array([wanted[0], wanted[4]]), BOTH, 1e-6)


class Attention(Case):
    def test_masks_select(self):
        """What a hidden key holds does not count: as if it were not there."""
        rng = np.random.default_rng(1)
        for queries, keys, dtype in itertools.product((1, 5, 40), (9, 70), (mx.float32, mx.float16)):
            q, k, v = (mx.array(rng.normal(size=(2, heads, n, 32))).astype(dtype)
                       for heads, n in ((4, queries), (2, keys), (2, keys)))
            hidden = np.ones((2, 1, queries, keys), bool)
            hidden[..., -1] = hidden[..., 3] = False
            kept = [i for i in range(keys) if i not in (3, keys - 1)]
            wanted = on(mx.gpu, lambda: mx.fast.scaled_dot_product_attention(q, k[:, :, kept], v[:, :, kept], scale=0.2))[0]
            for value in (NAN, INF, -INF):
                spoilt = np.array(k)
                spoilt[:, :, -1] = value
                spoilt[:, :, 3, 5] = value
                for mask in (hidden, hidden[:1, :, :1], np.broadcast_to(hidden, (2, 4, queries, keys))):
                    self.expect(
                        f"{value} in hidden keys of {queries} × {keys} {dtype}, mask {mask.shape}",
                        lambda: mx.fast.scaled_dot_product_attention(q, mx.array(spoilt), v, scale=0.2, mask=mx.array(mask)),
                        wanted.astype(np.float32), BOTH if dtype == mx.float32 else GPU, 2e-5 if dtype == mx.float32 else 4e-3)
                    # Nor what its value holds, which MLX's CPU multiplies by a weight of 0. (Derivatives of masked
                    # attention are MLX's own, of other primitives.)
                    worse = np.array(v)
                    worse[:, :, -1] = worse[:, :, 3] = value
                    self.expect(f"{value} in hidden values of {queries} × {keys} {dtype}, mask {mask.shape}",
                                lambda: mx.fast.scaled_dot_product_attention(
                                    q, mx.array(spoilt), mx.array(worse), scale=0.2, mask=mx.array(mask)),
                                wanted.astype(np.float32), GPU, 2e-5 if dtype == mx.float32 else 4e-3)

    def test_nothing_is_seen(self):
        """A query that sees no key gives 0, as by Metal's kernels; on the CPU the mean of the values."""
        rng = np.random.default_rng(2)
        q, k, v = (mx.array(rng.normal(size=(1, 2, n, 16)), mx.float32) for n in (5, 3, 3))
        mask = mx.array(np.array([[[[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]]], bool))
        got, = on(mx.gpu, lambda: mx.fast.scaled_dot_product_attention(q, k, v, scale=1.0, mask=mask))
        np.testing.assert_array_equal(got[:, :, [1, 3]], 0)
        self.assertTrue(np.isfinite(got).all() and (got[:, :, [0, 2, 4]] != 0).all())
        # Of more queries than keys the last sees all keys, and the first ones none.
        got, = on(mx.gpu, lambda: mx.fast.scaled_dot_product_attention(q, k, v, scale=1.0, mask="causal"))
        np.testing.assert_array_equal(got[:, :, :2], 0)
        np.testing.assert_allclose(got[:, :, 2], np.array(v)[:, :, 0], rtol=1e-6)


class Nothing(Case):
    """Gradients where an array has no elements: zeros, not what was in memory."""

    def setUp(self):
        leave_numbers_in_memory()

    def test_norms(self):
        x, w, b = mx.zeros((0, 8)), mx.ones((8,)), mx.ones((8,))
        self.expect("rms_norm", lambda: mx.grad(lambda w: mx.fast.rms_norm(x, w, 1e-5).sum())(w), np.zeros(8))
        self.expect("layer_norm", lambda: mx.grad(lambda w, b: mx.fast.layer_norm(x, w, b, 1e-5).sum(), (0, 1))(w, b),
                    (np.zeros(8), np.zeros(8)))
        self.expect("without a scale", lambda: mx.grad(lambda b: mx.fast.layer_norm(x, None, b, 1e-5).sum())(b), np.zeros(8))
        self.expect("of x", lambda: mx.grad(lambda x: mx.fast.rms_norm(x, w, 1e-5).sum())(x), np.zeros((0, 8)))

    def test_attention(self):
        k, v = mx.ones((1, 2, 5, 8)), mx.ones((1, 2, 5, 8))
        def gradients(q):
            return mx.grad(lambda q, k, v: mx.fast.scaled_dot_product_attention(q, k, v, scale=1.0).sum(), (0, 1, 2))(q, k, v)
        self.expect("no queries", lambda: gradients(mx.zeros((1, 2, 0, 8))),
                    (np.zeros((1, 2, 0, 8)), np.zeros((1, 2, 5, 8)), np.zeros((1, 2, 5, 8))))
        none = mx.zeros((1, 2, 0, 8))
        self.expect("no keys", lambda: mx.grad(lambda q: mx.fast.scaled_dot_product_attention(q, none, none, scale=1.0).sum())(mx.ones((1, 2, 3, 8))),
                    np.zeros((1, 2, 3, 8)), GPU)

    def test_others(self):
        w = mx.ones((8, 4))
        self.expect("matmul", lambda: mx.grad(lambda w: (mx.zeros((0, 8)) @ w).sum())(w), np.zeros((8, 4)))
        self.expect("convolution", lambda: mx.conv1d(mx.zeros((0, 9, 4)), mx.ones((3, 3, 4))), np.zeros((0, 7, 3)), GPU)
        self.expect("cross entropy", lambda: mx.grad(lambda w: mx.fast.cross_entropy(mx.zeros((0, 8)) @ w, mx.zeros((0,), mx.int32)).sum())(w),
                    np.zeros((8, 4)), GPU)
        self.expect("sums", lambda: [mx.sum(mx.zeros((0, 3)), 0), mx.prod(mx.zeros((0, 3)), 0)], (np.zeros(3), np.ones(3)))


class ManyAxes(Case):
    """Nine axes and ten, one more than Weft's kernels take, and two."""

    def setUp(self):
        rng = np.random.default_rng(3)
        self.dense = rng.normal(size=(2, 1, 3, 2, 1, 2, 2, 1, 4)).astype(np.float32)
        self.wide = rng.normal(size=(2, 2, 1, 2, 3, 1, 2, 2, 2, 4)).astype(np.float32)

    def arrays(self):
        """Dense ones, and one whose axes cannot be merged."""
        yield mx.array(self.dense)
        yield mx.array(self.wide)
        yield mx.array(np.ascontiguousarray(self.wide.transpose(3, 1, 8, 0, 5, 6, 7, 4, 2, 9))).transpose(3, 1, 8, 0, 4, 7, 6, 5, 2, 9)

    def each(self, name, function, tolerance=1e-5):
        for x in self.arrays():
            self.alike(f"{name} of {x.shape}", functools.partial(function, x), tolerance)

    def test_along_an_axis(self):
        for axis in (0, 3, -1):
            for name in ("argmax argmin cumsum cumprod cummax cummin logcumsumexp sort argsort softmax logsumexp max min "
                         "sum prod mean var all any").split():
                self.each(f"{name} along {axis}", lambda x: getattr(mx, name)(x, axis=axis))
            self.each(f"partition along {axis}", lambda x: mx.sort(mx.partition(x, 1, axis=axis), axis=axis))
            self.each(f"argpartition along {axis}", lambda x: mx.sort(mx.argpartition(x, 1, axis=axis), axis=axis))
            self.each(f"reverse scan along {axis}", lambda x: mx.cumsum(x, axis=axis, reverse=True, inclusive=False))
            self.each(f"complex sort along {axis}", lambda x: mx.sort(x + 1j * x, axis=axis))
            self.each(f"complex scan along {axis}", lambda x: mx.cummax(x + 1j * x, axis=axis))

    def test_indices(self):
        for axis in (0, 3, -1):
            self.each(f"take along {axis}", lambda x: mx.take(x, mx.array([[0, 1], [-1, 0]]), axis=axis))
            order = lambda x: mx.argsort(x, axis=axis)
            self.each(f"take_along_axis {axis}", lambda x: mx.take_along_axis(x, order(x), axis=axis))
            self.each(f"put_along_axis {axis}", lambda x: mx.put_along_axis(x, order(x), 2 * x, axis=axis))
        first, second = mx.array([0, 1, -1]), mx.array([1, 0, 1])
        self.each("two lists", lambda x: x[first, :, mx.array([0, 0, 0])])
        self.each("a list and slices", lambda x: x[0, ..., first])
        self.each("a matrix of indices", lambda x: x[mx.array([[0, 1], [1, -1]])])
        def updated(how):
            return lambda x: getattr(mx.array(x).at[first], how)(mx.full((3, *x.shape[1:]), 2.0))
        for how in ("add", "multiply", "maximum", "minimum"):
            self.each(how, updated(how))
        def assigned(x):
            y = mx.array(x)
            y[mx.array([1, 0])] = 5 * x
            y[..., 1:3] = 7
            y[..., mx.array([3, 0])] = -1
            return y
        self.each("assigned", assigned)
        def masked(x):
            y = mx.array(x)
            y[y > 0] = 0
            return y
        self.each("by a mask", masked)
        self.each("gradient of take", lambda x: mx.grad(lambda x: (mx.take(x, first, axis=-1) ** 2).sum())(x))
        self.each("searchsorted", lambda x: mx.searchsorted(mx.array([-1.0, 0.0, 1.0]), x) if hasattr(mx, "searchsorted") else x)
        self.each("slice_update", lambda x: mx.slice_update(x, mx.zeros((1,) * x.ndim), mx.array([0, 0]), axes=[0, 2]))
        self.each("slice", lambda x: mx.slice(x, mx.array([1, 0]), [0, 2], (1, *x.shape[1:])))

    def test_products(self):
        w = mx.array(np.random.default_rng(4).normal(size=(4, 3)).astype(np.float32))
        self.each("matmul", lambda x: x @ w)
        self.each("matmul of both", lambda x: x @ x.swapaxes(-1, -2))
        self.each("addmm", lambda x: mx.addmm(mx.ones((3,)), x, w, 2.0, 0.5))
        self.each("complex matmul", lambda x: (x + 1j * x) @ x.swapaxes(-1, -2).astype(mx.complex64))
        self.each("block_masked_mm", lambda x: mx.block_masked_mm(
            mx.tile(x, (1,) * (x.ndim - 2) + (32, 8)), mx.tile(x.swapaxes(-1, -2), (1,) * (x.ndim - 2) + (8, 32)), 32,
            mx.array([[True, False], [False, True]])[: (x.shape[-2] * 32 + 31) // 32, : (x.shape[-2] * 32 + 31) // 32]), 1e-3)
        self.each("gather_mm", lambda x: mx.gather_mm(mx.stack([x[0], x[1]]), x.swapaxes(-1, -2), mx.array([0, 1]), mx.array([1, 0])))

    def test_transforms(self):
        for axis in (0, 3, -1):
            self.each(f"fft {axis}", lambda x: mx.fft.fft(x, axis=axis))
            self.each(f"rfft {axis}", lambda x: mx.fft.rfft(x, axis=axis))
            self.each(f"irfft {axis}", lambda x: mx.fft.irfft(mx.fft.fft(x, axis=axis), axis=axis))
        self.each("fftn", lambda x: mx.fft.fftn(x, axes=(0, 2, -1)))
        self.each("rfftn", lambda x: mx.fft.rfftn(x, axes=(2, 3, -1)))
        self.each("irfftn", lambda x: mx.fft.irfftn(mx.fft.rfftn(x, axes=(2, 3, -1)), axes=(2, 3, -1)))
        self.each("hadamard_transform", lambda x: mx.hadamard_transform(x))

    def test_norms_and_losses(self):
        w, b = mx.array([1.0, -2.0, 0.5, 3.0]), mx.array([0.1, 0.2, 0.3, 0.4])
        self.each("rms_norm", lambda x: mx.fast.rms_norm(x, w, 1e-5))
        self.each("layer_norm", lambda x: mx.fast.layer_norm(x, w, b, 1e-5))
        self.each("rms_norm's gradients", lambda x: mx.grad(lambda x, w: (mx.fast.rms_norm(x, w, 1e-5) ** 3).sum(), (0, 1))(x, w), 1e-3)
        self.each("layer_norm's gradients", lambda x: mx.grad(lambda x, w, b: (mx.fast.layer_norm(x, w, b, 1e-5) ** 3).sum(), (0, 1, 2))(x, w, b), 1e-3)
        self.each("layer_norm's gradients without a scale", lambda x: mx.grad(lambda x, b: (mx.fast.layer_norm(x, None, b, 1e-5) ** 3).sum(), (0, 1))(x, b), 1e-3)
        targets = lambda x: mx.argmax(x * 1.7 + 0.3 * x * x, axis=-1) - 4 * (x[..., 0] > 0)
        self.each("cross_entropy", lambda x: mx.fast.cross_entropy(x, targets(x)))
        self.each("cross_entropy's gradient", lambda x: mx.grad(lambda y: mx.fast.cross_entropy(y, targets(x)).sum())(x))
        self.each("rope", lambda x: mx.fast.rope(x, 4, traditional=False, base=100.0, scale=1.0, offset=3))

    def test_movement(self):
        self.each("broadcast", lambda x: x + x[:1, ..., :1])
        self.each("concatenate", lambda x: mx.concatenate([x, 2 * x], axis=2))
        self.each("pad", lambda x: mx.pad(x, 1, constant_values=3.0))
        self.each("transpose", lambda x: mx.contiguous(x.transpose(*range(x.ndim)[::-1])))
        self.each("reshape", lambda x: x.reshape(-1, 2))
        self.each("roll", lambda x: mx.roll(x, 1, axis=-1))
        self.each("where", lambda x: mx.where(x > 0, x, -x))
        self.each("compiled", lambda x: mx.compile(lambda a: mx.exp(a) * a[..., :1])(x))
        self.each("fp8", lambda x: mx.from_fp8(mx.to_fp8(x), mx.float32))
        self.each("random numbers", lambda x: mx.random.uniform(shape=x.shape, key=mx.random.key(3)))

    def test_quantized(self):
        x = mx.array(np.random.default_rng(5).normal(size=(2, 1, 2, 1, 2, 1, 2, 2, 32, 64)).astype(np.float32))
        self.alike("quantize", lambda: mx.quantize(x, 32, 4))
        self.alike("dequantize", lambda: mx.dequantize(*mx.quantize(x, 32, 4), 32, 4))
        w = mx.array(np.random.default_rng(6).normal(size=(32, 64)).astype(np.float32))
        self.alike("quantized_matmul", lambda: mx.quantized_matmul(x, *mx.quantize(w, 32, 4), group_size=32, bits=4), 1e-3)
        self.alike("of many matrices", lambda: mx.quantized_matmul(x[..., :3, :], *mx.quantize(x, 32, 4), group_size=32, bits=4), 1e-3)


class Booleans(Case):
    def test_updates(self):
        """Sums of booleans are whether one is true, products whether all are, and extremes likewise."""
        x, at = mx.array([True, False, False, True]), mx.array([0, 1, 3, 3])
        given = mx.array([False, True, False, True])
        self.expect("add", lambda: x.at[at].add(given), [True, True, False, True])
        self.expect("multiply", lambda: x.at[at].multiply(given), [False, False, False, False])
        self.expect("maximum", lambda: x.at[at].maximum(given), [True, True, False, True])
        self.expect("minimum", lambda: x.at[at].minimum(given), [False, False, False, False])
        self.expect("add to a slice", lambda: x.at[1:3].add(True), [True, True, True, True])
        self.expect("multiply a slice", lambda: x.at[0:2].multiply(False), [False, False, False, True])
        rows = mx.array([[True, False], [False, False]])
        self.expect("rows", lambda: rows.at[mx.array([1, 1])].add(mx.array([[False, True], [False, False]])), [[True, False], [False, True]])


class Memory(Case):
    """Bytes that products and reads take beside their operands and results."""

    def peak(self, function) -> tuple[mx.array, int, float]:
        """The function's array, the bytes in use at most beside those before, and seconds."""
        mx.synchronize()
        before = mx.get_active_memory()
        mx.reset_peak_memory()
        start = time.perf_counter()
        result = function()
        mx.eval(result)
        mx.synchronize()
        seconds = time.perf_counter() - start
        return result, mx.get_peak_memory() - before, seconds

    def test_gather_mm(self):
        rng = np.random.default_rng(7)
        rows, experts, k, n = 2048, 8, 512, 1024
        x, w = rng.normal(size=(rows, 1, k)).astype(np.float32), rng.normal(size=(experts, k, n)).astype(np.float32)
        chosen = rng.integers(0, experts, rows)
        gx, gw, at = mx.array(x), mx.array(w), mx.array(chosen.astype(np.uint32))
        mx.eval(gx, gw, at)
        y, peak, seconds = self.peak(lambda: mx.gather_mm(gx, gw, rhs_indices=at))
        print(f"gather_mm of {rows} rows, {experts} × {k} × {n}: {peak / MIB:.1f} MiB, {seconds:.2f} s", flush=True)
        self.assertLessEqual(peak, 2 * (y.nbytes + gx.nbytes))
        some = rng.integers(0, rows, 40)
        np.testing.assert_allclose(np.array(y)[some], np.einsum("rmk,rkn->rmn", x[some], w[chosen[some]]), rtol=1e-3, atol=1e-3)
        # Of transposed weights, as layers have them, and of matrices that are the left operand.
        y, peak, _ = self.peak(lambda: mx.gather_mm(gx, mx.swapaxes(mx.swapaxes(gw, 1, 2) + 0, 1, 2), rhs_indices=at))
        self.assertLessEqual(peak, 2 * (y.nbytes + gx.nbytes) + gw.nbytes)
        z, peak, _ = self.peak(lambda: mx.gather_mm(mx.swapaxes(gw, 1, 2), mx.swapaxes(gx, 1, 2), at, None))
        self.assertLessEqual(peak, 2 * (z.nbytes + gx.nbytes))
        np.testing.assert_allclose(np.array(z)[..., 0], np.array(y)[:, 0], rtol=1e-3, atol=1e-3)

    def test_segmented_mm(self):
        rng = np.random.default_rng(8)
        m, k, n, segments = 256, 2048, 512, 32
        a, b = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, n)).astype(np.float32)
        ends = np.sort(rng.integers(0, k, segments - 1))
        bounds = np.stack([np.concatenate([[0], ends]), np.concatenate([ends, [k]])], 1).astype(np.uint32)
        ga, gb, at = mx.array(a), mx.array(b), mx.array(bounds)
        mx.eval(ga, gb, at)
        y, peak, seconds = self.peak(lambda: mx.segmented_mm(ga, gb, at))
        print(f"segmented_mm of {segments} segments, {m} × {k} × {n}: {peak / MIB:.1f} MiB, {seconds:.2f} s", flush=True)
        self.assertLessEqual(peak, y.nbytes + MIB)
        wanted = np.stack([a[:, p:q] @ b[p:q] for p, q in bounds])
        np.testing.assert_allclose(np.array(y), wanted, rtol=1e-3, atol=1e-2)

    def test_temporaries_count(self):
        """A sort of complex numbers has intermediate results, which are in the peak and not in use afterwards."""
        z = mx.array(np.random.default_rng(9).normal(size=MIB).astype(np.float32)).astype(mx.complex64)
        mx.eval(z)
        y, peak, _ = self.peak(lambda: mx.sort(z))
        self.assertGreater(peak, y.nbytes + 8 * MIB)
        before = mx.get_active_memory()
        del y
        mx.synchronize()
        self.assertLessEqual(mx.get_active_memory(), before - 8 * MIB)

    def test_reading_a_part(self):
        """An element of 128 MiB: neither all of it is read, nor has the host a half of it."""
        x = mx.arange(32 * MIB, dtype=mx.float32).reshape(32, 1024, 1024) + 0
        mx.eval(x)
        x[0, 0, 0].item()
        before = resident()
        start = time.perf_counter()
        self.assertEqual(x[7, 3, 5].item(), 7 * MIB + 3 * 1024 + 5)
        seconds = time.perf_counter() - start
        print(f"an element of 128 MiB: {seconds * 1000:.1f} ms, +{(resident() - before) / MIB:.1f} MiB", flush=True)
        self.assertLess(resident() - before, 16 * MIB)
        np.testing.assert_array_equal(np.array(x[3, 10:12, ::4]), np.arange(32 * MIB, dtype=np.float32).reshape(32, 1024, 1024)[3, 10:12, ::4])
        np.testing.assert_array_equal(np.array(x[3, 12:10:-1, ::-2]), np.arange(32 * MIB, dtype=np.float32).reshape(32, 1024, 1024)[3, 12:10:-1, ::-2])
        self.assertLess(resident() - before, 16 * MIB)
        # A part of a part, and kernels that read parts the host has read, or not.
        part = x[5, 100:200]
        small = part[3, 7:9]
        mx.eval(part, small)
        self.assertEqual(small.tolist(), [5 * MIB + 103 * 1024 + 7, 5 * MIB + 103 * 1024 + 8])
        self.assertEqual((part[3, 7:9] + small).tolist(), [2 * v for v in small.tolist()])
        # A part outlives the whole.
        del x
        self.assertEqual((part + 1)[99, 1023].item(), 5 * MIB + 199 * 1024 + 1023 + 1)
        self.assertEqual(part[0, 0].item(), 5 * MIB + 100 * 1024)

    def test_host_half_goes(self):
        """What was read whole has a half of the host, which goes with the array."""
        for _ in range(3):
            x = mx.zeros((8 * MIB,)) + 1
            np.array(x)
            del x
        before = resident()
        for _ in range(4):
            x = mx.zeros((8 * MIB,)) + 1
            np.array(x)
            del x
        mx.synchronize()
        self.assertLess(resident() - before, 40 * MIB)


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class ProcessEnd(unittest.TestCase):
    def run_script(self, text: str, seconds: float = 60) -> tuple[int, str]:
        command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        return done.returncode, done.stdout + done.stderr

    def test_forked_child(self):
        """A child that exits normally does: with its status, what it printed, and its own handlers called."""
        for state in ("mx.eval(a)", "mx.async_eval(a)", "a.tolist()", "pass"):
            with self.subTest(state):
                status, text = self.run_script(f"""
                    import os, sys, atexit, time
                    import mlx.core as mx
                    mx.set_default_device(mx.gpu)
                    a = mx.matmul(mx.ones((300, 300)), mx.ones((300, 300))) + 1
                    {state}
                    child = os.fork()
                    if child == 0:
                        atexit.register(lambda: print("bye"))
                        print("child")
                        sys.exit(7)
                    for _ in range(200):
                        done, status = os.waitpid(child, os.WNOHANG)
                        if done: break
                        time.sleep(0.05)
                    else:
                        os.kill(child, 9)
                        raise SystemExit("the child hangs")
                    assert os.waitstatus_to_exitcode(status) == 7, status
                    assert (a[0, 0] + 1).item() == 302
                """)
                self.assertEqual(status, 0, text)
                self.assertEqual(text.split(), ["child", "bye"], text)

    def test_gpu_in_a_forked_child(self):
        """The GPU is refused by name, and arrays that the host has can be read."""
        status, text = self.run_script("""
            import os, sys
            import mlx.core as mx
            mx.set_default_device(mx.gpu)
            a = mx.ones((4,)) + 1
            a.tolist()
            child = os.fork()
            if child == 0:
                assert a.tolist() == [2, 2, 2, 2]
                try:
                    mx.eval(a + 1)
                except RuntimeError as e:
                    assert "fork" in str(e), e
                    sys.exit(3)
                sys.exit(4)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        """)
        self.assertEqual(status, 0, text)

    def test_daemon_threads(self):
        """Threads that compute when the process ends do not bring it down. (Before Python 3.14 Python itself ends such
        threads in the middle of functions of C++, with MLX's CPU as well.)"""
        if sys.version_info < (3, 14):
            self.skipTest("Python ends daemon threads by unwinding")
        failures = []
        for turn in range(int(os.environ.get("WEFT_MLX_ENDS", "40"))):
            status, text = self.run_script(f"""
                import threading, time
                import mlx.core as mx
                mx.set_default_device(mx.gpu)
                def work(i):
                    mx.set_default_device(mx.gpu)
                    a = mx.ones((64, 64))
                    while True:
                        b = mx.matmul(a, a) * 0.01
                        mx.eval(b)
                        if i % 2: b[0, 0].item()
                for i in range(3): threading.Thread(target=work, args=(i,), daemon=True).start()
                time.sleep({0.05 + turn % 10 * 0.013})
            """)
            if status != 0:
                failures.append((status, text[-300:]))
        self.assertEqual(failures, [])


class Wheel(unittest.TestCase):
    def test_loads_with_older_systems(self):
        """What the wheel holds finds all that it loads in itself or in the C library of its tag."""
        path = os.environ.get("WEFT_MLX_WHEEL")
        if not path:
            self.skipTest("WEFT_MLX_WHEEL names no wheel")
        sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "cmake" / "environment"))
        import portable_libraries

        with tempfile.TemporaryDirectory() as directory, zipfile.ZipFile(path) as wheel:
            wheel.extractall(directory)
            libraries = sorted(pathlib.Path(directory, "mlx", "lib").iterdir())
            newest = portable_libraries.needed_version(libraries)
            self.assertLessEqual(newest, portable_libraries.LATEST)
            self.assertIn("manylinux_" + "_".join(map(str, newest)) + "_", path)
            names = {library.name for library in libraries}
            for library in libraries:
                for needed in portable_libraries.run("patchelf", "--print-needed", library).split():
                    self.assertTrue(needed in names or portable_libraries.SYSTEM.match(needed), f"{library.name} loads {needed}")
            # Names of their own, so that those of the system or of other packages are not taken for them.
            for library in libraries:
                if library.name != "libmlx.so":
                    self.assertRegex(library.name, r"-[0-9a-f]{8}\.so")


if __name__ == "__main__":
    mx.set_default_device(mx.gpu)
    unittest.main(verbosity=2)
