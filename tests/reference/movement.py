"""Movement, indexing, scans and compaction by NumPy, for the CPU kernels: writes tests/data/movement/*.npy."""
import pathlib

import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "movement"
OUT.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(5)


def save(name, value):
    np.save(OUT / f"{name}.npy", np.ascontiguousarray(value))


x = rng.integers(-9, 10, (4, 6, 5)).astype(np.float32)
x[x == 0] = 0.5
x[1, 2:4] = 0
save("x", x)

widths = ((2, 1), (0, 3), (9, 4))
save("pad_constant", np.pad(x, widths, constant_values=7))
for mode in ("edge", "reflect", "symmetric", "wrap"):
    save(f"pad_{mode}", np.pad(x, widths, mode=mode))
save("tile", np.tile(x, (2, 1, 3)))
save("repeat", np.repeat(x, 3, axis=1))
save("roll", np.roll(x, (1, -2, 7), axis=(0, 1, 2)))
save("tril", np.tril(x, 1))
save("triu", np.triu(x, -1))
save("eye", np.eye(5, 7, 2, dtype=np.float32))
save("arange", np.arange(40, dtype=np.float32) * np.float32(0.75) + np.float32(-3))
save("linspace", np.linspace(-2, 5, 33).astype(np.float32))

along = rng.integers(-6, 6, (4, 3, 5))
save("along", along)
save("take_along", np.take_along_axis(x, along, 1))
order = np.argsort(rng.random((4, 6, 5)), axis=1)[:, :4]
put = x.copy()
values = rng.integers(-9, 10, order.shape).astype(np.float32)
np.put_along_axis(put, order, values, 1)
save("order", order)
save("values", values)
save("put_along", put)

pairs = np.stack([rng.integers(0, 4, 20), rng.integers(0, 6, 20)], axis=1).astype(np.int32)
rows = rng.integers(-2, 3, (20, 5)).astype(np.float32)
save("pairs", pairs)
save("rows", rows)
save("take_pairs", x[pairs[:, 0], pairs[:, 1]])
for name, at in (("add", np.add), ("mul", np.multiply), ("min", np.minimum), ("max", np.maximum)):
    y = x.copy()
    at.at(y, (pairs[:, 0], pairs[:, 1]), rows)
    save(f"scatter_{name}", y)

d = x.astype(np.float64)
scans = {
    "sum": np.cumsum,
    "prod": np.cumprod,
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
    "log_sum_exp": np.logaddexp.accumulate,
}
identity = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf, "log_sum_exp": -np.inf}
for name, scan in scans.items():
    forward, back = scan(d, axis=1), np.flip(scan(np.flip(d, 1), axis=1), 1)
    shifted = np.concatenate([np.full((4, 1, 5), identity[name]), forward[:, :-1]], axis=1)
    save(f"scan_{name}", np.stack([forward, back, shifted]))

save("compress", x[x != 0])
save("nonzero", np.argwhere(x))
expanded = np.zeros_like(x)
expanded[x != 0] = np.arange(np.count_nonzero(x), dtype=np.float32)
save("expand", expanded)
