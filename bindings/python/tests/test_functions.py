"""Functions of rows: that all have a place, a signature and a text; modules; devices and files."""

import inspect
import pickle

import numpy as np
import pytest

import weft as wf
from weft import _core, _functions

# Rows that functions with forms of their own are made of, or whose Python is another function.
MADE_OF_OTHERS = set(
    """arange binary broadcast_arrays cast clamp concat concat_flattened condition_number conj contiguous cumsum
    deviation elementwise expand_dims eye fftfreq flatten full full_like gather gather_elements linspace matmul
    matrix_norm matrix_rank meshgrid ones ones_like permute pinv random::key_at real reduce repeat repeat_by
    repeat_flattened rfftfreq roll roll_flattened round scan searchsorted select sign sort argsort split
    stop_gradient tensordot tensordot_pairs ternary triangle_matrix unary unique zeros zeros_like is_nan is_inf
    is_finite einsum reshape where isin squeeze""".split()
)
# Operations that derivatives, and other functions, are recorded as.
INTERNAL = ("_gradient", "_gradients", "reduce_", "scan_", "random_", "fft_")
RECORDED = set(
    """attention_with_log_sums broadcast checked div div_rn fold gelu_erf gelu_tanh gelu_quick identity iota map scatter
    slice solution triangle triangular_solve windows complex""".split()
)


def functions():
    for module in _functions.MODULES:
        for name, row in _functions.names_in(module).items():
            namespace = wf if module == "weft" else getattr(wf, module[5:])
            yield module, name, row, getattr(namespace, name)


def test_every_row_has_a_place():
    placed = {row for _, _, row, _ in functions()} | MADE_OF_OTHERS | RECORDED
    lost = [
        name
        for name, _ in _core.row_names()
        if name not in placed and not any(part in name for part in INTERNAL)
    ]
    assert not lost


@pytest.mark.parametrize("module", _functions.MODULES)
def test_signatures_and_texts(module):
    for where, name, row, function in functions():
        if where != module or not isinstance(function, _core.Function):
            continue
        signature = inspect.signature(function)
        assert function.__doc__, name
        assert function.__name__ == name and repr(function)
        assert pickle.loads(pickle.dumps(function)) is function
        described = _core.row(row)
        assert len(signature.parameters) >= len(described["inputs"])
        required = [p.name for p in signature.parameters.values() if p.default is p.empty and p.kind != p.VAR_POSITIONAL]
        if required:
            with pytest.raises(TypeError, match=f"needs the argument '{required[0]}'"):
                function()


def test_functions_of_modules():
    x = wf.asarray([[1.0, -2.0], [3.0, 4.0]])
    assert wf.nn.relu(x).tolist() == [[1, 0], [3, 4]]
    np.testing.assert_allclose(np.asarray(wf.nn.softmax(x, -1)).sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(wf.nn.layer_norm(x)).mean(1), 0, atol=1e-6)
    assert wf.nn.leaky_relu(x, alpha=0.5).tolist() == [[1, -1], [3, 4]]
    assert wf.losses.mse_loss(x, x + 2).item() == 4
    assert wf.losses.mse_loss(x, x + 2, reduction="none").shape == (2, 2)
    with pytest.raises(ValueError, match="reduction"):
        wf.losses.mse_loss(x, x, reduction="product")
    assert abs(wf.special.gammaln(wf.asarray(5.0)).item() - np.log(24)) < 1e-5
    assert wf.signal.hann_window(4).shape == (4,)
    values, indices = wf.top_k(x, 1)
    assert values.tolist() == [[1], [4]] and indices.tolist() == [[0], [1]]
    assert wf.top_k(x, k=1)._fields == ("values", "indices")
    assert wf.einsum("ij,jk->ik", x, x).tolist() == (x @ x).tolist()
    assert wf.quantile(x, 0.5).item() == 2
    counts, edges = wf.histogram(x, bins=2)
    assert counts.tolist() == [1, 3]
    assert wf.pad(x, (1, 0), (0, 1)).shape == (3, 3)
    assert [a.tolist() for a in wf.split(wf.arange(5), [2])] == [[0, 1], [2, 3, 4]]
    assert wf.transpose(wf.zeros((2, 3, 4))).shape == (4, 3, 2)
    assert wf.swapaxes(wf.zeros((2, 3, 4)), 0, -1).shape == (4, 3, 2)
    assert wf.broadcast_shapes((2, 1), (3,)) == (2, 3)
    q = wf.quantized.quantize(x, 0.5, dtype=wf.int8)
    assert q.dtype is wf.int8 and wf.quantized.dequantize(q, 0.5).tolist() == x.tolist()
    assert wf.sum([1.0, 2.0]).item() == 3 and wf.exp(0.0).item() == 1
    assert wf.sum(np.ones(3)).dtype is wf.float64 or wf.device().is_gpu
    assert wf.add(1, x).tolist() == [[2, -1], [4, 5]] and wf.where(x > 0, x, 0).tolist() == [[1, 0], [3, 4]]


def test_random():
    wf.random.seed(3)
    a = wf.random.normal((3,))
    wf.random.seed(3)
    assert wf.random.normal((3,)).tolist() == a.tolist() != wf.random.normal((3,)).tolist()
    key = wf.random.key(7)
    one, two = wf.random.split(key)
    assert wf.random.uniform((2,), key=one).tolist() == wf.random.uniform((2,), key=one).tolist()
    assert sorted(wf.random.permutation(5, key=two).tolist()) == [0, 1, 2, 3, 4]
    dice = wf.random.integers((100,), 1, 7, key=one)
    assert dice.dtype is wf.int32 and dice.min().item() == 1 and dice.max().item() == 6
    assert wf.random.normal(3, loc=5.0, scale=0.0, key=one).tolist() == [5, 5, 5]
    with pytest.raises(ValueError):
        wf.compile(lambda x: x + wf.random.normal((3,)))(wf.zeros(3))


def test_devices():
    assert wf.devices()[-1].name == "cpu"
    with wf.device("cpu") as cpu:
        assert wf.device() == cpu == "cpu" and wf.zeros(2).device == cpu
        with wf.device("cpu"):
            pass
        assert wf.device() == cpu
    x = wf.asarray([1.0, 2.0], device="cpu")
    assert x.device == "cpu" and x.to_device("cpu").tolist() == [1, 2]
    assert wf.zeros(2, device="cpu").device == wf.device("cpu")
    with pytest.raises(ValueError, match="no device is called"):
        wf.device("a device of no machine")
    y = wf.ones((256, 256)) + 0
    wf.wait(y)
    assert wf.memory.live() >= 2**18 and wf.memory.peak() >= wf.memory.live()


def test_files(tmp_path):
    x, y = wf.asarray([1.0, 2.0]), wf.asarray([[1, 2]], dtype="int16")
    wf.save(tmp_path / "x.npy", x)
    assert np.load(tmp_path / "x.npy").tolist() == wf.load(tmp_path / "x.npy").tolist() == [1, 2]
    wf.save(tmp_path / "xy.npz", {"x": x, "y": y})
    assert np.load(tmp_path / "xy.npz")["y"].dtype == "int16"
    assert wf.load(tmp_path / "xy.npz")["y"].tolist() == [[1, 2]]
    wf.save(tmp_path / "xy.safetensors", {"x": x.astype(wf.bfloat16)}, metadata={"made by": "a test"})
    assert wf.load(tmp_path / "xy.safetensors")["x"].dtype is wf.bfloat16
    assert wf.load_metadata(tmp_path / "xy.safetensors") == {"made by": "a test"}
    with pytest.raises(ValueError):
        wf.save(tmp_path / "x.txt", x)
    with pytest.raises(TypeError):
        wf.save(tmp_path / "x.npy", x.astype(wf.bfloat16))


def test_graphs_in_files(tmp_path):
    f = wf.compile(lambda a, b: (wf.exp(a) @ b, a.sum()))
    a, b = wf.asarray([[1.0, 2.0]]), wf.asarray([[3.0], [4.0]])
    f.save(tmp_path / "f.safetensors", a, b)
    g = wf.load_graph(tmp_path / "f.safetensors")
    assert len(g.inputs) == 2 and len(g.outputs) == 2
    made = g(a, b)
    np.testing.assert_allclose(np.asarray(made[g.outputs[0]]), np.asarray(f(a, b)[0]), rtol=1e-6)
    with pytest.raises(TypeError):
        g(a)
    with pytest.raises(TypeError):
        g(a, b, a)


def test_graphs_in_files_at_other_shapes(tmp_path):
    w = wf.random.normal((4, 6))
    f = wf.compile(lambda x: wf.flatten_axes(wf.unflatten(x @ w, -1, (2, -1))[:, ::-1], 1))
    x = wf.random.normal((2, 4))
    f.save(tmp_path / "f.safetensors", x)
    g = wf.load_graph(tmp_path / "f.safetensors")
    for n in (2, 5, 1, 0):
        x = wf.random.normal((n, 4))
        at = g.with_shapes({g.inputs[0]: (n, 4)})
        np.testing.assert_allclose(np.asarray(at(x)), np.asarray(f(x)), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"float32 \[3, 4\].*recorded for.*\[2, 4\].*with_shapes"):
        g(wf.ones((3, 4)))
    now = g.with_shapes({g.inputs[0]: (7, 4)})
    assert "[7, 6]" in str(now) and "[7, 6]" not in str(g)
    with pytest.raises(ValueError, match="axes"):
        g.with_shapes({g.inputs[0]: (2, 2, 4)})
    with pytest.raises(ValueError, match="no input is called"):
        g.with_shapes({"z": (1, 4)})
    wf.compile(lambda x: wf.reshape(x, (4, 2))).save(tmp_path / "h.safetensors", wf.ones((2, 4)))
    h = wf.load_graph(tmp_path / "h.safetensors")
    with pytest.raises(ValueError, match="reshape"):
        h.with_shapes({h.inputs[0]: (3, 4)})
