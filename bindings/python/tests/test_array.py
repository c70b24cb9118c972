"""What Python asks of arrays: values, text, copies, memory of others, errors."""

import asyncio
import copy
import gc
import pickle

import numpy as np
import pytest

import weft as wf

on_gpu = wf.device().is_gpu


async def awaited(x):
    return await x


def test_attributes():
    x = wf.asarray([[1, 2, 3], [4, 5, 6]])
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.dtype) == ((2, 3), 2, 6, 4, 24, wf.int32)
    assert x.T.tolist() == x.mT.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert x.device == wf.device()
    assert (x + 1).device == wf.device()
    with pytest.raises(ValueError):
        wf.zeros((2, 2, 2)).T


def test_types_of_numbers():
    for value, dtype in [(True, "bool"), (1, "int32"), (2**40, "int64"), (2**63, "uint64"), (1.5, "float32"),
                         (1j, "complex64"), ([1, 2.5], "float32"), ([True, 2], "int32"), ([[]], "float32"),
                         ([1, 2j], "complex64"), (np.float16(1), "float16"), (np.arange(2), "int64")]:  # fmt: skip
        assert wf.asarray(value).dtype.name == dtype, value
    assert wf.asarray([[]]).shape == (1, 0)
    assert wf.asarray([1, 2], dtype=float).dtype is wf.float32
    assert wf.asarray([1.7, -2.2], dtype="int8").tolist() == [1, -2]
    assert wf.asarray([wf.asarray([1, 2]), [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert wf.asarray([np.int32(3), np.int32(4)]).tolist() == [3, 4]
    with pytest.raises(OverflowError):
        wf.asarray(2**64)
    for ragged in ([[1], [1, 2]], [1, [2]], [[1], 2]):
        with pytest.raises(ValueError):
            wf.asarray(ragged)
    for other in ("text", object(), None, {1: 2}):
        with pytest.raises(TypeError):
            wf.asarray(other)


def test_python_numbers():
    assert wf.asarray(2.5).item() == 2.5
    assert float(wf.asarray([2])) == 2.0 and int(wf.asarray(2.9)) == 2 and complex(wf.asarray(1j)) == 1j
    assert bool(wf.asarray([3])) and not bool(wf.asarray(0j))
    assert range(5)[wf.asarray(2)] == 2
    assert wf.asarray(2**64 - 1, dtype="uint64").item() == 2**64 - 1
    x = wf.asarray([1.0, 2.0])
    for convert, error in ((bool, ValueError), (float, TypeError), (int, TypeError), (len, None), (hash, TypeError)):
        if error:
            with pytest.raises(error):
                convert(x)
    with pytest.raises(TypeError):
        range(5)[wf.asarray(2.0)]
    with pytest.raises(TypeError):
        len(wf.asarray(1))
    with pytest.raises(TypeError):
        iter(wf.asarray(1))
    with pytest.raises(ValueError):
        x.item()
    with pytest.raises(TypeError):
        float(wf.asarray(1j))


def test_text():
    x = wf.asarray([[1.0, 2.5], [3.0, -4.0]])
    assert repr(x) == "Array([[ 1. ,  2.5],\n       [ 3. , -4. ]], dtype=float32)"
    assert str(x) == "[[ 1.   2.5]\n [ 3.  -4. ]]"
    assert repr(wf.asarray(3)) == "Array(3, dtype=int32)"
    assert repr(wf.zeros((0, 3))) == "Array([], shape=(0, 3), dtype=float32)"
    assert "..." in repr(wf.arange(10000)) and len(repr(wf.arange(10000))) < 200
    assert "<pre>" in x._repr_html_() and "float32 (2, 2)" in x._repr_html_()
    seen = []
    wf.compile(lambda a: seen.append(repr(a)) or a)(x)
    assert seen == ["Array(shape=(2, 2), dtype=float32)"]


def test_iteration():
    x = wf.asarray([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert 3 in x and 5 not in x and len(x) == 2
    a, b = x
    assert b.tolist() == [3, 4]


@pytest.mark.parametrize("dtype", [t for t in vars(wf) if isinstance(getattr(wf, t), wf.DType)])
def test_pickles_and_copies(dtype):
    x = wf.asarray([[0, 1], [1, 0]]).astype(dtype)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert y.dtype is x.dtype and y.shape == x.shape
        assert y.astype(wf.float32).tolist() == [[0, 1], [1, 0]]
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype


def test_copies_are_values():
    x = wf.asarray([1.0, 2.0])
    y = copy.copy(x)
    z = x
    x += 1
    assert z is x and x.tolist() == [2, 3] and y.tolist() == [1, 2]


def test_in_place_keeps_type_and_shape():
    i = wf.asarray([1, 2])
    i += 1
    i *= wf.asarray([2, 3], dtype="int8")
    i -= True
    i //= 2
    i **= 2
    i %= 5
    assert i.dtype is wf.int32 and i.tolist() == [1, 1]
    i <<= 3
    i |= 1
    i &= 9
    i ^= 1
    i >>= 1
    assert i.tolist() == [4, 4]
    for other in (0.5, wf.asarray([0.5]), 1j):
        with pytest.raises(TypeError):
            i += other
    with pytest.raises(TypeError):
        i /= 2
    with pytest.raises(ValueError):
        i += wf.zeros((2, 2), dtype="int32")
    h = wf.asarray([1.0], dtype="float16")
    h += wf.asarray([1.0])
    assert h.dtype is wf.float16
    m = wf.eye(2)
    m @= wf.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert m.tolist() == [[1, 2], [3, 4]]


def test_numpy_beside_arrays():
    x, n = wf.asarray([1.0, 2.0]), np.asarray([3.0, 4.0], dtype="float32")
    for y in (x + n, n + x, n * x, x @ n, n @ x, np.float32(2) * x, x * np.float64(2)):
        assert isinstance(y, wf.Array) and y.dtype is wf.float32
    assert (n - x).tolist() == [2, 2]
    assert isinstance(x == n, wf.Array)
    assert (x == "text") is False and (x != None)  # noqa: E711
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(TypeError):
        x + [1, 2]


def test_exports_are_read_only_views():
    x = wf.asarray([[1.0, 2.0], [3.0, 4.0]])
    a, b = np.asarray(x), np.asarray(x)
    assert a.tolist() == x.tolist() and not a.flags.writeable
    if not on_gpu:
        assert a.ctypes.data == b.ctypes.data
        assert np.from_dlpack(x).ctypes.data == a.ctypes.data and not np.from_dlpack(x).flags.writeable
        assert np.asarray(x.T).tolist() == [[1, 3], [2, 4]]
    assert np.array(x).flags.writeable
    assert np.asarray(x, dtype="float64").dtype == "float64"
    assert memoryview(x).readonly and memoryview(x).tolist() == x.tolist()
    assert bytes(wf.asarray([1, 2], dtype="int8")) == b"\x01\x02"
    # What is exported stays as it is.
    x += 1
    del b
    gc.collect()
    wf.wait(x)
    assert a.tolist() == [[1, 2], [3, 4]]
    assert np.asarray(wf.broadcast_to(wf.asarray([1.0, 2.0]), (3, 2))).tolist() == [[1, 2]] * 3
    assert np.asarray(wf.arange(6).reshape(2, 3)[:, ::-1]).tolist() == [[2, 1, 0], [5, 4, 3]]
    with pytest.raises(BufferError):
        memoryview(x.astype(wf.bfloat16))
    with pytest.raises(BufferError):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


def test_dlpack_of_gpus_is_asked_for():
    if not on_gpu:
        assert wf.ones(2).__dlpack_device__() == (1, 0)
        pytest.skip("this device is the cpu")
    x = wf.asarray([1.0, 2.0])
    assert x.__dlpack_device__()[0] == 15
    with pytest.raises(BufferError):
        x.__dlpack__()
    assert np.from_dlpack(x, device="cpu").tolist() == [1, 2]


def test_imports_copy_what_may_change():
    n = np.arange(4, dtype="float32")
    x = wf.asarray(n)
    y = wf.from_dlpack(n)
    n[0] = 100
    assert x.tolist() == y.tolist() == [0, 1, 2, 3]
    assert wf.asarray(n[::-2]).tolist() == [3, 1]
    assert wf.asarray(np.asfortranarray(np.arange(6).reshape(2, 3))).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert wf.asarray(b"\x01\x02").tolist() == [1, 2]
    assert wf.asarray(np.array(3.0)).shape == ()
    assert wf.asarray(np.arange(2, dtype=">i4").astype("<i4")).tolist() == [0, 1]
    with pytest.raises(TypeError):
        wf.asarray(np.arange(2, dtype=">i4"))
    with pytest.raises(TypeError):
        wf.asarray(np.array([1j]))  # complex128
    assert wf.asarray(np.array([1j]), dtype=wf.complex64).tolist() == [1j]
    with pytest.raises(ValueError):
        wf.asarray([1, 2], copy=False)


@pytest.mark.skipif(on_gpu, reason="a GPU has memory of its own")
def test_memory_that_is_shared():
    n = np.arange(4, dtype="float32")
    x = wf.asarray(n, copy=False)
    assert np.asarray(x).ctypes.data == n.ctypes.data
    n.flags.writeable = False
    y = wf.asarray(n)
    assert np.asarray(y).ctypes.data == n.ctypes.data
    assert np.asarray(wf.asarray(n, copy=True)).ctypes.data != n.ctypes.data
    y += 1  # imported memory is never written to
    wf.wait(y)
    assert n.tolist() == [0, 1, 2, 3] and y.tolist() == [1, 2, 3, 4]
    address = n.ctypes.data
    del n
    gc.collect()
    assert x.tolist() == [0, 1, 2, 3] and np.asarray(x).ctypes.data == address
    with pytest.raises(ValueError):
        wf.asarray(np.arange(8.0)[::2], copy=False)
    with pytest.raises(ValueError):
        wf.asarray(np.arange(8.0), dtype="float32", copy=False)


def test_errors_are_pythons():
    x = wf.ones((2, 2))
    with pytest.raises(ValueError, match="do not broadcast"):
        x + wf.ones((3, 2))
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        wf.sum(x, foo=1)
    with pytest.raises(TypeError, match="needs the argument 'x'"):
        wf.sum()
    with pytest.raises(TypeError, match="positional"):
        wf.sum(x, 0, 1, 2)
    with pytest.raises(TypeError, match="several values"):
        wf.sum(x, x=x)
    with pytest.raises(wf.LinAlgError, match="singular"):
        wf.linalg.inv(wf.zeros((2, 2))).tolist()
    looks = [np.asarray, str, repr, wf.wait, lambda y: y.numpy(), lambda y: np.asarray(y + 1)]
    for look in [*looks, lambda y: y.__dlpack__(dl_device=(1, 0))]:
        with pytest.raises(wf.LinAlgError, match="singular"):
            look(wf.linalg.inv(wf.ones((2, 2))))
    with pytest.raises(wf.LinAlgError, match="singular"):
        asyncio.run(awaited(wf.linalg.inv(wf.ones((2, 2)))))
    assert issubclass(wf.LinAlgError, ValueError) and issubclass(wf.DeviceLost, RuntimeError)
    with pytest.raises(OSError):
        wf.load("/nowhere/x.npy")
    with pytest.raises(MemoryError):
        wf.wait(wf.ones((2**20, 2**30)) * 2 + wf.ones((2**20, 1)) * wf.asarray(3.0) + wf.random.normal((2**20, 1)))
    assert (x + 1).tolist() == [[2, 2], [2, 2]]


def test_lazy():
    x = wf.ones((3, 3)) * 2
    y = wf.exp(x)
    assert not y._has_data
    wf.eval({"y": [y]})
    assert y._has_data


def test_awaiting():
    import asyncio

    async def main():
        ticks = []

        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.001)

        task = asyncio.create_task(tick())
        a = wf.random.normal((700, 700))
        b = a @ a
        assert await b is b
        task.cancel()
        return b._has_data, len(ticks)

    has_data, ticks = asyncio.run(main())
    assert has_data and ticks > 0
