"""Gradients and second derivatives by PyTorch, above all at points without a derivative, for
tests/derivatives/pytorch_test.cc: writes tests/data/derivatives/cases.json and bytes.npy (the operands).

Of each case: a function's name, its operands, weights w, and the gradients of sum(w · y) for the operands of floats and
complex numbers; of those of order 2, the gradients of the sum of u times these, where u are further weights. Values are
PyTorch's in f64, which agree with those that it has in f32 in what is infinite, NaN and zero."""
import itertools
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "derivatives"
nan, inf = float("nan"), float("inf")
bytes_, cases = bytearray(), []
torch.manual_seed(5)
rng = np.random.default_rng(5)
STORED = {torch.float64: "f64", torch.complex64: "c64", torch.int32: "i32", torch.bool: "bool"}


def continuous(t):
    return t.is_floating_point() or t.is_complex()


def place(t):
    t = t.detach().clone().resolve_conj().contiguous()
    t = t.to(torch.complex64) if t.is_complex() else t.double() if t.is_floating_point() else t
    bytes_.extend(bytes(-len(bytes_) % 8))
    at = len(bytes_)
    bytes_.extend(t.numpy(force=True).tobytes())
    return {"type": STORED[t.dtype], "shape": list(t.shape), "at": at}


def held(t):  # numbers that f32 holds
    if t.is_complex():
        return t.to(torch.complex64).to(torch.complex128)
    return t.float().double() if t.is_floating_point() else t


def like(t):
    draw = lambda: torch.from_numpy(np.asarray(rng.uniform(0.5, 1.5, t.shape)))
    return held(torch.complex(draw(), draw()) if t.is_complex() else draw())


def gradients(function, operands, w, u, wide):
    narrowed = lambda t: t if wide else t.to(torch.complex64) if t.is_complex() else t.float()
    x = [narrowed(t).requires_grad_() if continuous(t) else t for t in operands]
    given = [t for t in x if t.requires_grad]
    g = torch.autograd.grad(function(*x), given, narrowed(w), create_graph=u is not None, materialize_grads=True,
                            allow_unused=True)
    if u is not None:
        with_graph = [(a, narrowed(b)) for a, b in zip(g, u) if a.requires_grad]
        if not with_graph:
            return [torch.zeros_like(t) for t in given]
        g = torch.autograd.grad([a for a, _ in with_graph], given, [b for _, b in with_graph], materialize_grads=True,
                                allow_unused=True)
    return [t.detach() for t in g]


def case(name, function, operands, parameters=(), order=1, w=None, relative=1e-5, f64=True, relative64=1e-9):
    """w: None is ones, "any" random numbers. relative, relative64: what f32 and f64 may be off. f64: whether Weft computes
    it in f64."""
    operands = [held(t.detach()) for t in operands]
    y = function(*operands).detach()
    w = torch.ones_like(y) if w is None else like(y) if isinstance(w, str) else held(w)
    u = [like(t) for t in operands if continuous(t)] if order == 2 else None
    try:
        expected = gradients(function, operands, w, u, True)
    except RuntimeError as error:
        if order == 1 or "is not implemented" not in str(error):
            raise
        print("no second derivative:", name)
        return
    for a, b in zip(expected, gradients(function, operands, w, u, False)):
        same = torch.isclose(a, b.to(a.dtype), rtol=1e-3, atol=1e-4, equal_nan=True)
        if not same.all():
            print("f32 differs:", name, order, parameters, [t.tolist() for t in operands], a.tolist(), b.tolist())
            return
    entry = {"function": name, "order": order, "operands": [place(t) for t in operands], "weights": place(w),
             "gradients": [place(t) for t in expected]}
    if parameters:
        entry["parameters"] = [float(p) for p in parameters]
    if u is not None:
        entry["directions"] = [place(t) for t in u]
    if relative != 1e-5:
        entry["relative"] = relative
    if relative64 != 1e-9:
        entry["relative64"] = relative64
    if not f64 or any(t.is_complex() for t in operands + [y]):
        entry["f64"] = False
    cases.append(entry)


def both(name, function, operands, parameters=(), w="any", relative=5e-5, f64=True):
    for order in (1, 2):
        case(name, function, operands, parameters, order, w, relative, f64)


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


def near(*shape):
    return torch.from_numpy(rng.standard_normal(shape))


def near_complex(*shape):
    return torch.complex(near(*shape), near(*shape))


def few(*shape):  # of few different values, so that some are equal
    return torch.from_numpy(rng.integers(-1, 2, shape).astype(np.float64))


def pairs(a, b):
    a, b = np.meshgrid(a, b, indexing="ij")
    return [torch.from_numpy(v.ravel().astype(np.float64).copy()) for v in (a, b)]


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


# ---- Elementwise functions: PyTorch's of Weft's names.
FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, -6.0]
SPECIAL = FINITE + [inf, -inf, nan]
UNARY = {name: getattr(torch, name) for name in
         """neg abs sign ceil floor trunc round sqrt rsqrt reciprocal square exp exp2 expm1 log log2 log10 log1p sin cos tan
         asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma digamma sigmoid relu""".split()}
UNARY |= {"logsigmoid": F.logsigmoid, "softplus": lambda x: F.softplus(x, threshold=1e9), "mish": F.mish,
          "silu": F.silu, "gelu_erf": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
          "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x), "softsign": F.softsign, "relu6": F.relu6, "selu": F.selu,
          "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid}
PARAMETERS = {"hardtanh": (F.hardtanh, [(), (-2, 3)]), "leaky_relu": (F.leaky_relu, [(), (0.25,)]),
              "elu": (F.elu, [(), (2,)]), "celu": (F.celu, [(), (2,)]), "hardshrink": (F.hardshrink, [(), (1,)]),
              "softshrink": (F.softshrink, [(), (1,)]), "threshold": (F.threshold, [(0, 0), (1, 5)])}
BINARY = {name: getattr(torch, name) for name in
          "add sub mul div remainder pow atan2 hypot copysign logaddexp fmin fmax".split()}
BINARY |= {"div_rn": torch.div, "rem": torch.fmod, "min": torch.minimum, "max": torch.maximum,
           "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor")}


def ordinary(name):
    if name == "acosh":
        return t(1.25, 1.5, 2, 2.75, 3.5)
    if name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "lgamma", "digamma", "reciprocal"):
        return t(0.25, 0.75, 1.5, 2.25, 3)
    if name in ("asin", "acos", "atanh", "erfinv"):
        return t(-0.75, -0.25, 0.125, 0.5, 0.8)
    return t(-1.75, -0.6, 0.3, 1.2, 2.4)


# Of NaN PyTorch's hardtanh, relu6, hardshrink and softshrink have the derivative 0 in vectors on the cpu, and 1 in what is
# left of a row and on GPUs. NaN is last here.
def elementwise():
    for name, f in UNARY.items():
        points, relative64 = SPECIAL, 1e-9
        if name == "gelu_quick":  # of which PyTorch has no formula of its own: where parts are infinite it has NaN
            points = FINITE
        if name == "gelu_tanh":  # whose derivatives have limits at infinities, where PyTorch's are NaN
            points = [x for x in SPECIAL if abs(x) != inf]
        if name == "softsign":  # as well; and of |NaN| a second derivative is 0
            points = FINITE
        if name == "hardsigmoid":  # x / 6 + 0.5 is rounded to more than 0 at -3 in f64
            points = [x for x in SPECIAL if x != -3]
            relative64 = 1e-7  # PyTorch's 1/6 is that of f32
        if name == "digamma":  # at its poles PyTorch's trigamma depends on the type
            points = [x for x in SPECIAL if 0 < x < 9 or abs(x) == 0.5]
        if name == "lgamma":
            points = [x for x in SPECIAL if not (x < 0 and (x == -inf or x == int(x)))]
        case(name, f, [t(*points)], relative64=relative64)
        case(name, f, [t(*points)], order=2, relative=5e-5)
        case(name, f, [ordinary(name)], order=2, relative=5e-5)
    for name, (f, lists) in PARAMETERS.items():
        for parameters in lists:
            g = lambda x: f(x, *parameters)
            case(name, g, [t(*SPECIAL)], parameters)
            case(name, g, [t(*SPECIAL)], parameters, order=2, relative=5e-5)
            case(name, g, [ordinary(name)], parameters, order=2, relative=5e-5)
    points = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, inf, -inf, nan]
    for name, f in BINARY.items():
        # Of an infinity copysign's derivative is 1 or -1, PyTorch's NaN.
        case(name, f, pairs([x for x in points if name != "copysign" or abs(x) != inf], points))
        # Of these PyTorch's second derivatives are NaN where those here have their limits: at the origin, at infinities.
        if name not in ("atan2", "logaddexp", "pow", "copysign"):
            case(name, f, pairs(points, points), order=2)
        a, b = t(0.3, 1.25, 2.4, 0.7, 1.9), t(1.2, 0.4, 2.75, -0.6, 1.3)
        case(name, f, [a, b], order=2, relative=5e-5)
    points = [0.0, 1.0, 2.0, inf, -inf, nan]
    grid = [torch.from_numpy(v.ravel().copy()) for v in np.meshgrid(points, points, points)]
    case("clamp", torch.clamp, grid)
    case("clamp", torch.clamp, [v.reshape(6, 6, 6)[:3, :3, :3].flatten() for v in grid], order=2)
    case("clamp_numbers", lambda x: torch.clamp(x, -1, 1), [t(*SPECIAL)])
    case("fma", lambda a, b, c: torch.addcmul(c, a, b), [t(0, 1, inf, nan, -2), t(inf, 2, 0, 1, 3), t(1, nan, inf, 0, 4)])
    case("lerp", torch.lerp, [t(0, 1, inf, 2), t(1, 3, 1, nan), t(0, 0.25, 1, 0.5)])
    both("fma", lambda a, b, c: torch.addcmul(c, a, b), [near(4), near(4), near(4)])
    both("lerp", torch.lerp, [near(4), near(4), near(4)])
    condition = torch.tensor([True, False, True, False])
    case("select", torch.where, [condition, t(nan, nan, inf, 1), t(nan, inf, nan, 2)])
    # (Where what is not chosen has an infinite derivative PyTorch's is NaN, and Weft's 0: tests/tensor/derivatives_test.cc.)
    points = t(0, -1, 4, nan, inf)
    case("harmless_root", lambda x: torch.where(x > 0, torch.where(x > 0, x, 1).sqrt(), 0), [points])
    case("pow_number", lambda x: x ** 3, [t(*SPECIAL)])
    case("pow_number", lambda x: x ** 3, [t(*FINITE)], order=2)
    case("pow_of_number", lambda x: 2 ** x, [t(*FINITE)], order=2)
    both("shared", lambda x: (x * x.sin() + x).exp() * x, [near(5)])
    both("broadcast", lambda a, b, c: (a * b + c).tanh() * a, [near(2, 3), near(3), near(2, 1)])


# ---- Reductions and scans, with ties and zeros
def reductions():
    rows = torch.tensor([[1, 2, 3, 4], [0, 2, 3, 4], [0, 2, 0, 4], [0, 0, 0, 0], [-1, 2, -3, 0.5]], dtype=torch.float64)
    ties = torch.tensor([[1, 3, 3, 2], [5, 5, 5, 5], [-1, 0.0, -0.0, -2], [nan, 1, nan, 2], [inf, 1, inf, 2]],
                        dtype=torch.float64)
    w = t(1, -0.5, 2, 0.75, 1.5)
    for order in (1, 2):
        case("reduce_prod", lambda x: x.prod(1), [rows], w=w, order=order)
        case("reduce_sum_squares", lambda x: (x * x).sum(1), [rows], w=w, order=order)
        case("reduce_sum", lambda x: x.sum(1), [rows], w=w, order=order)
        case("reduce_mean", lambda x: x.mean(1), [rows], w=w, order=order)
        case("reduce_log_sum", lambda x: x.sum(1).log(), [rows[:3]], w=w[:3], order=order)
        case("reduce_l1", lambda x: torch.linalg.vector_norm(x, 1, 1), [rows], w=w, order=order)
        case("prod_of_all", lambda x: x.prod(), [rows[:2]], order=order)
    case("reduce_max", lambda x: x.amax(1), [ties], w=w)
    case("reduce_min", lambda x: x.amin(1), [ties], w=w)
    case("reduce_l2", lambda x: torch.linalg.vector_norm(x, 2, 1), [rows], w=w)
    both("reduce_l2", lambda x: torch.linalg.vector_norm(x, 2, 1), [near(3, 4)])
    both("reduce_max", lambda x: x.amax(1), [near(3, 4)])
    hidden = torch.tensor([[1, 2, 3, 4], [-inf, 2, -inf, 4], [-inf] * 4, [100, -100, 0, 100], [0.0] * 4], dtype=torch.float64)
    case("reduce_log_sum_exp", lambda x: x.logsumexp(1), [hidden], w=w)
    both("reduce_log_sum_exp", lambda x: x.logsumexp(1), [near(3, 4)])
    special = torch.cat([hidden, torch.tensor([[1, nan, 2, 3], [1, inf, 2, 3]], dtype=torch.float64)])
    case("softmax", lambda x: x.softmax(1), [special], w="any")
    case("log_softmax", lambda x: x.log_softmax(1), [special[[0, 3, 4, 5, 6]]], w="any")
    both("softmax", lambda x: x.softmax(1), [near(3, 4)])
    both("log_softmax", lambda x: x.log_softmax(1), [near(3, 4)])
    both("softmax_first", lambda x: x.softmax(0), [near(3, 4)])
    constant = torch.tensor([[1, 2, 3, 4], [2, 2, 2, 2], [0, 0, 0, 0]], dtype=torch.float64)
    for correction in (0, 1):
        case("variance", lambda x: x.var(1, correction=correction), [constant], (correction,), w=w[:3])
        case("deviation", lambda x: x.std(1, correction=correction), [constant], (correction,), w=w[:3])
        both("variance", lambda x: x.var(1, correction=correction), [near(3, 4)], (correction,))
        both("deviation", lambda x: x.std(1, correction=correction), [near(3, 4)], (correction,))
    case("variance", lambda x: x.var(1, correction=1), [near(3, 1)], (1,))
    tied = torch.tensor([[3, 1, 3, 2, 1], [2, 2, 2, 2, 2], [5, 4, 3, 2, 1], [1, nan, 2, nan, 3]], dtype=torch.float64)
    both("cumprod", lambda x: x.cumprod(1), [torch.cat([rows, t(2, 3, 0, 5)[None]])])
    both("cumsum", lambda x: x.cumsum(1), [near(3, 4)])
    both("log_cum_sum_exp", lambda x: x.logcumsumexp(1), [near(3, 4)])
    # (Of -infinity in front, where the first sum is x itself, PyTorch's is NaN.)
    case("log_cum_sum_exp", lambda x: x.logcumsumexp(1), [hidden[[0, 3, 4]]], w="any")
    case("cummax", lambda x: x.cummax(1).values, [tied], w="any")
    case("cummin", lambda x: x.cummin(1).values, [tied], w="any")
    case("sort", lambda x: x.sort(dim=1, stable=True).values, [tied], w="any")
    # A stable sort that descends takes NaN first in PyTorch and last in Weft.
    case("sort_descending", lambda x: x.sort(dim=1, descending=True, stable=True).values, [tied[:3]], w="any")
    # Which of equal elements topk takes PyTorch leaves open: the first ones of a stable sort.
    case("top_k", lambda x: x.sort(dim=1, descending=True, stable=True).values[:, :3], [tied[:3]], w="any")
    both("top_k", lambda x: x.topk(3, 1).values, [near(3, 5)])
    case("top_k_least", lambda x: x.topk(2, 0, largest=False).values, [near(3, 5)], w="any")


# ---- Elements moved: views, indices, updates
def moves():
    x = near(4, 3)
    both("index_select", lambda x, i: x[i.long()].sin(), [x, ints(3, 1, 3, 3, 0)])
    both("gather_elements", lambda x, i: x.gather(1, i.long()).sin(), [near(2, 4), ints([0, 0, 3], [2, 2, 2])])
    both("gather_pairs", lambda x, i: x[i[:, 0].long(), i[:, 1].long()].sin(), [x, ints([0, 2], [3, 0], [0, 2])])
    both("index_add", lambda x, i, v: x.index_put((i.long(),), v, accumulate=True).sin(), [x, ints(0, 2, 2, 0, 2), near(5, 3)])
    both("index_set", lambda x, i, v: x.index_copy(0, i.long(), v).sin(), [x, ints(3, 0), near(2, 3)])
    both("scatter_set", lambda x, i, v: x.scatter(1, i.long(), v).sin(), [near(2, 4), ints([0, 3, 1], [2, 1, 0]), near(2, 3)])
    both("scatter_add", lambda x, i, v: x.scatter_add(1, i.long(), v).sin(),
         [near(2, 4), ints([0, 0, 1], [2, 2, 2]), near(2, 3)])
    for name, reduction in (("scatter_max", "amax"), ("scatter_min", "amin")):
        f = lambda x, i, v: x.scatter_reduce(1, i.long(), v, reduction)
        case(name, f, [few(2, 4), ints([0, 0, 1], [2, 2, 2]), few(2, 3)], w="any")
    product = lambda x, i, v: x.scatter_reduce(1, i.long(), v, "prod")
    case("scatter_mul", product, [near(2, 4), ints([0, 0, 1], [2, 2, 2]), near(2, 3)], w="any")
    zeros = [t([2, 3, 0, 5], [0, 1, 2, 3]), ints([0, 0, 2, 3], [0, 1, 1, 1]), t([0, 5, 7, 2], [3, 0, 4, 0])]
    case("scatter_mul", product, zeros, w="any")
    mask = torch.tensor([[True, False, True], [False, False, True], [True, True, False], [False, True, False]])
    both("masked", lambda x, m: x[m].sin(), [x, mask])
    both("masked_set", lambda x, m, v: torch.where(m, v, x).sin(), [x, mask, torch.tensor(0.75)])

    def sliced_set(x, v):
        y = x.clone()
        y[1:3, ::2] = v
        return y.sin()
    both("sliced_set", sliced_set, [x, near(2, 2)])
    both("sliced_set", sliced_set, [x, near(1, 2)])
    both("sliced", lambda x: x[1:3, ::2].sin(), [x])
    both("views", lambda x: (x.T.reshape(2, 6)[None].expand(3, 2, 6).flip(1) ** 2)[:, 0], [x])
    both("overlapping", lambda x: x.unfold(0, 3, 1).prod(1), [near(6)])
    both("diagonal", lambda x: x.diagonal(1).sin(), [near(3, 4)])
    both("triangle", lambda x: (x.tril(1) * x.triu(-1)).sin(), [near(4, 4)])
    both("roll", lambda x: x.roll((1, -4), (0, 1)) * x, [x])
    both("repeated", lambda x, n: x.repeat_interleave(n.long(), 0).sin(), [x, ints(2, 0, 1, 3)])
    both("joined", lambda a, b: torch.cat([a, b, a], 1).sin(), [near(2, 3), near(2, 1)])
    both("stacked", lambda a, b: torch.stack([a, b, a], 1).sin(), [near(2, 3), near(2, 3)])
    both("difference", lambda x: x.diff(n=2, dim=1) ** 2, [near(3, 5)])
    image = near(1, 2, 3, 4)
    for number, mode in enumerate(("constant", "replicate", "reflect", "circular")):
        both("pad", lambda x: F.pad(x, (2, 1, 1, 2), mode, 3 if mode == "constant" else None).sin(), [image], (number,))
    both("crop", lambda x: F.pad(x, (-1, 2, 0, -1)).sin(), [image])
    both("no_elements", lambda x: x.sum(0).exp() * 2, [near(0, 3)])


# ---- Products
def products():
    both("matmul", torch.matmul, [near(2, 3, 4), near(4, 5)])
    both("matmul", torch.matmul, [near(2, 1, 3, 4), near(5, 4, 2)])
    both("matmul", torch.matmul, [near(4), near(2, 4, 3)])
    both("matmul", torch.matmul, [near(2, 3, 4), near(4)])
    both("matmul", torch.matmul, [near(4), near(4)])
    both("matmul", torch.matmul, [near(2, 0), near(0, 3)])
    for number, (subscripts, *shapes) in enumerate(EINSUMS):
        both("einsum", lambda *x: torch.einsum(subscripts, *x), [near(*s) for s in shapes], (number,))
    both("outer", torch.outer, [near(3), near(4)])
    both("tensordot", lambda a, b: torch.tensordot(a, b, 2), [near(2, 3, 4), near(3, 4, 2)])


# The numbers of these are in kEinsums of the test.
EINSUMS = [("ij,jk->ik", (2, 3), (3, 4)), ("bij,bkj->bik", (2, 3, 4), (2, 2, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)),
           ("ij->j", (2, 3)), ("i,j,k->ijk", (2,), (3,), (2,)), ("bhqd,bhkd->bhqk", (1, 2, 3, 2), (1, 2, 2, 2)),
           ("...i,...i->...", (2, 3), (2, 3)), ("ijk,kl,lj->il", (2, 3, 2), (2, 4), (4, 3))]


# ---- Norms, attention, convolutions, pooling, images
def norms():
    x = near(4, 6)
    both("layer_norm", lambda x, s, b: F.layer_norm(x, (6,), s, b, 1e-5), [x, near(6), near(6)])
    both("layer_norm_plain", lambda x: F.layer_norm(x, (6,), None, None, 0.125), [torch.cat([x, torch.ones(1, 6)])])
    both("layer_norm_axes", lambda x, s: F.layer_norm(x, (2, 3), s, None, 1e-3), [near(3, 2, 3), near(2, 3)])
    both("rms_norm", lambda x, s: F.rms_norm(x, (6,), s, 1e-5), [x, near(6)])
    both("rms_norm_plain", lambda x: F.rms_norm(x, (6,), None, 0.125), [torch.cat([x, torch.zeros(1, 6)])])
    both("group_norm", lambda x, s, b: F.group_norm(x, 2, s, b, 1e-3), [near(2, 4, 3), near(4), near(4)])
    both("instance_norm", lambda x, s, b: F.instance_norm(x, weight=s, bias=b, eps=1e-3), [near(2, 3, 4), near(3), near(3)])
    of_channels = lambda v: v[:, None]
    both("batch_norm", lambda x, m, v, s, b: (x - of_channels(m)) / of_channels(v + 1e-3).sqrt() * of_channels(s) + of_channels(b),
         [near(2, 3, 4), near(3), t(0.5, 1, 2), near(3), near(3)])
    both("batch_norm_training", lambda x, s, b: F.batch_norm(x, None, None, s, b, True, eps=1e-3),
         [near(2, 3, 4), near(3), near(3)], relative=2e-4)
    target = F.one_hot(torch.tensor([1, 0, 3]), 5).double()
    both("cross_entropy", lambda x, y: -(y * x.softmax(1).log()).sum(1).mean(), [near(3, 5), target])
    both("cross_entropy_of_logits", lambda x, i: F.cross_entropy(x, i.long()), [near(3, 5), ints(1, 0, 3)])
    both("attend", lambda q, k, v: (q @ k.transpose(-1, -2) * 0.5).softmax(-1) @ v, [near(2, 3, 4), near(2, 5, 4), near(2, 5, 4)])


def attention():
    q, k, v = near(2, 4, 3, 4), near(2, 2, 5, 4), near(2, 2, 5, 3)
    mask = torch.from_numpy(rng.integers(0, 2, (2, 1, 3, 5)).astype(bool))
    mask[0, 0, 1] = False  # a query that sees no key
    mask[0, 0, 2] = True

    def f(q, k, v, mask=None, causal=False):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=0.6, enable_gqa=True)
    # PyTorch's causal queries count from the first key, Weft's with top_left.
    for order in (1, 2):
        case("attention", f, [q, k, v], w="any", order=order, relative=5e-5, f64=False)
        case("attention_causal", lambda q, k, v: f(q, k, v, causal=True), [q, k, v], w="any", order=order, relative=5e-5,
             f64=False)
        case("attention_mask", f, [q, k, v, near(2, 1, 3, 5)], w="any", order=order, relative=5e-5, f64=False)
    case("attention_mask", f, [q, k, v, mask], w="any", relative=5e-5, f64=False)
    hidden = near(3, 5)
    hidden[1, 2:], hidden[2, 0] = -inf, -inf
    case("attention_mask", f, [q, k, v, hidden], w="any", relative=5e-5, f64=False)


def networks():
    image, filters = near(2, 4, 5, 6), near(6, 2, 3, 2)
    conv = lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 2), (1, 2), 2)
    both("conv", conv, [image, filters, near(6)], (2, 1, 1, 2, 1, 2, 2), relative=1e-4)
    both("conv", lambda x, w, b: F.conv1d(x, w, b, 2, 1), [near(2, 3, 7), near(4, 3, 3), near(4)], (2, 1, 1, 1), relative=1e-4)
    both("conv", lambda x, w, b: F.conv3d(x, w, b), [near(1, 2, 3, 4, 3), near(2, 2, 2, 2, 2), near(2)],
         (1, 1, 1, 0, 0, 0, 1, 1, 1, 1), relative=1e-4)
    both("conv_transpose", lambda x, w, b: F.conv_transpose2d(x, w, b, (2, 1), (1, 0), (1, 0), 2, (1, 1)),
         [near(2, 4, 3, 4), near(4, 3, 3, 2), near(6)], relative=1e-4)
    # Of few values, so that maxima are tied.
    ties = few(2, 3, 6, 6)
    both("conv_pool", lambda x, w: F.max_pool2d(F.conv2d(x, w, padding=1), 2), [ties, few(4, 3, 3, 3)], relative=1e-4)
    case("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1, 1), [ties], (3, 2, 1, 1), w="any")
    case("max_pool", lambda x: F.max_pool2d(x, 2, 1, 0, 2), [ties], (2, 1, 0, 2), w="any")
    case("max_pool", lambda x: F.max_pool2d(x, 2, 1), [t([[[1, 1, 0], [1, nan, 2.0], [0, nan, 2]]])], (2, 1, 0, 1), w="any")
    both("max_pool", lambda x: F.max_pool2d(x, 2), [near(1, 2, 4, 4)], (2, 2, 0, 1))
    both("average_pool", lambda x: F.avg_pool2d(x, 3, 2, 1) ** 2, [ties], (1, 0, 0))
    both("average_pool", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False) ** 2, [ties], (0, 0, 0))
    both("average_pool", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, divisor_override=5) ** 2, [ties], (1, 5, 1))
    both("lp_pool", lambda x: F.lp_pool1d(x, 2, 3, 2), [near(1, 2, 7)], (2,), relative=1e-4)
    both("lp_pool", lambda x: F.lp_pool1d(x, 3, 3, 2), [near(1, 2, 7).abs() + 0.25], (3,), relative=1e-4)
    case("lp_pool", lambda x: F.lp_pool1d(x, 2, 3, 2), [t([[0, 0, 0, 4, 0, 0, 2]])], (2,), w="any")
    both("adaptive_average_pool", lambda x: F.adaptive_avg_pool2d(x, (3, 2)) ** 2, [near(2, 2, 5, 7)])
    case("adaptive_max_pool", lambda x: F.adaptive_max_pool2d(x, (3, 2)), [few(2, 2, 5, 7)], w="any")
    columns = lambda x: F.unfold(x, (2, 2), (1, 2), (1, 0), (2, 1))
    both("unfold", lambda x: columns(x) ** 2, [near(1, 2, 5, 4)])
    both("fold", lambda x: F.fold(x, (5, 4), (2, 2), (1, 2), (1, 0), (2, 1)) ** 2, [near(1, 8, 6)])
    both("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2) ** 2, [near(1, 8, 2, 3)])
    small = near(1, 2, 4, 5)
    for number, (mode, aligned, antialias, sizes) in enumerate(RESIZES):
        both("upsample", lambda x: F.interpolate(x, sizes, mode=mode, align_corners=aligned, antialias=antialias) ** 2, [small],
             (number,))
    both("affine_grid", lambda x: F.affine_grid(x, (2, 1, 3, 4), False) ** 2, [near(2, 2, 3)])
    grid = torch.from_numpy(rng.uniform(-1.3, 1.3, (1, 4, 5, 2)))
    grid[0, 0] = t([-1, 1], [0, 0], [1, 1], [0.5, -1], [-1, -1])
    for m, mode in enumerate(("nearest", "bilinear", "bicubic")):
        for p, padding in enumerate(("zeros", "border", "reflection")):
            for aligned in (False, True):
                f = lambda x, g: F.grid_sample(x, g, mode, padding, aligned)
                # Positions at which samples have corners, too, where PyTorch's are the same in f32.
                case("grid_sample", f, [small, grid], (m, p, aligned), w="any", relative=1e-4)
                case("grid_sample", f, [small, grid[:, 1:]], (m, p, aligned), w="any", relative=1e-4)
    both("fake_quantize", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.25, 2, -8, 7) * x,
         [t(0, 0.3, -2.6, -2.4, 1.3, 1.4, 5, -9)])


# The numbers of these are in kResizes of the test.
RESIZES = [("nearest", None, False, (7, 3)), ("nearest-exact", None, False, (7, 3)), ("bilinear", False, False, (7, 3)),
           ("bilinear", True, False, (7, 3)), ("bicubic", False, False, (7, 3)), ("bicubic", True, False, (7, 3)),
           ("bilinear", False, True, (2, 3)), ("bicubic", False, True, (2, 3))]


def recurrent():
    hidden, inputs = 3, 2
    x = near(4, 2, inputs)

    def weights(gates, directions):
        return [near(*s) * 0.5 for s in ((directions, gates * hidden, inputs), (directions, gates * hidden, hidden),
                                         (directions, gates * hidden), (directions, gates * hidden))]

    def lists(w, directions):
        return [v[d] for d in range(directions) for v in w]
    flat = lambda *results: torch.cat([r.flatten() for r in results])
    for d in (1, 2):
        state = [near(d, 2, hidden), near(d, 2, hidden)]
        lstm = lambda x, h, c, *w: flat(*torch._VF.lstm(x, (h, c), lists(w, d), True, 1, 0.0, False, d == 2, False))
        gru = lambda x, h, *w: flat(*torch._VF.gru(x, h, lists(w, d), True, 1, 0.0, False, d == 2, False))
        both("lstm", lstm, [x, *state, *weights(4, d)], relative=1e-4)
        both("gru", gru, [x, state[0], *weights(3, d)], relative=1e-4)
        for name in ("tanh", "relu"):
            run = getattr(torch._VF, "rnn_" + name)
            rnn = lambda x, h, *w: flat(*run(x, h, lists(w, d), True, 1, 0.0, False, d == 2, False))
            both("rnn_" + name, rnn, [x, state[0], *weights(1, d)], relative=1e-4)


# ---- Complex numbers
def complex_numbers():
    z, w = near_complex(5), near_complex(5)
    for name in "neg square reciprocal exp".split():
        both(name, getattr(torch, name), [z])
    for name in "add sub mul div".split():
        both(name, getattr(torch, name), [z, w])
    both("conj", lambda x: x.conj() * x.conj(), [z])
    both("real", lambda x: x.real ** 2, [z])
    both("imag", lambda x: x.imag ** 2, [z])
    both("abs", torch.abs, [z])
    both("angle", torch.angle, [z])
    case("abs", torch.abs, [torch.tensor([0, 3 + 4j, -2j])], w="any")
    case("angle", torch.angle, [torch.tensor([0, 3 + 4j, -2j, -1, 1])], w="any")
    both("complex", torch.complex, [near(5), near(5)])
    both("fma", lambda a, b, c: torch.addcmul(c, a, b), [z, w, near_complex(5)])
    both("select", torch.where, [torch.tensor([True, False, True, True, False]), z, w])
    rows = near_complex(3, 4)
    both("reduce_sum", lambda x: x.sum(1), [rows])
    both("reduce_mean", lambda x: x.mean(1), [rows])
    both("reduce_prod", lambda x: x.prod(1), [rows])
    zeros = rows.clone()
    zeros[0, 1], zeros[1, 0], zeros[1, 2] = 0, 0, 0
    case("reduce_prod", lambda x: x.prod(1), [zeros], w="any")
    both("cumsum", lambda x: x.cumsum(1), [rows])
    both("cumprod", lambda x: x.cumprod(1), [rows])
    both("matmul", torch.matmul, [near_complex(2, 3), near_complex(3, 2)])
    both("vecdot", torch.linalg.vecdot, [rows, near_complex(3, 4)])
    both("einsum", lambda *x: torch.einsum(EINSUMS[0][0], *x), [near_complex(2, 3), near_complex(3, 4)], (0,))
    both("index_select", lambda x, i: x[i.long()] ** 2, [rows, ints(2, 0, 2)])
    both("real_loss", lambda a, b: ((a * b).abs() ** 2).sum() + (a * a.conj()).real.sum(), [z, w])


# ---- Linear algebra. Matrices that are factored are made positive definite by x xᴴ + 1: only a triangle of them is read.
def definite(x):
    return x @ x.mH + torch.eye(x.shape[-1], dtype=x.dtype)


def linear_algebra():
    for draw in (near, near_complex):
        for shape in ((3, 3), (2, 1, 4, 4), (1, 1), (0, 0), (2, 0, 0)):
            for upper in (0, 1):
                both("cholesky", lambda x: torch.linalg.cholesky(definite(x), upper=bool(upper)), [draw(*shape)], (upper,))
        both("cholesky_solve", lambda x, b: torch.cholesky_solve(b, torch.linalg.cholesky(definite(x))),
             [draw(2, 3, 3), draw(2, 3, 2)], (0,))
        both("cholesky_solve", lambda x, b: torch.cholesky_solve(b, torch.linalg.cholesky(definite(x), upper=True), upper=True),
             [draw(3, 3), draw(3, 2)], (1,))
        both("cholesky_inverse", lambda x: torch.cholesky_inverse(torch.linalg.cholesky(definite(x))), [draw(2, 3, 3)], (0,))
        for upper, adjoint, unit in itertools.product((0, 1), repeat=3):
            # The elements beside the triangle have a gradient of 0. A diagonal far from 0 keeps the systems well conditioned.
            def solve(a, b):
                a = a + 3 * torch.eye(a.shape[-1], dtype=a.dtype)
                a = a.triu() if upper else a.tril()
                return torch.linalg.solve_triangular(a.mH if adjoint else a, b, upper=upper != adjoint, unitriangular=bool(unit))
            for a, b in (((3, 3), (3, 2)), ((2, 1, 3, 3), (2, 3, 1)), ((4, 4), (2, 4, 3)), ((2, 2, 2), (2, 0)), ((0, 0), (0, 2))):
                both("solve_triangular", solve, [draw(*a), draw(*b)], (upper, adjoint, unit))
        x = draw(3, 4)
        x.view(-1)[3] = 0
        zero = x.clone()
        zero[1] = 0
        for order in (2, 1, 0, 3, 1.5, 0.5, -1, -2.5, inf, -inf):
            held_order = (order if np.isfinite(order) else np.copysign(1e300, order),)  # JSON has no infinities
            both("vector_norm", lambda x: torch.linalg.vector_norm(x, order, 1), [draw(2, 4)], held_order)
            case("vector_norm", lambda x: torch.linalg.vector_norm(x, order, 1), [x], held_order, w="any")
            case("vector_norm", lambda x: torch.linalg.vector_norm(x, order, 1), [zero], held_order, w="any")
        for number, order in enumerate(("fro", 1, inf, -1, -inf)):
            both("matrix_norm", lambda x: torch.linalg.matrix_norm(x, order), [draw(2, 3, 4)], (number,))
            case("matrix_norm", lambda x: torch.linalg.matrix_norm(x, order), [torch.zeros(2, 3, dtype=x.dtype)], (number,), w="any")
        both("inner", torch.inner, [draw(2, 3), draw(4, 3)])
        both("cross", lambda a, b: torch.linalg.cross(a, b), [draw(2, 1, 3), draw(1, 4, 3)])
        both("kron", torch.kron, [draw(2, 3), draw(2, 1, 2)])
        both("trace", torch.trace, [draw(3, 4)])
        for n in (0, 1, 2, 3, 5):
            both("matrix_power", lambda x: torch.linalg.matrix_power(x, n), [draw(2, 3, 3)], (n,))
        both("multi_dot", lambda *x: torch.linalg.multi_dot(x), [draw(3), draw(3, 4), draw(4, 1), draw(1, 2)])
        both("diag", torch.diag, [draw(3)], (0,))
        both("diag", lambda x: torch.diag(x, -2), [draw(3)], (-2,))
        both("vander", lambda x: torch.linalg.vander(x, N=4), [draw(2, 3)], (4,))
        case("vander", lambda x: torch.linalg.vander(x, N=4), [torch.zeros(2, dtype=x.dtype)], (4,), w="any")


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "bytes.npy", np.frombuffer(bytes(bytes_), np.uint8))
    (folder / "cases.json").write_text("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    print(len(cases), "cases,", len(bytes_), "bytes")


if __name__ == "__main__":
    elementwise()
    reductions()
    moves()
    products()
    norms()
    attention()
    networks()
    recurrent()
    complex_numbers()
    linear_algebra()
    write(OUT)
