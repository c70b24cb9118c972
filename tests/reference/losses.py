"""Values of losses (weft/losses.h) and of their gradients, for tests/functions/losses_test.cc: writes tests/data/losses. They
are PyTorch's, computed in f64 of operands that their types hold exactly. A case's inputs are x, labels or a target, the
weights and positive weights or null, and the cotangent of the loss; its outputs the loss and the gradient for x, and
for a target of floats that for it."""
import itertools
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "losses"
OUT.mkdir(parents=True, exist_ok=True)
NEAR = {"f32": {"absolute": 2e-6, "relative": 1e-5}, "f64": {"absolute": 1e-13, "relative": 1e-12},
        "f16": {"ulp": 1, "absolute": 2e-6}, "bf16": {"ulp": 1, "absolute": 2e-6}}
REDUCTIONS = ("none", "mean", "sum")
label_types = itertools.cycle(["i32", "i64", "u8", "u32", "i8", "u64", "i16", "u16"])


def tensor(t, needs_gradient=False):
    integers = t.type[0] in "iu"
    return torch.tensor(np.array(t.values, np.int64 if integers else np.float64), requires_grad=needs_gradient)


def normal(type, shape, scale=2.0):
    return T(type, rng.normal(0, scale, shape))


def positive(type, shape):
    return T(type, rng.uniform(0.1, 2, shape))


def add(name, function, x, target, weights=None, positive_weights=None, options=None, reduction="mean"):
    """`function` takes tensors of x and the target."""
    floats = target.type[0] not in "iu"
    a, b = tensor(x, True), tensor(target, floats)
    y = function(a, b)
    dy = normal(x.type, tuple(y.shape), 1.0)
    gradients = torch.autograd.grad(y, (a, b) if floats else (a,), tensor(dy), allow_unused=True)
    gradients = [torch.zeros_like(v) if g is None else g for g, v in zip(gradients, (a, b))]
    types = (x.type, target.type)
    case(name, [x, target, weights, positive_weights, dy],
         [T(x.type, y.detach().numpy()), *(T(t, g.numpy()) for t, g in zip(types, gradients))],
         {"reduction": reduction, **(options or {})}, **NEAR[x.type])


def by_labels(name, x, labels, axis=None, weights=None, reduction="mean", ignored=-100, smoothing=0.0):
    def function(a, b):
        if axis is not None:
            a = a.movedim(axis, 1) if a.dim() > 1 else a
            if b.is_floating_point():
                b = b.movedim(axis, 1)
        w = None if weights is None else tensor(weights)
        if name == "nll_loss":
            return F.nll_loss(a, b, w, ignore_index=ignored, reduction=reduction)
        return F.cross_entropy(a, b, w, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing)

    options = {} if axis is None else {"axis": axis}
    if ignored != -100:
        options["ignored"] = ignored
    if smoothing:
        options["label_smoothing"] = smoothing
    add(name, function, x, labels, weights, None, options, reduction)


def labels_of(shape, classes, type=None, ignored=None, share=0.3):
    values = rng.integers(0, classes, shape)
    if ignored is not None:
        values = np.where(rng.uniform(0, 1, shape) < share, ignored, values)
    return T(type or next(label_types), values)


KINDS = [*(("f32", r) for r in REDUCTIONS), *((t, "mean") for t in ("f16", "bf16", "f64")), ("f16", "none")]
for type, reduction in KINDS:
    shapes = (((5, 7), None), ((4,), None), ((2, 5, 3), None), ((2, 3, 4, 5), 1), ((2, 3, 5), -1), ((3, 1), None))
    for shape, axis in shapes if type == "f32" else shapes[:3]:
        at = 0 if len(shape) == 1 else 1 if axis is None else axis % len(shape)
        classes = shape[at]
        rows = tuple(n for d, n in enumerate(shape) if d != at)
        x = normal(type, shape)
        weights = positive(type, (classes,))
        for name in ("cross_entropy", "nll_loss"):
            by_labels(name, x, labels_of(rows, classes), axis, None, reduction)
            by_labels(name, x, labels_of(rows, classes), axis, weights, reduction)
            if rows:
                by_labels(name, x, labels_of(rows, classes, "i32", -100), axis, weights, reduction)
                by_labels(name, x, labels_of(rows, classes, ignored=0), axis, None, reduction, ignored=0)
        for smoothing in (0.1, 1.0):
            by_labels("cross_entropy", x, labels_of(rows, classes, "i64", -1), axis, None, reduction, -1, smoothing)
            by_labels("cross_entropy", x, labels_of(rows, classes), axis, weights, reduction, -100, smoothing)
        if axis is None and rows:
            targets = T(type, rng.dirichlet(np.ones(classes), rows).reshape(*rows, classes))
            targets = T(type, np.moveaxis(targets.values, -1, at))
            by_labels("cross_entropy", x, targets, axis, None, reduction)
            by_labels("cross_entropy", x, targets, axis, weights, reduction, smoothing=0.2)

# Rows with NaN and infinities, large logits, nothing but ignored labels, and no labels at all.
special = rng.normal(0, 2, (8, 5))
special[0, 2], special[1, 1], special[2, 3], special[4, :] = np.inf, -np.inf, np.nan, -np.inf
special[5], special[6] = special[5] * 100, special[6] * 1000
for smoothing, label in itertools.product((0.0, 0.25), (1, 2)):
    by_labels("cross_entropy", T("f32", special), T("i32", np.full(8, label)), None, None, "none", smoothing=smoothing)
for name in ("cross_entropy", "nll_loss"):
    by_labels(name, normal("f32", (3, 4)), T("i32", np.full(3, -100)))
    by_labels(name, normal("f32", (3, 4)), T("i32", np.full(3, -100)), reduction="sum")
    by_labels(name, T("f32", np.zeros((0, 4))), T("i32", np.zeros(0, np.int64)))
    by_labels(name, T("f32", np.zeros((0, 4))), T("i32", np.zeros(0, np.int64)), reduction="none")
by_labels("cross_entropy", normal("f32", (3, 2000), 4), labels_of((3,), 2000, "i32"))

# ---- Losses of single elements
for type, reduction in KINDS:
    x, y = normal(type, (4, 5)), normal(type, (4, 5))
    y.values[0], x.values[1, :2] = x.values[0], y.values[1, :2] + [0.5, -0.5]
    x = T(type, x.values)
    add("mse_loss", lambda a, b: F.mse_loss(a, b, reduction=reduction), x, y, reduction=reduction)
    add("l1_loss", lambda a, b: F.l1_loss(a, b, reduction=reduction), x, y, reduction=reduction)
    for size in (0.5, 1.0, 3.0):
        add("huber_loss", lambda a, b: F.huber_loss(a, b, reduction=reduction, delta=size), x, y,
            options={"size": size}, reduction=reduction)
    for size in (0.0, 0.5, 1.0):
        add("smooth_l1_loss", lambda a, b: F.smooth_l1_loss(a, b, reduction=reduction, beta=size), x, y,
            options={"size": size}, reduction=reduction)
    p = T(type, rng.uniform(0, 1, (4, 5)))
    p.values[0, :3] = [0, 1, 0]
    large = T(type, np.where(rng.uniform(0, 1, (4, 5)) < 0.2, x.values * 64, x.values))
    w, v = positive(type, (4, 1)), positive(type, (5,))
    for weights, more in ((None, None), (w, None), (None, v), (w, v)):
        add("binary_cross_entropy_with_logits",
            lambda a, b: F.binary_cross_entropy_with_logits(
                a, b, None if weights is None else tensor(weights), reduction=reduction,
                pos_weight=None if more is None else tensor(more)), large, p, weights, more, reduction=reduction)
    logs = T(type, np.log(rng.dirichlet(np.ones(5), 4)))
    some = T(type, np.maximum(rng.dirichlet(np.ones(5), 4), 0.01))
    add("kl_div", lambda a, b: F.kl_div(a, b, reduction=reduction), logs, some, reduction=reduction)
    add("kl_div", lambda a, b: F.kl_div(a, b, reduction=reduction, log_target=True), logs,
        T(type, np.log(rng.dirichlet(np.ones(5), 4))), options={"log_target": True}, reduction=reduction)

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases", len(cpu_kernel_cases.bytes_), "bytes")
