"""Indexing and assignment beside NumPy's, on random indices of all kinds."""

import random

import numpy as np
import pytest

import weft as wf


def random_index(rng, shape):
    """An index for an array of that shape: integers, slices, None, an ellipsis, integer and boolean arrays."""
    index, axis, has_ellipsis = [], 0, False
    for _ in range(6):
        if axis >= len(shape):
            break
        size = shape[axis]
        kind = rng.choice("iissseNabB")
        if kind == "i":
            index.append(rng.randint(-size, size - 1))
            axis += 1
        elif kind == "s":
            bound = lambda: rng.choice([None, rng.randint(-size - 2, size + 2)])  # noqa: E731
            index.append(slice(bound(), bound(), rng.choice([None, 1, 2, -1, -2, 3])))
            axis += 1
        elif kind == "e" and not has_ellipsis:
            index.append(Ellipsis)
            break
        elif kind == "N":
            index.append(None)
        elif kind == "a":
            sizes = rng.choice([(2,), (3, 1), ()])
            index.append(np.array([rng.randint(-size, size - 1) for _ in range(int(np.prod(sizes)))]).reshape(sizes))
            axis += 1
        elif kind == "b":
            index.append(np.array([rng.random() < 0.5 for _ in range(size)]))
            axis += 1
        elif kind == "B" and axis + 1 < len(shape):
            index.append(np.array([rng.random() < 0.5 for _ in range(size * shape[axis + 1])]).reshape(shape[axis : axis + 2]))
            axis += 2
        if rng.random() < 0.15:
            break
    return tuple(index)


def outcome(function):
    try:
        return function()
    except (IndexError, ValueError) as error:
        return error


@pytest.mark.parametrize("seed", range(8))
def test_random_indices(seed):
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    for _ in range(150):
        shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 4)))
        a = numbers.integers(0, 100, size=shape).astype(rng.choice(["int32", "float32", "uint8"]))
        index = random_index(rng, shape)
        own = tuple(wf.asarray(i) if isinstance(i, np.ndarray) and rng.random() < 0.5 else i for i in index)
        x = wf.asarray(a)
        expected, got = outcome(lambda: a[index]), outcome(lambda: x[own])
        if isinstance(expected, Exception):
            assert isinstance(got, IndexError), (index, shape)
            continue
        np.testing.assert_array_equal(np.asarray(got), expected, err_msg=f"{index} of {shape}")

        value = numbers.integers(0, 100, size=expected.shape).astype(a.dtype) if rng.random() < 0.5 else 7
        b = a.copy()

        def assign(target, at, v):
            target[at] = v
            return target

        changed, own_changed = outcome(lambda: assign(b, index, value)), outcome(lambda: assign(x, own, value))
        if isinstance(changed, Exception):
            assert isinstance(own_changed, Exception), (index, shape)
        else:
            np.testing.assert_array_equal(np.asarray(own_changed), changed, err_msg=f"{index} of {shape}")


def test_values_that_are_assigned():
    x = wf.zeros((2, 3))
    before = x[0]
    x[0] = [1, 2, 3]
    x[1, ::2] = wf.asarray([5, 6], dtype="int8")
    x[..., 1] += 10
    assert x.tolist() == [[1, 12, 3], [5, 10, 6]]
    assert before.tolist() == [0, 0, 0]
    y = x.at[0].add(1)
    assert y.tolist()[0] == [2, 13, 4] and x.tolist()[0] == [1, 12, 3]
    assert x.at[wf.asarray([0, 0]), 0].add(1).tolist()[0][0] == 3
    assert x.at[0].max(5).tolist()[0] == [5, 12, 5]
    assert x.at[0].min(5).tolist()[0] == [1, 5, 3]


def test_what_is_refused():
    x = wf.zeros((2, 3))
    for index in (2, (0, 3), (0, 0, 0), (Ellipsis, Ellipsis), "a", 1.5, wf.asarray([0.5])):
        with pytest.raises(IndexError):
            x[index]
    with pytest.raises(ValueError):
        x[0] = [1, 2]
    with pytest.raises(TypeError):
        x[0] = 1j
    with pytest.raises(TypeError):
        del x[0]
    i = wf.asarray([1, 2], dtype="int8")
    with pytest.raises(TypeError):
        i[0] = 300
