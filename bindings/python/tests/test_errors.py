"""What does not work says why, by the names that Python has; what nearly everybody writes works."""

import importlib.util
import re

import numpy as np
import pytest

import weft as wf

X = wf.asarray([[1.0, 2.0], [3.0, 4.0]])
NAN = float("nan")


def refused(error, match, function):
    with pytest.raises(error, match=match) as told:
        function()
    assert "incompatible function arguments" not in str(told.value)


# ---- Types


def test_types_equal_what_names_them():
    assert wf.float32 == "float32" and wf.float32 == np.float32 and wf.float32 == np.dtype("float32")
    assert "float32" == wf.float32 and np.dtype("int8") == wf.int8
    assert wf.float32 == float and wf.int32 == int and wf.bool == bool and wf.complex64 == complex
    assert wf.float32 != "float64" and wf.float32 != np.int8 and wf.float32 != wf.float64
    for other in (None, 3, "text", X, object(), [1]):
        assert not (wf.float32 == other) and wf.float32 != other
    assert len({wf.float32, wf.float64, wf.float32}) == 2 and {wf.float32: 1}[X.dtype] == 1
    assert X.dtype in ("float32", "float16")


def test_numpy_takes_types():
    assert np.dtype(wf.float32) == np.float32 and np.dtype(wf.bool) == np.bool_
    assert np.zeros(2, dtype=wf.int16).dtype == np.int16
    assert np.ones(2).astype(wf.float16).dtype == np.float16
    if importlib.util.find_spec("ml_dtypes") is None:
        with pytest.raises(TypeError):
            np.dtype(wf.bfloat16)
        refused(TypeError, r"bfloat16: install the package ml_dtypes.*astype\(\"float32\"\)", lambda: np.asarray(wf.ones(2, dtype="bfloat16")))
    else:
        assert np.dtype(wf.bfloat16).name == "bfloat16"


def test_types_of_arrays():
    assert wf.ArrayType((2, 3), "float32") == ((2, 3), wf.float32) and wf.ArrayType(3, int).shape == (3,)
    refused(ValueError, r"shape is \(-1,\)", lambda: wf.ArrayType((-1,), "float32"))
    refused(TypeError, "'nothing' is no data type", lambda: wf.ArrayType((1,), "nothing"))


# ---- Formats


def test_formats():
    assert f"{wf.asarray(1.5):.2f}" == "1.50" and f"{wf.asarray([[7]]):04d}" == "0007" and f"{wf.asarray(1 + 2j):.1f}" == "1.0+2.0j"
    assert f"{X}" == str(X) and f"{wf.asarray(1.5)}" == "1.5"
    refused(TypeError, r"format '.2f' of an array of the shape \(2, 2\)", lambda: f"{X:.2f}")


# ---- What lists do as arrays do


def test_lists_are_arrays():
    rows = [[1, 2], [3, 4]]
    assert wf.take([10, 20, 30], [2, 0]).tolist() == [30, 10]
    assert wf.transpose(rows).tolist() == wf.swapaxes(rows, 0, 1).tolist() == [[1, 3], [2, 4]]
    assert [p.tolist() for p in wf.split([1, 2, 3, 4], 2)] == [[1, 2], [3, 4]]
    assert wf.full_like(rows, [7, 8]).tolist() == [[7, 8], [7, 8]]
    assert wf.squeeze([[1, 2]]).tolist() == [1, 2]
    refused(IndexError, "split: axis 2 is outside of 1 axes", lambda: wf.split([1], 1, axis=2))
    refused(IndexError, "swapaxes: axis -2", lambda: wf.swapaxes([1], 0, -2))


def test_squeeze():
    x = wf.ones((1, 2, 1))
    assert x.squeeze().shape == wf.squeeze(x).shape == (2,)
    assert x.squeeze(0).shape == x.squeeze(axis=(0,)).shape == (2, 1)
    assert wf.squeeze(x, axis=(0, -1)).shape == (2,) and wf.squeeze(x, ()).shape == (1, 2, 1)
    assert wf.ones(1).squeeze().shape == () and wf.ones((2, 3)).squeeze().shape == (2, 3)
    refused(ValueError, "size 2, not 1", lambda: x.squeeze(1))


# ---- Signals


def test_signals_are_of_the_first_operand():
    a, b = wf.asarray([1.0, 2.0, 4.0]), wf.asarray([1.0, -1.0, 3.0, 5.0, 2.0, 7.0])
    signal = pytest.importorskip("scipy.signal")
    for x, y in ((a, b), (b, a), (b, b[:4]), (b[:4], b), (b, b[:5]), (a, a), (a[:1], b), (b, a[:1])):
        for mode in ("full", "same", "valid"):
            for name in ("convolve", "correlate"):
                made = getattr(wf.signal, name)(x, y, mode=mode)
                np.testing.assert_allclose(made, getattr(signal, name)(np.asarray(x), np.asarray(y), mode=mode), rtol=1e-5, atol=1e-5)
                if mode == "same":
                    assert made.shape == x.shape
                    assert getattr(wf, name)(x, y, mode=mode).size == max(x.size, y.size)  # NumPy's
    z = wf.asarray([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(wf.signal.correlate(z, b * (1 + 1j), mode="same"), signal.correlate(np.asarray(z), np.asarray(b * (1 + 1j)), mode="same"), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(wf.signal.correlate(a, b), signal.correlate(np.asarray(a), np.asarray(b)), rtol=1e-5)


# ---- Arguments


def test_arguments_of_other_types():
    refused(TypeError, "asarray: None, expected", lambda: wf.asarray(None))
    refused(TypeError, "asarray: None", lambda: wf.searchsorted(wf.ones(3), None))
    refused(TypeError, "isin: x1 is None", lambda: wf.isin(None, 1))
    refused(TypeError, "isin: x2 is None", lambda: wf.isin(X, None))
    refused(TypeError, "copy is 'never'", lambda: wf.asarray([1], copy="never"))
    refused(TypeError, r"item\(\) takes no arguments", lambda: wf.ones(1).item(0))
    refused(TypeError, "seed is 'a', expected an integer", lambda: wf.random.seed("a"))
    refused(ValueError, "seed is -1, expected 0", lambda: wf.random.seed(-1))
    refused(ValueError, "seed is 18446744073709551616", lambda: wf.random.seed(2**64))
    refused(TypeError, "limit is '1G', expected a number of bytes", lambda: wf.memory.set_limit("1G"))
    refused(ValueError, "limit is -1", lambda: wf.memory.set_limit(-1))
    for function in (lambda: wf.ones(2, device=X), lambda: wf.asarray([1], device=X), lambda: X.to_device(X), lambda: wf.memory.live(X), lambda: wf.device(X)):
        refused(TypeError, "device is an object of the type Array", function)
    refused(TypeError, "device is an object of the type int", lambda: wf.set_default_device(3))
    refused(TypeError, "from_dlpack: an object of the type int", lambda: wf.from_dlpack(3))
    refused(ValueError, "arange: stop is NaN", lambda: wf.arange(NAN))
    refused(ValueError, "arange: step is NaN", lambda: wf.arange(0, 1, NAN))


def test_files_have_names(tmp_path):
    refused(TypeError, "metadata has 'a': 3, expected strings", lambda: wf.save(tmp_path / "x.safetensors", {"x": X}, metadata={"a": 3}))
    refused(TypeError, "the name of an array is 1", lambda: wf.save(tmp_path / "x.npz", {1: X}))
    assert not list(tmp_path.iterdir())


# ---- Names of other libraries


def test_names_of_others_say_what_they_are_here():
    refused(AttributeError, "module 'weft' has no attribute 'concatenate': here it is wf.concat$", lambda: wf.concatenate)
    refused(AttributeError, "here it is wf.cumulative_sum", lambda: wf.cumsum)
    refused(AttributeError, "'vstack': here it is wf.concat with axis=0", lambda: wf.vstack)
    refused(AttributeError, "wf.unique_values", lambda: wf.unique)
    refused(AttributeError, "module 'weft.linalg' has no attribute 'norm': here it is wf.linalg.vector_norm", lambda: wf.linalg.norm)
    refused(AttributeError, "wf.random.normal", lambda: wf.random.randn)
    refused(AttributeError, "wf.fft.fftn", lambda: wf.fft.fft2)
    refused(AttributeError, r"an array of Weft's has no attribute 'flatten': here it is x.ravel\(\)", lambda: X.flatten)
    for name in ("copy", "dot", "view", "cumsum", "detach"):
        refused(AttributeError, "here it is", lambda: getattr(X, name))
    refused(AttributeError, "has no attribute 'nothing'$", lambda: X.nothing)
    refused(AttributeError, "module 'weft' has no attribute 'nothing'$", lambda: wf.nothing)
    assert not hasattr(wf, "concatenate") and not hasattr(X, "copy") and not hasattr(X, "__cuda_array_interface__")
    with pytest.raises(ImportError):
        from weft import concatenate  # noqa: F401


def test_what_is_told_of_names_is_there():
    from weft import _other_names

    wheres = {"weft": wf, "weft.linalg": wf.linalg, "weft.random": wf.random, "weft.fft": wf.fft, "Array": wf.Array}
    for where, text in _other_names._FEW.items():
        told = set()
        for line in filter(None, map(str.strip, text.splitlines())):
            names, sign, hint = line.partition(" = ")
            assert sign and hint, line
            for name in names.split():
                assert name.isidentifier() and name not in told, name
                told.add(name)
                assert not hasattr(wheres[where], name), name
            for path in re.findall(r"\bwf\.([\w.]*\w)", hint):
                thing = wf
                for part in path.split("."):
                    thing = getattr(thing, part)
            for name in re.findall(r"\bx\.(\w+)", hint):
                assert hasattr(X, name), name


def test_the_warning_of_complex_numbers_has_the_caller_s_line():
    z = wf.asarray([1 + 2j])
    with pytest.warns(Warning, match="imaginary") as told:
        made = np.asarray(z, dtype=np.float32)
    assert made.tolist() == [1] and told[0].filename == __file__ and "ComplexWarning" in told[0].category.__name__


# ---- What the library says, in Python's words


def test_messages_have_python_s_names():
    refused(TypeError, r"random\.normal: the result is int32; expected float32 float16 bfloat16", lambda: wf.random.normal((2,), dtype="int32"))
    refused(TypeError, r"float64 and complex64 have no type in common.*there is no complex128", lambda: wf.asarray([1.0], dtype="float64") + 1j)
    refused(TypeError, "complex numbers are complex64", lambda: X.astype("complex128"))
    refused(TypeError, r"inv: a is int32 \[2, 2\]; expected float32, complex64", lambda: wf.linalg.inv(wf.arange(4).reshape(2, 2)))
    refused(ValueError, "outside an array of rank 1", lambda: wf.cumulative_sum(wf.ones(2), axis=3))
    refused(TypeError, "'f32' of the user", lambda: wf.quantized.quantize(X, 1, dtype="'f32' of the user"))
    # Texts of kernels keep their words.
    with pytest.raises((wf.KernelError, wf.Unsupported)) as told:
        wf.kernel("fn kernel(i: u32) { store_y(i, f32(nothing)); }")(X).tolist()
    assert "float32(" not in str(told.value)


def test_what_donated_arrays_say():
    x = wf.asarray([1.0, 2.0])
    wf.compile(lambda x: x + 1, donate_argnums=0)(x)
    with pytest.raises(ValueError) as told:
        x + 1
    assert "Tensor" not in str(told.value)


def test_large_integers():
    large = 2**70
    for index in (large, -large, (0, large)):
        refused(IndexError, "an index is -?1180591620717411303424", lambda: X[index])
    refused(ValueError, "axis is 1180591620717411303424", lambda: wf.sum(X, axis=large))
    refused(ValueError, "shape is 9223372036854775808", lambda: wf.zeros(2**63))
    refused(ValueError, "seed is 18446744073709551616", lambda: wf.random.key(2**64))
    refused(ValueError, "value is 1180591620717411303424", lambda: wf.full(2, large))
    refused(OverflowError, r"2\*\*64 or more", lambda: wf.asarray(large))
    assert X[: 2**70].shape == (2, 2) and wf.random.key(2**64 - 1).shape == (2,)


def test_axes_without_elements():
    for index in (0, -1, [0], wf.asarray([0]), (slice(None), 3)):
        refused(IndexError, "index", lambda: wf.zeros((0, 3))[index])
    assert wf.zeros((0, 3))[wf.asarray([], dtype="int32")].shape == (0, 3)


def test_ranges_and_moments():
    assert wf.asarray(range(3)).tolist() == [0, 1, 2] and wf.asarray(range(0)).shape == (0,)
    assert wf.asarray(range(3), dtype="float32").dtype is wf.float32
    assert wf.sum(range(4)).item() == 6 and wf.asarray([range(2), range(2)]).tolist() == [[0, 1], [0, 1]]
    moments = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    refused(TypeError, r"an array of datetime64\[D\], a type that Weft does not have", lambda: wf.asarray(moments))
    refused(TypeError, r"timedelta64\[D\]", lambda: wf.sum(moments - moments))
    refused(TypeError, "datetime64", lambda: wf.asarray(moments[0]))
    assert wf.asarray(moments, dtype="int64").tolist() == [18262, 18263]


def test_calls():
    refused(ValueError, "concat: arrays is empty, expected at least one array", lambda: wf.concat([]))
    refused(ValueError, "stack: arrays is empty", lambda: wf.stack(()))
    refused(TypeError, "takes 1 positional argument, got 2; by name it takes count=", lambda: wf.random.split(wf.random.key(0), 5))
    refused(TypeError, r"unexpected keyword argument 'out', as NumPy's functions give it: of these arrays it is weft\.sum\(\)", lambda: np.sum(X))
