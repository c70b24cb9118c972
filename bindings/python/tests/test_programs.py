"""Random programs: chains of operations on arrays beside NumPy's, evaluated at random points."""

import os
import random

import numpy as np
import pytest

import weft as wf

hypothesis = pytest.importorskip("hypothesis")
strategies = hypothesis.strategies

EXAMPLES = int(os.environ.get("WEFT_PYTHON_EXAMPLES", "60"))


def steps(rng):
    """A step of a program: of (namespace, arrays) an array. Both sides draw the same."""
    kind = rng.choice("unary binary number reduce shape index where concat matmul".split())
    pick = lambda values: values[rng.randrange(len(values))]  # noqa: E731
    if kind == "unary":
        name = rng.choice("negative abs floor ceil square tanh sign".split())
        return lambda m, v, i: getattr(m, name)(v[i[0]])
    if kind == "binary":
        name = rng.choice("add subtract multiply maximum minimum".split())
        return lambda m, v, i: getattr(m, name)(v[i[0]], v[i[1]])
    if kind == "number":
        number = rng.choice([2, -1, 0.5, 3.25])
        return lambda m, v, i: v[i[0]] * number + number
    if kind == "reduce":
        name, axis, keep = rng.choice(["sum", "max", "min", "mean"]), rng.choice([None, 0, -1]), rng.random() < 0.7

        # NumPy knows no greatest number of none, and takes an axis of a number.
        def reduced(m, v, i):
            x = v[i[0]]
            return getattr(m, name if x.size else "sum")(x, axis=axis if x.ndim else None, keepdims=keep)

        return reduced
    if kind == "shape":
        how = pick(["flip", "expand", "ravel", "transpose"])
        return {
            "flip": lambda m, v, i: m.flip(v[i[0]], axis=None),
            "expand": lambda m, v, i: m.expand_dims(v[i[0]], axis=0),
            "ravel": lambda m, v, i: m.reshape(v[i[0]], (-1,)),
            "transpose": lambda m, v, i: m.matrix_transpose(v[i[0]]),
        }[how]
    if kind == "index":
        index = pick([(..., slice(None, None, -1)), (slice(1, None),), (None, ...), (..., 0), (slice(None, None, 2),)])
        return lambda m, v, i: v[i[0]][index]
    if kind == "where":
        return lambda m, v, i: m.where(v[i[0]] > 0, v[i[1]], v[i[0]])
    if kind == "concat":
        return lambda m, v, i: m.concat([v[i[0]], v[i[0]]], axis=-1)
    return lambda m, v, i: m.matmul(v[i[0]], m.matrix_transpose(v[i[0]]))


@hypothesis.settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(strategies.integers(0, 2**32))
def test_programs(seed):
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    theirs = [numbers.integers(-4, 5, shape).astype("float32") for shape in ((3, 4), (4,), (1, 4))]
    ours = [wf.asarray(a) for a in theirs]
    for _ in range(12):
        step, chosen = steps(rng), [rng.randrange(len(theirs)), rng.randrange(len(theirs))]
        try:
            expected = step(np, theirs, chosen)
        except (ValueError, IndexError, TypeError):
            with pytest.raises((ValueError, IndexError, TypeError)):
                step(wf, ours, chosen)
            continue
        expected = np.asarray(expected, dtype="float32")
        if expected.size > 500 or expected.ndim > 6 or (expected.size and np.abs(expected).max() > 1e6):
            continue
        theirs.append(expected)
        ours.append(step(wf, ours, chosen))
        if rng.random() < 0.2:
            wf.eval(ours[-1])
    for own, other in zip(ours, theirs):
        np.testing.assert_allclose(np.asarray(own), other, rtol=2e-4, atol=2e-4)


@hypothesis.settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(strategies.data())
def test_array_api_strategies(data):
    """hypothesis's own strategies for the standard make arrays of this namespace."""
    from hypothesis.extra.array_api import make_strategies_namespace

    xps = make_strategies_namespace(wf, api_version="2022.12")
    dtype = data.draw(strategies.sampled_from(["bool", "int8", "int32", "uint16", "float32"]))
    shape = data.draw(xps.array_shapes(max_dims=3, max_side=4))
    x = data.draw(xps.arrays(dtype, shape))
    index = data.draw(xps.indices(x.shape, allow_newaxis=True))
    np.testing.assert_array_equal(np.asarray(x[index]), np.asarray(x)[index])
    axis = data.draw(strategies.integers(-x.ndim, x.ndim - 1))
    np.testing.assert_array_equal(np.asarray(wf.flip(x, axis=axis)), np.flip(np.asarray(x), axis))
    np.testing.assert_array_equal(np.asarray(wf.sort(x, axis=axis)), np.sort(np.asarray(x), axis))
