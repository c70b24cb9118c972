"""weft.onnx: models that are made here as bytes of the format."""

import pathlib
import struct
import threading

import numpy as np
import pytest

import weft as wf

FLOAT, INT64, BOOL = 1, 7, 9
ROOT = pathlib.Path(__file__).resolve().parents[3]


# ---- The wire format of protocol buffers


def varint(value):
    value &= 2**64 - 1
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, bytes):  # a graph
        return field(1, name) + field(6, value) + field(20, 5)
    return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)


def node(op, inputs, outputs, domain="", **attributes):
    parts = [field(1, i) for i in inputs] + [field(2, o) for o in outputs] + [field(4, op), field(7, domain)]
    return field(1, b"".join(parts + [field(5, attribute(n, v)) for n, v in attributes.items()]))


def tensor(name, array):
    array = np.ascontiguousarray(array)
    kind = {"float32": FLOAT, "int64": INT64}[array.dtype.name]
    return field(5, b"".join(field(1, d) for d in array.shape) + field(2, kind) + field(8, name) + field(9, array.tobytes()))


def tensor_type(kind, shape):
    sizes = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in shape)
    return field(1, field(1, kind) + field(2, sizes))


def port(number, name, type_proto):
    return field(number, field(1, name) + field(2, type_proto))


def input(name, kind, shape):
    return port(11, name, tensor_type(kind, shape))


def output(name, kind, shape):
    return port(12, name, tensor_type(kind, shape))


def model(*parts, opset=21, more=b""):
    graph = b"".join(parts) + field(2, "made")
    return field(1, 10) + field(2, "test") + field(8, field(1, "") + field(2, opset)) + field(7, graph) + more


W = np.arange(12, dtype="f4").reshape(4, 3) / 10
B = np.array([1, 0, -1], "f4")


def linear():
    return model(
        node("MatMul", ["x", "w"], ["xw"]),
        node("Add", ["xw", "b"], ["z"]),
        node("Relu", ["z"], ["y"]),
        tensor("w", W),
        tensor("b", B),
        input("x", FLOAT, ["n", 4]),
        output("y", FLOAT, ["n", 3]),
        more=field(14, field(1, "licence") + field(2, "none")),
    )


@pytest.fixture
def path(tmp_path):
    (tmp_path / "linear.onnx").write_bytes(linear())
    return tmp_path / "linear.onnx"


# ---- Calls


def test_a_model_is_a_function(path):
    m = wf.onnx.load(path)
    x = np.random.default_rng(0).normal(size=(5, 4)).astype("f4")
    want = np.maximum(x @ W + B, 0)
    for y in (m(x), m(x=x), m(wf.asarray(x)), m(x.tolist())):
        assert isinstance(y, wf.Array) and y.dtype == wf.float32 and y.device == m.device == wf.device()
        np.testing.assert_allclose(y, want, atol=1e-5)
    assert m.compilations == 1 and m.readbacks == ()
    assert m(wf.ones((2, 4))).shape == (2, 3) and m(wf.ones((0, 4))).shape == (0, 3)
    assert m.compilations == 3
    assert repr(m).startswith("<weft.onnx.Model (x: tensor(float)[n, 4]) -> (y: tensor(float)[n, 3]) on ")


def test_what_is_in_a_model(path):
    m = wf.onnx.load(path)
    d = wf.onnx.describe(path)
    assert m.description == d and m.inputs == d.inputs and m.outputs == d.outputs
    assert d.inputs == (wf.onnx.Port("x", "tensor(float)", wf.float32, ("n", 4)),)
    assert d.outputs[0].shape == ("n", 3)
    assert (d.name, d.producer, d.ir_version, d.opsets) == ("made", "test", 10, {"ai.onnx": 21})
    assert d.metadata == {"licence": "none"} and (d.parameters, d.weight_bytes) == (15, 60)
    assert [(o.domain, o.name, o.count, o.supported) for o in d.operators] == [
        ("ai.onnx", name, 1, True) for name in ("Add", "MatMul", "Relu")
    ]
    assert (d.files, d.external_bytes, d.problems, d.remarks) == ((), 0, (), ())
    (path.parent / "other.onnx").write_bytes(model(node("StringConcat", ["x", "x"], ["y"]), input("x", 11, [2])))
    d = wf.onnx.describe(path.parent / "other.onnx")
    assert not d.operators[0].supported and "texts" in d.operators[0].reason
    assert len(d.remarks) == 1 and "float64" in d.remarks[0]


def test_devices_and_precision(path):
    x = np.ones((2, 4), "f4")
    m = wf.onnx.load(path, "cpu")
    assert m.device == wf.device("cpu") and m(x).device == wf.device("cpu")
    with wf.device("cpu"):
        assert wf.onnx.load(path).device == wf.device("cpu")
    want = m(x).numpy()
    for precision in ("float32", "float16", "auto"):
        np.testing.assert_allclose(wf.onnx.load(path, precision=precision)(x), want, rtol=2e-3)
    with wf.precision("float16"):
        np.testing.assert_allclose(wf.onnx.load(path)(x), want, rtol=2e-3)
    with pytest.raises(ValueError, match="precision is 'half'"):
        wf.onnx.load(path, precision="half")


def test_several_outputs_names_that_are_not_pythons_and_shapes_that_are_read():
    m = wf.onnx.load(
        model(
            node("TopK", ["input.1", "k"], ["values", "places"]),
            node("Reshape", ["values", "to"], ["y"]),
            input("input.1", FLOAT, [6]),
            input("k", INT64, [1]),
            input("to", INT64, [2]),
            output("y", FLOAT, ["a", "b"]),
            output("places", INT64, ["k"]),
        )
    )
    x = np.array([3, 1, 4, 1, 5, 9], "f4")
    y, places = m(x, [4], to=[2, 2])
    assert y.tolist() == [[9, 5], [4, 3]] and places.tolist() == [5, 4, 2, 0] and places.dtype == wf.int64
    y, places = m(**{"input.1": x, "k": np.array([2]), "to": np.array([1, -1])})
    assert y.tolist() == [[9, 5]]
    assert {(r.value, r.op, r.bytes, r.count) for r in m.readbacks} == {("k", "TopK", 8, 2), ("to", "Reshape", 16, 2)}


def test_a_fallback_to_the_cpu():
    double = 11
    bytes_ = model(
        node("Exp", ["x"], ["e"]),
        node("Cast", ["e"], ["d"], to=double),
        node("Sqrt", ["d"], ["y"]),
        input("x", FLOAT, ["n"]),
        output("y", double, ["n"]),
    )
    m = wf.onnx.load(bytes_, fallback="cpu")
    np.testing.assert_allclose(m(np.zeros(3, "f4")), np.ones(3))
    if m.device == wf.device("cpu"):
        assert m.on_fallback == ()
        return
    assert ("Sqrt", True) in [(n.op, "f64" in n.reason) for n in m.on_fallback]
    with pytest.raises(wf.Unsupported, match="Sqrt"):
        wf.onnx.load(bytes_)(np.zeros(3, "f4"))


def test_a_model_inside_of_functions(path):
    m = wf.onnx.load(path)
    x = np.random.default_rng(0).normal(size=(5, 4)).astype("f4")
    f = wf.compile(lambda v: m(v * 2) + 1)
    np.testing.assert_allclose(f(wf.asarray(x)), np.maximum(2 * x @ W + B, 0) + 1, atol=1e-5)
    slope = wf.grad(lambda v: wf.sum(m(v)))(wf.asarray(x))
    np.testing.assert_allclose(slope, ((x @ W + B) > 0).astype("f4") @ W.T, atol=1e-5)


def test_sequences_are_lists_and_optionals_are_none():
    sequence = field(4, field(1, tensor_type(FLOAT, ["n"])))  # TypeProto's sequence_type
    m = wf.onnx.load(
        model(
            node("SequenceAt", ["s", "last"], ["x"]),
            node("SequenceInsert", ["s", "x"], ["longer"]),
            node("ConcatFromSequence", ["longer"], ["all"], axis=0),
            tensor("last", np.array(-1, "i8")),
            port(11, "s", sequence),
            port(12, "longer", sequence),
            output("all", FLOAT, ["m"]),
        )
    )
    assert m.inputs == (wf.onnx.Port("s", "seq(tensor(float))", None, None),)
    longer, whole = m([wf.ones(2), np.array([3], "f4")])
    assert isinstance(longer, list) and [x.tolist() for x in longer] == [[1, 1], [3], [3]]
    assert whole.tolist() == [1, 1, 3, 3]
    with pytest.raises(TypeError, match="'s' is a seq.*a list of arrays"):
        m(np.ones(2, "f4"))

    optional = field(9, field(1, tensor_type(FLOAT, ["n"])))  # optional_type
    m = wf.onnx.load(
        model(
            node("OptionalHasElement", ["o"], ["there"]),
            node("Identity", ["o"], ["same"]),
            port(11, "o", optional),
            output("there", BOOL, []),
            port(12, "same", optional),
        )
    )
    there, same = m([1.0, 2.0])
    assert bool(there) and same.tolist() == [1, 2]
    for results in (m(None), m()):
        assert not bool(results[0]) and results[1] is None


def test_branches_and_loops():
    then = output("a", FLOAT, ["n"]) + node("Add", ["x", "x"], ["a"])
    other = output("b", FLOAT, ["n"]) + node("Concat", ["x", "x"], ["b"], axis=0)
    m = wf.onnx.load(
        model(
            node("If", ["c"], ["y"], then_branch=then, else_branch=other),
            input("c", BOOL, []),
            input("x", FLOAT, [2]),
            output("y", FLOAT, ["n"]),
        )
    )
    assert m(True, [1.0, 2.0]).tolist() == [2, 4] and m(False, [1.0, 2.0]).tolist() == [1, 2, 1, 2]


def test_any_number_of_threads(path):
    m = wf.onnx.load(path)
    results = {}

    def run(i):
        results[i] = m(np.full((1 + i % 3, 4), i, "f4")).numpy()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(8):
        x = np.full((1 + i % 3, 4), i, "f4")
        np.testing.assert_allclose(results[i], np.maximum(x @ W + B, 0), rtol=1e-5)


def test_data_in_files_of_their_own(tmp_path):
    location = field(13, field(1, "location") + field(2, "weights.bin"))  # external_data
    weights = field(5, field(1, 3) + field(2, FLOAT) + field(8, "w") + location + field(14, 1))
    text = model(node("Mul", ["x", "w"], ["y"]), weights, input("x", FLOAT, [3]), output("y", FLOAT, [3]))
    (tmp_path / "m.onnx").write_bytes(text)
    (tmp_path / "weights.bin").write_bytes(struct.pack("<3f", 1, 2, 3))
    x = wf.ones(3) * 2
    assert wf.onnx.load(tmp_path / "m.onnx")(x).tolist() == [2, 4, 6]
    assert wf.onnx.load(text, folder=tmp_path)(x).tolist() == [2, 4, 6]
    with pytest.raises((wf.FormatError, OSError)):
        wf.onnx.load(text)(x)
    with pytest.raises(TypeError, match="a folder goes with bytes"):
        wf.onnx.load(tmp_path / "m.onnx", folder=tmp_path)


def test_the_digits_of_the_examples():
    data = ROOT / "examples/data"
    m = wf.onnx.load(data / "digits.onnx")
    probabilities, digit = m(wf.load(data / "digits.npy"))
    right = (digit.numpy() == np.load(data / "digits_labels.npy")).mean()
    assert right > 0.99 and probabilities.shape == (1797, 10)


# ---- Errors


def test_wrong_inputs(path):
    m = wf.onnx.load(path)
    x = np.ones((2, 4), "f4")
    with pytest.raises(TypeError, match="has 1 inputs, got 2"):
        m(x, x)
    with pytest.raises(TypeError, match="'x' is given twice"):
        m(x, x=x)
    with pytest.raises(ValueError, match="'x' is missing"):
        m()
    with pytest.raises(ValueError, match="no input is called 'z'"):
        m(x, z=x)
    with pytest.raises(TypeError, match="'x' is int32, expected float32"):
        m(np.ones((2, 4), "i4"))
    with pytest.raises(ValueError, match=r"'x' is \[2, 5\], expected \[n, 4\]"):
        m(np.ones((2, 5), "f4"))
    with pytest.raises(ValueError, match="'x' is None, and is no optional"):
        m(None)


def test_numbers_that_a_type_does_not_have():
    uint8 = 2
    m = wf.onnx.load(model(node("Identity", ["pixels"], ["y"]), input("pixels", uint8, ["n", 2]), output("y", uint8, ["n", 2])))
    assert m([[0, 255], [2.0, np.int64(3)]]).tolist() == [[0, 255], [2, 3]]
    for wrong in (300, -1, 1.5, float("nan"), float("inf"), 2**63, np.int64(300)):
        with pytest.raises(ValueError, match=r"input 'pixels' is given .* at \[1, 0\], expected uint8, whole numbers from 0 to 255"):
            m([[0, 1], [wrong, 2]])
    with pytest.raises(ValueError, match="expected uint8"):
        m.graph(constants={"pixels": [[300, 1]]})
    truth = wf.onnx.load(model(node("Not", ["x"], ["y"]), input("x", BOOL, []), output("y", BOOL, [])))
    assert bool(truth(0)) and not bool(truth(True))
    with pytest.raises(ValueError, match="input 'x' is given 2, expected bool, 0 and 1"):
        truth(2)


def test_wrong_shapes_of_graphs(path):
    m = wf.onnx.load(path)
    for shape, told in (
        ((2.5, 4), "the shape of input 'x' is 2.5, expected an integer"),
        ("ab", "the shape of input 'x' is 'a', expected an integer"),
        (None, "the shape of input 'x' is None, expected an integer or a sequence"),
    ):
        with pytest.raises(TypeError, match=told):
            m.graph({"x": shape})
    with pytest.raises(ValueError, match="the shape of input 'x' is 1180591620717411303424, and has to fit into 64 bits"):
        m.graph({"x": (2**70, 4)})
    for call in (lambda: m.graph({"y": (2, 4)}), lambda: m.graph(constants={"y": 1.0})):
        with pytest.raises(ValueError, match="no input is called 'y'; there are 'x'"):
            call()
    with pytest.raises(TypeError, match="is called 3, expected a name"):
        m.graph({3: (2, 4)})
    with pytest.raises(TypeError, match="shapes is 'x', expected a mapping"):
        m.graph("x")


def test_wrong_arguments(path, tmp_path):
    bytes_ = path.read_bytes()
    for same in (bytearray(bytes_), memoryview(bytes_)):
        assert wf.onnx.load(same).inputs == wf.onnx.load(bytes_).inputs
    for call, told in (
        (lambda: wf.onnx.load(path, device=0), "device is 0, expected a Device"),
        (lambda: wf.onnx.load(path, fallback=0), "fallback is 0, expected a Device"),
        (lambda: wf.onnx.load(path, precision=16), "precision is 16, expected 'float32'"),
        (lambda: wf.onnx.load(3), "expected the path of a file .*, got int"),
        (lambda: wf.onnx.describe(bytes_), "expected the path of a file .*, got bytes"),
        (lambda: wf.onnx.load(path, operators=[1]), r"operators is \[1\], expected a mapping"),
        (lambda: wf.onnx.load(path, operators={"ai.onnx.Sin": 3}), "'ai.onnx.Sin' is 3, expected a function"),
        (lambda: wf.onnx.load(path, operators={1: len}), "an operator is called 1"),
        (lambda: wf.onnx.Model("x"), r"got 'x'; weft.onnx.load\(\) makes one"),
    ):
        with pytest.raises(TypeError, match=told):
            call()
    for call in (wf.onnx.load, wf.onnx.describe):
        with pytest.raises(ValueError, match="holds a zero byte"):
            call("a\0b")


def test_messages_are_texts():
    bad = field(5, field(1, "mode") + field(4, b"\xff\xfe") + field(20, 3))
    resize = field(1, field(1, "x") + field(1, "") + field(1, "s") + field(2, "y") + field(4, "Resize") + bad)
    m = wf.onnx.load(model(resize, tensor("s", np.array([2], "f4")), input("x", FLOAT, ["n"]), output("y", FLOAT, ["n"])))
    with pytest.raises((wf.FormatError, wf.Unsupported, ValueError), match=r"\\xff\\xfe"):
        m(np.ones(2, "f4"))


def test_files_that_are_no_models_or_have_operators_that_weft_lacks(tmp_path):
    with pytest.raises(OSError):
        wf.onnx.load(tmp_path / "nowhere.onnx")
    (tmp_path / "text.onnx").write_bytes(b"\xff" * 100)
    for call in (wf.onnx.load, wf.onnx.describe):
        with pytest.raises(wf.FormatError, match="text.onnx"):
            call(tmp_path / "text.onnx")
    text = model(node("Nothing", ["x"], ["y"], domain="mine"), input("x", FLOAT, [3]), output("y", FLOAT, [3]))
    (tmp_path / "m.onnx").write_bytes(text)
    with pytest.raises(wf.Unsupported, match="mine.Nothing"):
        wf.onnx.load(text)
    (use,) = wf.onnx.describe(tmp_path / "m.onnx").operators
    assert (use.domain, use.name, use.supported) == ("mine", "Nothing", False)


# ---- Writing, graphs and operators of a program's own


def test_a_function_is_saved_and_computes_the_same(tmp_path):
    w = wf.asarray(W)
    f = wf.compile(lambda x: wf.nn.silu(x @ w) + 1)
    x = np.random.default_rng(1).normal(size=(5, 4)).astype("f4")
    wf.onnx.save(tmp_path / "f.onnx", f, wf.asarray(x))
    m = wf.onnx.load(tmp_path / "f.onnx")
    assert m.description.producer == "weft" and m.description.opsets["ai.onnx"] == 21
    np.testing.assert_array_equal(np.asarray(m(x)), np.asarray(f(wf.asarray(x))))
    g = m.graph()
    np.testing.assert_array_equal(np.asarray(g(x)), np.asarray(m(x)))
    wf.onnx.save(tmp_path / "g.onnx", g, opset=25, external_data=True)
    assert wf.onnx.describe(tmp_path / "g.onnx").opsets["ai.onnx"] == 25
    with pytest.raises(TypeError, match="takes no arguments"):
        wf.onnx.save(tmp_path / "g.onnx", g, x)
    with pytest.raises(TypeError, match="weft.compile"):
        wf.onnx.save(tmp_path / "g.onnx", lambda x: x, x)
    with pytest.raises(wf.Unsupported, match="cannot be said in ONNX"):
        wf.onnx.save(tmp_path / "g.onnx", wf.compile(wf.linalg.cholesky), wf.ones((2, 2)))


def test_the_graph_of_a_model(path):
    m = wf.onnx.load(path)
    with pytest.raises(ValueError, match="the shape of input 'x' is missing"):
        m.graph()
    g = m.graph({"x": (2, 4)})
    np.testing.assert_allclose(np.asarray(g(np.ones((2, 4), "f4"))), np.maximum(np.ones((2, 4)) @ W + B, 0), atol=1e-5)


def test_an_operator_of_the_programs_own():
    attribute = field(1, "scale") + struct.pack("<Bf", 2 << 3 | 5, 2.0) + field(20, 1)
    own = field(1, field(1, "x") + field(2, "y") + field(4, "ScaledTanh") + field(5, attribute) + field(7, "my.domain"))
    made = model(own, input("x", FLOAT, ["n"]), output("y", FLOAT, ["n"]))
    with pytest.raises(wf.Unsupported, match="my.domain.ScaledTanh"):
        wf.onnx.load(made)
    calls = []

    def scaled_tanh(node):
        calls.append(node)
        return wf.tanh(node.inputs[0] * node.attributes["scale"])

    m = wf.onnx.load(made, operators={"my.domain.ScaledTanh": scaled_tanh})
    x = np.array([0.1, -0.3], "f4")
    np.testing.assert_allclose(np.asarray(m(x)), np.tanh(2 * x), rtol=1e-5)
    m(x)
    assert len(calls) == 1 and calls[0].outputs == 1 and calls[0].version == 1
    with pytest.raises(ZeroDivisionError):
        wf.onnx.load(made, operators={"my.domain.ScaledTanh": lambda node: 1 / 0})(x)
    for nothing in (None, (), [None]):
        with pytest.raises(TypeError, match="'my.domain.ScaledTanh' returned .*, expected an array"):
            wf.onnx.load(made, operators={"my.domain.ScaledTanh": lambda node, nothing=nothing: nothing})(x)
    with pytest.raises(ValueError, match="has no domain"):
        wf.onnx.load(made, operators={"ScaledTanh": scaled_tanh})
