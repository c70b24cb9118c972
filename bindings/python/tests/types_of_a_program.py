"""A program whose types mypy checks in strict mode (./dev python types), and pyright where it is (test_types.py)."""

import weft as wf
import numpy as np


def loss(w: wf.Array, x: wf.Array) -> wf.Array:
    return ((x @ w - 1) ** 2).mean()


x: wf.Array = wf.random.normal((4, 3))
y = wf.asarray(np.ones((3, 2)), dtype="float32")
z: wf.Array = wf.nn.softmax(x @ y * 2 + 1, axis=-1)
values, indices = wf.top_k(z, k=1)
q = wf.linalg.qr(x).Q + wf.zeros((4, 3))
q += 1
s: float = q.sum(axis=0).mean().item()
parts: tuple[wf.Array, ...] = wf.unstack(wf.concat([x, x]), axis=0)
t = wf.sum(x, axis=(0, 1), keepdims=True, dtype=wf.float32)
e = wf.losses.mse_loss(x, x, reduction="mean")
wf.save("x.npy", x)
with wf.device("cpu") as d:
    print(d.name, wf.finfo(wf.float32).eps, -x, x[0], abs(x), x > 1, x == 1, float(x[0, 0]))


def as_given(x: wf.Array) -> wf.ArrayType:
    return wf.ArrayType(x.shape, x.dtype)


def squared(x: wf.Array) -> wf.Array:
    return x * x


square: wf.Kernel = wf.kernel(
    "fn kernel(i: u32) { store_y(i, load_x(i) * load_x(i)); }",
    results=as_given,
    cpu=squared,
)
print(square(x), square.name, square.numbers)
try:
    wf.eval(square(x))
except wf.KernelError as error:
    line: int = error.line
    print(line, error.message)
with wf.profile("step.html", repeats=2) as profile:
    with profile.span("a product"):
        wf.wait(x @ y)
row: wf.ProfileRow = profile.rows[0]
print(row.kernel, row.seconds, profile.table(), profile.kernel_seconds)

context = wf.webnn.create_context(power_preference="low-power")
builder = wf.webnn.MLGraphBuilder(context)
operand: wf.webnn.MLOperand = builder.input("x", wf.float32, (1, 3, 8, 8))
halves: list[wf.webnn.MLOperand] = builder.split(operand, 2, axis=2)
pooled = builder.average_pool2d(halves[0], window_dimensions=(2, 2), layout="nchw", label="pool")
graph: wf.webnn.MLGraph = builder.build({"y": pooled})
tensor = context.create_tensor("float32", graph.outputs["y"][1], readable=True)
back: wf.Array = context.read_tensor(tensor)
ranks: int = context.op_support_limits().ops["conv2d"]["filter"].min_rank
lost: str | None = context.lost

network: wf.onnx.Model = wf.onnx.load("model.onnx", "cpu", precision="float16")
scores = network(x, mask=None)
port: wf.onnx.Port = network.inputs[0]
width: int | str | None = port.shape[-1] if port.shape else None
missing: list[str] = [use.name for use in wf.onnx.describe("model.onnx").operators if not use.supported]

encoder = wf.SentenceEncoder("model", batch_size=16).set_params(device="cpu")
vectors: wf.Array = encoder.encode(["A sentence."])
