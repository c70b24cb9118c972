"""A program whose types mypy checks in strict mode (./dev python types)."""

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
