"""The functions of the array API standard beside array-api-strict's, over types, axes and options."""

import itertools
import operator
import warnings

import numpy as np
import pytest

import weft as wf

strict = pytest.importorskip("array_api_strict")
on_gpu = wf.device().is_gpu

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32"] if on_gpu else ["float32", "float64"]
TYPES = ["bool", *INTEGERS, *FLOATS, "complex64"]
# The standard's defaults are others here (float32, int32, complex64), which it allows.
DEFAULTS = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def values(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("uint"):
        return rng.integers(1, 6, shape).astype(dtype)
    if dtype.startswith("int"):
        return rng.integers(-5, 6, shape).astype(dtype)
    if dtype == "complex64":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def name_of(dtype):
    return str(dtype).rpartition(".")[2]


def compare(got, expected, tolerance):
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            compare(g, e, tolerance)
        return
    if not hasattr(expected, "dtype"):
        assert got == expected
        return
    a, b = np.asarray(got), np.asarray(expected)
    assert a.shape == b.shape
    kind = "complex128" if b.dtype.kind == "c" else "float64"
    np.testing.assert_allclose(a.astype(kind), b.astype(kind), rtol=tolerance, atol=tolerance)
    own, its = name_of(got.dtype), name_of(expected.dtype)
    assert own == its or own == DEFAULTS.get(its), f"{own}, expected {its}"


def check(function, *arrays, tolerance=2e-5, required=False):
    """function(namespace, arrays…) of both; what array-api-strict refuses need not work, unless that is `required`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = function(strict, *[strict.asarray(x) for x in arrays])
        except (TypeError, ValueError):
            if required:
                raise
            return
        compare(function(wf, *[wf.asarray(x) for x in arrays]), expected, tolerance)


UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan
log log1p log2 log10 logical_not negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc
real""".split()
ABOVE_ONE = {"acosh"}
WITHIN_ONE = {"acos", "asin", "atanh", "log", "log1p", "log2", "log10", "sqrt"}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", TYPES)
def test_unary(name, dtype):
    x = values(dtype, (3, 4))
    if x.dtype.kind == "f" and name in ABOVE_ONE:
        x = np.abs(x) + 1
    if x.dtype.kind == "f" and name in WITHIN_ONE:
        x = np.abs(x) / 4
    check(lambda m, x: getattr(m, name)(x), x)


BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum
multiply nextafter not_equal pow remainder subtract""".split()


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", TYPES)
def test_binary(name, dtype):
    x, y = values(dtype, (3, 4)), values(dtype, (4,), 1)
    if ("shift" in name or name == "pow") and y.dtype.kind in "fi":
        x, y = np.abs(x), np.abs(y)
    if y.dtype.kind in "iu":
        y[y == 0] = 1
    check(lambda m, x, y: getattr(m, name)(x, y), x, y)


@pytest.mark.parametrize("pair", list(itertools.product(TYPES, TYPES)), ids="-".join)
def test_promotion(pair):
    if sorted(pair) == ["complex64", "float64"]:
        pytest.skip("their common type is complex128, which Weft does not have")
    x, y = values(pair[0], (2, 3)), values(pair[1], (3,))
    for name in ("add", "multiply", "equal", "maximum"):
        check(lambda m, x, y: getattr(m, name)(x, y), x, y)


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
             operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, operator.and_, operator.or_,
             operator.xor]  # fmt: skip


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", TYPES)
def test_operators_with_weak_numbers(function, dtype):
    x = np.abs(values(dtype, (2, 3)))
    if x.dtype.kind in "iu":
        x[x == 0] = 1
    x = x.astype(dtype)
    for number in (True, 2, 2.5, 1j):
        if isinstance(number, complex) and (dtype == "float64" or function in OPERATORS[7:9] + OPERATORS[11:13]):
            continue
        check(lambda m, x: function(x, number), x)
        check(lambda m, x: function(number, x), x)


@pytest.mark.parametrize("name", "sum prod mean std var min max any all argmax argmin count_nonzero".split())
@pytest.mark.parametrize("dtype", TYPES)
def test_reductions(name, dtype):
    x = values(dtype, (2, 3, 2))
    for axis, keepdims in itertools.product((None, 0, 1, -1, (0, 2), ()), (False, True)):
        check(lambda m, x: getattr(m, name)(x, axis=axis, keepdims=keepdims), x)  # noqa: B023


MOVES = {
    "cumulative_sum": lambda m, x: m.cumulative_sum(x, axis=1),
    "cumulative_sum_initial": lambda m, x: m.cumulative_sum(x, axis=1, include_initial=True),
    "cumulative_prod": lambda m, x: m.cumulative_prod(x[:1, :2, :], axis=1),
    "sort": lambda m, x: m.sort(x, axis=1),
    "sort_descending": lambda m, x: m.sort(x, axis=1, descending=True),
    "argsort": lambda m, x: m.argsort(x, axis=1),
    "argsort_descending": lambda m, x: m.argsort(x, axis=1, descending=True),
    "nonzero": lambda m, x: m.nonzero(x),
    "tril": lambda m, x: m.tril(x, k=1),
    "triu": lambda m, x: m.triu(x, k=-1),
    "concat": lambda m, x: m.concat([x, x], axis=1),
    "concat_flattened": lambda m, x: m.concat([x, x], axis=None),
    "stack": lambda m, x: m.stack([x, x], axis=1),
    "permute_dims": lambda m, x: m.permute_dims(x, (2, 0, 1)),
    "flip": lambda m, x: m.flip(x),
    "flip_axis": lambda m, x: m.flip(x, axis=(0, 2)),
    "roll": lambda m, x: m.roll(x, 2),
    "roll_axes": lambda m, x: m.roll(x, (1, 2), axis=(0, 2)),
    "repeat": lambda m, x: m.repeat(x, 2),
    "repeat_axis": lambda m, x: m.repeat(x, 2, axis=1),
    "repeat_array": lambda m, x: m.repeat(x, m.asarray([1, 0, 2]), axis=1),
    "take": lambda m, x: m.take(x, m.asarray([2, 0]), axis=1),
    "take_along_axis": lambda m, x: m.take_along_axis(x, m.argsort(x, axis=1), axis=1),
    "tile": lambda m, x: m.tile(x, (2, 1, 1, 3)),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, -1),
    "expand_dims": lambda m, x: m.expand_dims(x, axis=1),
    "squeeze": lambda m, x: m.squeeze(x[:1, ...], axis=0),
    "reshape": lambda m, x: m.reshape(x, (4, -1)),
    "unstack": lambda m, x: m.unstack(x, axis=1),
    "diff": lambda m, x: m.diff(x),
    "searchsorted": lambda m, x: m.searchsorted(m.sort(m.reshape(x, (-1,))), m.reshape(x, (-1,)), side="right"),
    "meshgrid": lambda m, x: m.meshgrid(x[0, 0, :], x[0, :, 0]),
    "meshgrid_ij": lambda m, x: m.meshgrid(x[0, 0, :], x[0, :, 0], indexing="ij"),
    "where": lambda m, x: m.where(m.asarray([True, False, True, False]), x, x[0, 0, :]),
    "clip": lambda m, x: m.clip(x, 0, 2),
    "clip_max": lambda m, x: m.clip(x, max=2),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (2, 2, 3, 4)),
    "matmul": lambda m, x: m.matmul(x, m.matrix_transpose(x)),
    "tensordot": lambda m, x: m.tensordot(x, x, axes=((0, 1), (0, 1))),
    "tensordot_0": lambda m, x: m.tensordot(x[0, 0, :], x, axes=0),
    "vecdot": lambda m, x: m.vecdot(x, x),
    "isin": lambda m, x: m.isin(x, x[0, 0, :]),
    "zeros_like": lambda m, x: m.zeros_like(x),
    "full_like": lambda m, x: m.full_like(x, 1),
    **{f"astype_{t}": lambda m, x, t=t: m.astype(m.abs(x) if m.isdtype(x.dtype, "numeric") else x, getattr(m, t)) for t in TYPES},
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("dtype", TYPES)
def test_manipulation(name, dtype):
    if name in ("sort", "sort_descending", "argsort", "argsort_descending", "searchsorted") and dtype == "complex64":
        pytest.skip("complex numbers have no order")
    if name == "isin" and not hasattr(strict, "isin"):
        pytest.skip("array-api-strict does not have it")
    check(MOVES[name], values(dtype, (2, 3, 4)), required=dtype == ("int32" if name == "isin" else "float32"))


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
@pytest.mark.parametrize("dtype", TYPES)
def test_sets(name, dtype):
    x = values(dtype, (3, 5))
    check(lambda m, x: getattr(m, name)(x), x)
    got = getattr(wf, name)(wf.asarray(x))
    if name != "unique_values":
        assert got._fields == getattr(strict, name)(strict.asarray(x))._fields


CREATION = ["m.arange(5)", "m.arange(1, 5, 2)", "m.arange(5.0)", "m.arange(5, 0, -1)", "m.linspace(0, 1, 5)",
            "m.linspace(0, 10, 5, endpoint=False)", "m.eye(3)", "m.eye(3, 4, k=1)", "m.zeros((2, 3))",
            "m.ones(3, dtype=m.int8)", "m.full((2,), 3)", "m.full((2,), True)", "m.full((2,), 1j)", "m.full((), 2.5)",
            "m.full((2,), 2.5, dtype=m.float32)", "m.zeros(())", "m.asarray([[1, 2], [3, 4]])", "m.asarray([1.5, 2])",
            "m.asarray([True, False])", "m.asarray(2 + 1j)", "m.asarray([])", "m.arange(3, dtype=m.int16)",
            "m.fft.fftfreq(8)", "m.fft.rfftfreq(8, d=0.5)"]  # fmt: skip


@pytest.mark.parametrize("text", CREATION)
def test_creation(text):
    check(lambda m: eval(text, {"m": m}), required=True)


LINALG = ["inv(x)", "det(x)", "svdvals(x)", "matrix_norm(x)", "matrix_norm(x, ord=2)", "matrix_norm(x, ord=-1)",
          "matrix_norm(x, ord='nuc', keepdims=True)", "vector_norm(x)", "vector_norm(x, axis=1, ord=float('inf'))",
          "vector_norm(x, axis=(0, 1), keepdims=True, ord=1)", "matrix_power(x, 3)", "matrix_power(x, -2)",
          "matrix_rank(x)", "pinv(x)", "slogdet(x)", "solve(x, x)", "solve(x, x[..., 0, 0, :])", "trace(x)",
          "trace(x, offset=1)", "diagonal(x, offset=1)", "cross(x[..., :3], x[..., :3])", "outer(x[0, 0, :], x[0, 1, :])",
          "eigvalsh(x + m.conj(m.matrix_transpose(x)))", "matmul(x, x)", "vecdot(x, x)", "tensordot(x[0, ...], x[1, ...], axes=1)",
          "cholesky(m.matmul(x, m.conj(m.matrix_transpose(x))) + m.eye(4, dtype=x.dtype))"]  # fmt: skip


@pytest.mark.parametrize("text", LINALG)
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_linalg(text, dtype):
    x = values(dtype, (2, 4, 4), 3)
    check(lambda m, x: eval("m.linalg." + text, {"m": m, "x": x}), x, tolerance=2e-3, required=dtype == "float32")


def test_names_of_decompositions():
    x = wf.asarray(values("float32", (3, 3)))
    assert wf.linalg.qr(x)._fields == ("Q", "R")
    assert wf.linalg.svd(x)._fields == ("U", "S", "Vh")
    assert wf.linalg.slogdet(x)._fields == ("sign", "logabsdet")
    values_, vectors = wf.linalg.eigh(x + x.T)
    np.testing.assert_allclose(np.asarray(vectors * values_ @ vectors.T), np.asarray(x + x.T), atol=1e-5)


FFT = ["fft(x)", "ifft(x, axis=1)", "fftn(x)", "ifftn(x)", "rfft(x)", "irfft(x)", "fftshift(x)",
       "ifftshift(x, axes=(1,))", "hfft(x)", "ihfft(x)", "fftn(x, s=(3, 3), axes=(1, 2))", "fft(x, n=6, norm='ortho')",
       "rfftn(x)", "irfftn(x)", "ifft(x, norm='forward')"]  # fmt: skip


@pytest.mark.parametrize("text", FFT)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_fft(text, dtype):
    x = values(dtype, (2, 4, 4))
    check(lambda m, x: eval("m.fft." + text, {"m": m, "x": x}), x, tolerance=1e-4)


def test_every_name_and_parameter_of_the_standard():
    import inspect

    skipped = {"complex128", "ArrayAPIStrictFlags", "set_array_api_strict_flags", "get_array_api_strict_flags",
               "reset_array_api_strict_flags"}  # fmt: skip
    for module in ("", "linalg", "fft"):
        its, own = (getattr(strict, module), getattr(wf, module)) if module else (strict, wf)
        for name in its.__all__:
            if name in skipped:
                continue
            assert hasattr(own, name), name
            function = getattr(its, name)
            if not callable(function) or inspect.isclass(function):
                continue
            there = inspect.signature(getattr(own, name)).parameters.values()
            wanted = inspect.signature(function).parameters.values()
            named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            lacking = {p.name for p in wanted if p.kind in named} - {p.name for p in there}
            assert not lacking, f"{name} lacks {lacking}"
    for name in dir(type(strict.asarray(1))):
        if name.startswith("__") and name not in ("__slots__", "__firstlineno__", "__static_attributes__", "__weakref__"):
            assert hasattr(wf.Array, name), name


def test_information():
    info = wf.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] is wf.float32
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    assert ("float64" in info.dtypes()) == (not on_gpu)
    assert info.capabilities()["max dimensions"] == 8
    assert wf.asarray(1).__array_namespace__(api_version="2024.12") is wf
    with pytest.raises(ValueError):
        wf.asarray(1).__array_namespace__(api_version="1999.1")
    assert wf.finfo(wf.float16).eps == 2**-10
    assert wf.iinfo(wf.asarray([1], dtype="uint8")).max == 255
    assert wf.isdtype(wf.float32, ("integral", "real floating"))
    assert not wf.isdtype(wf.bool, "numeric")
    with pytest.raises(ValueError):
        wf.isdtype(wf.bool, "numbers")
    assert wf.result_type(wf.int8, wf.uint8) is wf.int16
    assert wf.result_type(wf.asarray([1.0]), 1) is wf.float32


# What array-api-tests and other libraries found.


def test_taking_along_an_axis():
    x = wf.asarray([[3, 1, 2], [6, 5, 4]])
    order = wf.argsort(x)
    assert wf.take_along_axis(x, order).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert wf.take_along_axis(x, order[:, :1]).tolist() == [[1], [4]]
    assert wf.take_along_axis(x, wf.asarray([[1, 0, 1]]), axis=0).tolist() == [[6, 1, 4]]
    assert wf.take_along_axis(x, wf.asarray([5, -1, 0]), axis=None).tolist() == [4, 4, 3]


def test_none_is_the_default():
    x = wf.asarray(values("complex64", (3, 4)))
    for function in (wf.fft.fftn, wf.fft.ifftn):
        assert wf.allclose(wf.real(function(x, s=None, axes=None)), wf.real(function(x)))
    assert wf.fft.irfftn(x, s=None, axes=(0, 1)).shape == (3, 6)


def test_tolerances_of_each_matrix():
    x = values("float32", (2, 4, 3))
    x[0, :, 2] = x[0, :, 0]
    rtol = wf.asarray([1e-4, 1e-3])
    got = np.asarray(wf.linalg.pinv(wf.asarray(x), rtol=rtol))
    np.testing.assert_allclose(got, np.linalg.pinv(x, rcond=[1e-4, 1e-3]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(np.asarray(wf.linalg.pinv(wf.asarray(x), rtol=1e-4)), got, rtol=1e-3, atol=1e-4)
    assert wf.linalg.matrix_rank(wf.asarray(x), rtol=rtol).tolist() == [2, 3]
    assert wf.linalg.matrix_rank(wf.asarray(x), rtol=wf.asarray([1e-4, 0.9999])).tolist() == [2, 1]
    assert wf.linalg.pinv(wf.zeros((0, 3)), rtol=wf.asarray(0.1)).shape == (3, 0)
    complex_ = wf.asarray(values("complex64", (3, 2)))
    made = wf.linalg.pinv(complex_, rtol=wf.asarray(1e-5))
    np.testing.assert_allclose(np.asarray(made), np.linalg.pinv(np.asarray(complex_)), rtol=1e-3, atol=1e-4)


def test_arrays_that_are_not_copied():
    x = wf.asarray([1, 2])
    assert wf.asarray(x, copy=False) is x and wf.asarray(x, dtype=wf.int32, copy=False) is x
    copy = wf.asarray(x, copy=True)
    x[0] = 5
    assert copy.tolist() == [1, 2]
    with pytest.raises(ValueError):
        wf.asarray(x, dtype=wf.float32, copy=False)


def test_corners():
    assert str(wf.sign(wf.asarray([complex(-0.0, -0.0)])).item()) == "0j"
    assert wf.eye(2, 3, k=2**70).tolist() == [[0, 0, 0]] * 2 and wf.eye(2, k=-(2**70)).tolist() == [[0, 0]] * 2
    assert wf.eye(2, 3, k=2).tolist() == [[0, 0, 1], [0, 0, 0]] and wf.eye(2, k=-1).tolist() == [[0, 0], [1, 0]]
    assert isinstance(wf.__array_namespace_info__().devices(), tuple)
    x = wf.asarray([1.0, 4.0, 9.0])
    assert x[wf.zeros(0, dtype="bool")].shape == (0,)
    assert [a.tolist() for a in wf.where(x > 2)] == [[1, 2]]
    assert wf.where(x > 2, x, 0).tolist() == [0, 4, 9]
    assert wf.diff(x, 2).tolist() == [2] and wf.diff(x, axis=0, n=1).tolist() == [3, 5]
    assert wf.bincount(wf.asarray([1, 1]), minlength=4).tolist() == [0, 2, 0, 0]
    assert wf.linspace(1e-20, 1, 3)[0].item() == np.float32(1e-20)


def test_sets_of_complex_numbers():
    nan = float("nan")
    x = wf.asarray([[1 + 2j, 1 + 1j, complex(nan, 1)], [1 + 2j, -1 + 5j, complex(nan, 1)]])
    all = wf.unique_all(x)
    assert str(all.values.tolist()) == "[(-1+5j), (1+1j), (1+2j), (nan+1j), (nan+1j)]"
    assert all.indices.tolist() == [4, 1, 0, 2, 5] and all.counts.tolist() == [1, 1, 2, 1, 1]
    assert all.inverse_indices.tolist() == [[2, 1, 3], [2, 0, 4]]
    assert [a.shape for a in wf.unique_all(x[:0])] == [(0,), (0,), (0, 3), (0,)]


def test_numbers_to_search_for():
    assert wf.searchsorted(wf.asarray([1, 5], dtype="uint64"), 3).item() == 1
    assert wf.searchsorted(wf.asarray([1.0, 5.0]), 3).item() == 1
    assert wf.searchsorted(wf.asarray([1, 5]), 1.5).item() == 1


def test_places_of_new_axes():
    x = wf.ones((2, 3))
    assert wf.expand_dims(x, 1).shape == (2, 1, 3) and wf.expand_dims(x, axis=(0, -1)).shape == (1, 2, 3, 1)
    for axis in (3, -4, (0, 4)):
        with pytest.raises(IndexError):
            wf.expand_dims(x, axis)


def test_numbers_in_sets():
    assert wf.isin(wf.asarray([1, 5], dtype="uint64"), 5).tolist() == [False, True]
    assert wf.isin(5, wf.asarray([1, 5], dtype="uint64")).item() is True
    assert wf.isin(wf.asarray([1, 5]), wf.asarray([5, 7]), invert=True).tolist() == [True, False]
    assert wf.isin(2, [2, 3]).item() is True
