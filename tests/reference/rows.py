"""Softmax, layer norm and reductions by PyTorch in f64, for the CPU kernels: writes tests/data/rows/*.npy."""
import pathlib

import numpy as np
import torch

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "rows"

REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "prod": lambda x, axes: product(x, axes),
    "min": torch.amin,
    "max": torch.amax,
    "sum_squares": lambda x, axes: (x * x).sum(axes),
    "l1": lambda x, axes: torch.linalg.vector_norm(x, 1, axes),
    "l2": lambda x, axes: torch.linalg.vector_norm(x, 2, axes),
    "log_sum": lambda x, axes: x.sum(axes).log(),
    "log_sum_exp": torch.logsumexp,
    "any": lambda x, axes: (x != 0).to(torch.uint8).amax(axes).bool(),
    "all": lambda x, axes: (x != 0).to(torch.uint8).amin(axes).bool(),
}


def product(x, axes):
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis)
    return x


def save(name, value):
    np.save(OUT / f"{name}.npy", value.numpy())


def reductions(prefix, x, axes_list):
    """One file an operation: the results for each of `axes_list`, flattened, one after the other."""
    for op, reduce in REDUCTIONS.items():
        save(f"{prefix}_{op}", torch.cat([reduce(x.double(), axes).flatten().double() for axes in axes_list]))


def main():
    torch.manual_seed(3)
    OUT.mkdir(parents=True, exist_ok=True)

    x = torch.randn(4, 6, 10) * 3 + 0.5
    scale, bias = torch.randn(6, 10), torch.randn(6, 10)
    save("x", x)
    save("scale", scale)
    save("bias", bias)
    for axis in range(3):
        save(f"softmax_{axis}", torch.softmax(x.double(), axis))
    for axis in (1, 2):
        normal = lambda s, b: torch.nn.functional.layer_norm(x.double(), x.shape[axis:], s, b, 1e-3)
        save(f"layer_norm_{axis}", normal(None, None))
    save("layer_norm_weighted", torch.nn.functional.layer_norm(x.double(), (6, 10), scale.double(), bias.double(), 1e-12))
    reductions("x", x, [(0,), (1,), (2,), (0, 2), (0, 1, 2)])

    # A row each: NaN, +inf, -inf alone, -inf among numbers, both infinities, zeros of both signs, huge, far apart.
    nan, inf = float("nan"), float("inf")
    special = torch.tensor([
        [1, nan, 2, -3], [1, inf, 2, 3], [-inf, -inf, -inf, -inf], [-inf, 1, -inf, 2], [inf, -inf, 0, 1],
        [0.0, -0.0, 0.0, -0.0], [3e38, 3e38, -3e38, 1], [200, -200, 100, 0]])
    save("special", special)
    save("special_softmax", torch.softmax(special.double(), 1))
    reductions("special", special, [(1,)])

    integers = torch.randint(-100, 100, (5, 7), dtype=torch.int32)
    save("integers", integers)
    for op in ("sum", "prod", "min", "max", "sum_squares", "any", "all"):
        save(f"integers_{op}", REDUCTIONS[op](integers.int(), (1,)).int())
    save("integers_l1", integers.abs().sum(1).int())


main()
