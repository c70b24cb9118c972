"""Moments, argmin and argmax, norms, sort and top-k by NumPy in f64, for the CPU kernels: adds to tests/data/rows/*.npy.

Reads x.npy, special.npy, scale.npy and integers.npy, which rows.py made."""
import pathlib

import numpy as np
import scipy.special

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "rows"


def load(name):
    return np.load(OUT / f"{name}.npy")


def save(name, value):
    np.save(OUT / f"{name}.npy", value)


def flattened(f, x, axes_list):
    """The results for each of `axes_list`, one after the other."""
    return np.concatenate([np.ravel(f(x, axes)) for axes in axes_list])


def log_softmax(x, axis):
    top = x.max(axis, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(axis, keepdims=True))


def group_norm(x, groups, scale, bias, epsilon):
    """Channels at axis 1."""
    rows = x.reshape(x.shape[0], groups, -1)
    rows = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + epsilon)
    weight = (1, -1) + (1,) * (x.ndim - 2)
    return rows.reshape(x.shape) * scale.reshape(weight) + bias.reshape(weight)


def layer_norm(x, epsilon):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def work_around_rows(x, row, column):
    """Softmax and norms of expressions, and expressions of them."""
    turned = x[::-1, :, ::-1]
    total = x + turned
    save("work_softmax", np.exp(log_softmax(0.5 * x + row, -1)))
    save("work_log_softmax", -log_softmax(np.abs(x) + row, 1))
    save("work_layer_norm", layer_norm(total, 1e-3) * column)
    save("work_sum", total)
    halves = x.astype(np.float16).astype(np.float64) + turned
    save("work_rms_norm", halves / np.sqrt((halves * halves).mean(-1, keepdims=True) + 1e-3) * row)
    normal = layer_norm(x, 1e-3) * row + row
    save("work_gelu", 0.5 * normal * (1 + scipy.special.erf(normal / np.sqrt(2))))


def order(x, axis, descending):
    """Stable, NaN last, -0 equal to 0: lexsort by the value, then whether it is NaN."""
    nan = np.isnan(x)
    key = np.where(nan, 0, -x if descending else x) + 0.0
    return np.lexsort((np.broadcast_to(np.arange(x.shape[axis]), np.moveaxis(x, axis, -1).shape),
                       np.moveaxis(key, axis, -1), np.moveaxis(nan, axis, -1)), axis=-1)


def main():
    x, special = load("x").astype(np.float64), load("special").astype(np.float64)
    axes_list = [(0,), (1,), (2,), (0, 2), (0, 1, 2)]
    with np.errstate(all="ignore"):
        for name, source, axes in (("x", x, axes_list), ("special", special, [(1,)])):
            save(f"{name}_variance", flattened(lambda v, a: v.var(a), source, axes))
            save(f"{name}_deviation", flattened(lambda v, a: v.std(a, ddof=1), source, axes))
            save(f"{name}_count", flattened(lambda v, a: np.count_nonzero(v, a), source, axes).astype(np.int32))
        for name, source in (("x", x), ("special", special), ("integers", load("integers"))):
            # NumPy too lets the first NaN win.
            save(f"{name}_argmin", source.argmin(1).ravel().astype(np.int32))
            save(f"{name}_argmax", source.argmax(1).ravel().astype(np.int32))
        save("log_softmax", log_softmax(x, 1))
        save("special_log_softmax", log_softmax(special, 1))
    work_around_rows(x, load("scale")[0].astype(np.float64), load("scale")[:, :1].astype(np.float64))
    weights, biases = load("scale")[:, 0].astype(np.float64), load("bias")[:, 0].astype(np.float64)
    save("rms_norm", x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * load("scale")[0].astype(np.float64))
    save("group_norm", group_norm(x, 3, weights, biases, 1e-3))
    save("instance_norm", group_norm(x, 6, weights, biases, 1e-3))
    mean, variance = x.mean((0, 2)) * 0.5, x.var((0, 2)) + 0.25
    shape = (1, -1, 1)
    save("batch_norm", (x - mean.astype(np.float32).reshape(shape)) / np.sqrt(variance.astype(np.float32).reshape(shape) + 1e-3)
         * weights.reshape(shape) + biases.reshape(shape))
    save("batch_norm_mean", mean.astype(np.float32))
    save("batch_norm_variance", variance.astype(np.float32))
    for name, source in (("x", x), ("special", special), ("integers", load("integers").astype(np.float64))):
        for descending in (False, True):
            save(f"{name}_{'descending' if descending else 'ascending'}", order(source, source.ndim - 1, descending).astype(np.int32))


main()
