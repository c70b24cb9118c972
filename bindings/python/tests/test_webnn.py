"""weft.webnn: contexts, builders, tensors and errors of the Web Neural Network API."""

import asyncio
import inspect

import numpy as np
import pytest

import weft as wf
from weft import webnn


@pytest.fixture
def context():
    return webnn.create_context()


def run(context, graph, **inputs):
    """The outputs by name, of inputs by name."""
    into, out = {}, {}
    for name, (data_type, shape) in graph.inputs.items():
        into[name] = context.create_tensor(data_type, shape, writable=True)
        context.write_tensor(into[name], inputs[name])
    for name, (data_type, shape) in graph.outputs.items():
        out[name] = context.create_tensor(data_type, shape, readable=True)
    context.dispatch(graph, into, out)
    return {name: np.asarray(context.read_tensor(tensor)) for name, tensor in out.items()}


def test_a_graph(context):
    rng = np.random.default_rng(1)
    weights, image = rng.normal(size=(4, 3, 3, 3)).astype("f4"), rng.normal(size=(1, 3, 8, 8)).astype("f4")
    b = webnn.MLGraphBuilder(context)
    x = b.input("x", "float32", (1, 3, 8, 8))
    assert (x.data_type, x.shape) == ("float32", (1, 3, 8, 8))
    y = b.relu(b.conv2d(x, b.constant(weights), padding=(1, 1, 1, 1), strides=[2, 2], label="stem"))
    first, second = b.split(y, 2, axis=1)
    graph = b.build({"y": y, "pooled": b.average_pool2d(second, window_dimensions=(2, 2))})
    assert graph.inputs == {"x": ("float32", (1, 3, 8, 8))}
    assert graph.outputs == {"y": ("float32", (1, 4, 4, 4)), "pooled": ("float32", (1, 2, 3, 3))}
    made = run(context, graph, x=image)
    want = wf.nn.relu(wf.nn.conv(image, weights, strides=(2, 2), padding=(1, 1)))
    np.testing.assert_allclose(made["y"], want, atol=1e-5)
    np.testing.assert_allclose(made["pooled"], wf.nn.average_pool(want[:, 2:], window=(2, 2), strides=(1, 1)), atol=1e-5)
    assert context.accelerated == wf.device().is_gpu and context.device == wf.device()


def test_every_operation_has_a_method_with_a_signature_and_a_text(context):
    limits = context.op_support_limits()
    assert len(limits.ops) > 90
    for name in limits.ops:
        method = getattr(webnn.MLGraphBuilder, name)
        assert method.__doc__.startswith("WebNN's ") and "https://www.w3.org/TR/webnn/#" in method.__doc__
        assert "label" in inspect.signature(method).parameters
    assert {"is_nan", "gather_nd", "reduce_log_sum_exp", "l2_pool2d", "conv_transpose2d"} <= set(limits.ops)
    assert limits.ops["conv2d"]["filter"] == (("float32", "float16"), 4, 4)
    assert "float32" in limits.input.data_types and limits.max_tensor_byte_length > 2**20


def test_constants_numbers_and_data_types(context):
    b = webnn.MLGraphBuilder(context)
    x = b.input("x", wf.int32, [3])
    constant = context.create_constant_tensor([1, 2, 3], "int32")
    assert constant.constant and not constant.writable
    y = b.add(b.add(x, b.constant(constant)), b.constant(10, "int32"))
    z = b.cast(b.clamp(b.cast(y, np.float32), max_value=12.5), "float16")
    w = b.dequantize_linear(
        b.constant([[1, 2, -3]], "int4"), b.constant(np.float32([[0.5]])), b.constant(bytes(1), "int4", (1, 1))
    )
    made = run(context, b.build({"y": y, "z": z, "w": w}), x=np.int32([0, 1, 2]))
    assert made["y"].tolist() == [11, 13, 15]
    assert made["z"].dtype == np.float16 and made["z"].tolist() == [11, 12.5, 12.5]
    assert made["w"].tolist() == [[0.5, 1, -1.5]]


def test_several_results_of_a_recurrent_network(context):
    b = webnn.MLGraphBuilder(context)
    x = b.input("x", "float32", (2, 1, 3))
    weights = b.constant(np.full((1, 12, 3), 0.1, "f4")), b.constant(np.full((1, 12, 4), 0.1, "f4"))
    hidden, sequence = b.gru(x, *weights, 2, 4, return_sequence=True, activations=["sigmoid", "tanh"])
    made = run(context, b.build({"hidden": hidden, "sequence": sequence}), x=np.ones((2, 1, 3), "f4"))
    np.testing.assert_allclose(made["sequence"][-1], made["hidden"])


def test_reading_in_a_coroutine_and_building_in_one(context):
    async def program():
        b = webnn.MLGraphBuilder(context)
        graph = await b.build_async({"y": b.neg(b.input("x", "float32", [2]))})
        x = context.create_tensor("float32", [2], writable=True)
        y = context.create_tensor("float32", [2], readable=True)
        context.write_tensor(x, [1, 2])
        context.dispatch(graph, {"x": x}, {"y": y})
        return await context.read_tensor_async(y)

    assert asyncio.run(program()).tolist() == [-1, -2]


def test_errors_are_the_specifications(context):
    b = webnn.MLGraphBuilder(context)
    x = b.input("x", "float32", (1, 3, 8, 8))
    with pytest.raises(TypeError, match=r"conv2d \[stem\]: filter is float32 \[4, 2, 3, 3\]"):
        b.conv2d(x, b.constant(np.ones((4, 2, 3, 3), "f4")), label="stem")
    with pytest.raises(TypeError, match="conv2d: filter is 3, expected an MLOperand"):
        b.conv2d(x, 3)
    with pytest.raises(TypeError, match=r"relu\(\) got an unexpected keyword argument 'alpha'"):
        b.relu(x, alpha=1)
    with pytest.raises(TypeError, match="gru: steps is 'a', expected a number"):
        b.gru(x, x, x, "a", 3)
    with pytest.raises(TypeError, match="build: there are no outputs"):
        b.build({})
    graph = b.build({"y": b.relu(x)})
    with pytest.raises(webnn.InvalidStateError):
        b.relu(x)
    tensor = context.create_tensor("float32", (2, 2), writable=True)
    with pytest.raises(TypeError, match="the data is float64, expected float32"):
        context.write_tensor(tensor, np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"the data has the shape \(3,\), expected \(2, 2\)"):
        context.write_tensor(tensor, [1, 2, 3])
    with pytest.raises(TypeError):
        context.read_tensor(tensor)
    with pytest.raises(TypeError, match="dispatch"):
        context.dispatch(graph, {}, {})
    tensor.destroy()
    assert tensor.destroyed
    with pytest.raises(webnn.InvalidStateError, match="the tensor is destroyed"):
        context.write_tensor(tensor, np.ones((2, 2), "f4"))
    with pytest.raises(TypeError, match="power_preference is 'fast'"):
        webnn.create_context(power_preference="fast")


def test_a_context_that_is_destroyed_is_lost(context):
    assert context.lost is None
    tensor = context.create_tensor("float32", (2,), readable=True)
    context.destroy()
    assert context.lost == "destroy() was called on the context" and tensor.destroyed
    with pytest.raises(webnn.InvalidStateError):
        context.create_tensor("float32", (2,))


def test_wishes():
    assert not webnn.create_context("cpu").accelerated
    assert not webnn.create_context(accelerated=False).accelerated
    assert webnn.create_context(wf.device()).device == wf.device()
