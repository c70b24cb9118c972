"""Gradients and second derivatives by PyTorch, above all at points without a derivative, for
tests/derivatives/pytorch_test.cc: writes tests/data/derivatives/cases.json and bytes.npy (the operands).

Of each case: a function's name, its operands, weights w, and the gradients of sum(w · y) for the operands of floats; of
those of order 2, the gradients of the sum of u times these, where u are further weights. Values are PyTorch's in f64,
which agree with those that it has in f32 in what is infinite, NaN and zero."""
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


def place(t):
    t = t.detach().clone().contiguous()
    raw = t.numpy(force=True).tobytes()
    bytes_.extend(bytes(-len(bytes_) % 8))
    at = len(bytes_)
    bytes_.extend(raw)
    return {"type": {torch.float64: "f64", torch.int32: "i32", torch.bool: "bool"}[t.dtype], "shape": list(t.shape), "at": at}


def gradients(function, operands, w, u, dtype):
    x = [t.to(dtype).requires_grad_() if t.is_floating_point() else t for t in operands]
    floats = [t for t in x if t.requires_grad]
    y = function(*x)
    weights = torch.ones_like(y) if w is None else w.to(dtype)
    g = torch.autograd.grad(y, floats, weights, create_graph=u is not None, materialize_grads=True, allow_unused=True)
    if u is not None:
        with_graph = [(a, b.to(dtype)) for a, b in zip(g, u) if a.requires_grad]
        if not with_graph:
            return weights, [torch.zeros_like(t) for t in floats]
        g = torch.autograd.grad([a for a, _ in with_graph], floats, [b for _, b in with_graph], materialize_grads=True,
                                allow_unused=True)
    return weights, [t.detach() for t in g]


def case(name, function, operands, parameters=(), order=1, w=None, relative=1e-5):
    operands = [t.float().double() if t.is_floating_point() else t for t in operands]  # numbers that f32 holds
    u = None
    if order == 2:
        u = [torch.from_numpy(rng.uniform(0.5, 1.5, t.shape)).float().double() for t in operands if t.is_floating_point()]
    if w is not None:
        w = w.float().double()
    try:
        weights, expected = gradients(function, operands, w, u, torch.float64)
    except RuntimeError as error:
        if order == 1 or "is not implemented" not in str(error):
            raise
        print("no second derivative:", name)
        return
    _, narrow = gradients(function, operands, w, u, torch.float32)
    for a, b in zip(expected, narrow):
        b = b.double()
        same = torch.isclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)
        if not same.all():
            print("f32 differs:", name, parameters, [t.tolist() for t in operands], a.tolist(), b.tolist())
            return
    entry = {"function": name, "order": order, "operands": [place(t) for t in operands], "weights": place(weights.double()),
             "gradients": [place(t.double()) for t in expected]}
    if parameters:
        entry["parameters"] = list(parameters)
    if u is not None:
        entry["directions"] = [place(t) for t in u]
    if relative != 1e-5:
        entry["relative"] = relative
    cases.append(entry)


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


def pairs(a, b):
    a, b = np.meshgrid(a, b, indexing="ij")
    return [torch.from_numpy(v.ravel().astype(np.float64).copy()) for v in (a, b)]


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


# ---- Elementwise functions: PyTorch's of Weft's names.
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, -6.0, inf, -inf, nan]
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
# Of these PyTorch has no formula of its own, and where parts of the composition are infinite its value is NaN.
ORDINARY_ALONE = {"gelu_quick"}
# Where results overflow in f32 alone they are left out.
POINTS = {name: [x for x in SPECIAL] for name in UNARY}


def ordinary(name):
    if name == "acosh":
        return t(1.25, 1.5, 2, 2.75, 3.5)
    if name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "lgamma", "digamma", "reciprocal"):
        return t(0.25, 0.75, 1.5, 2.25, 3)
    if name in ("asin", "acos", "atanh", "erfinv"):
        return t(-0.75, -0.25, 0.125, 0.5, 0.8)
    return t(-1.75, -0.6, 0.3, 1.2, 2.4)


def elementwise():
    for name, f in UNARY.items():
        points = SPECIAL if name not in ORDINARY_ALONE else SPECIAL[:12]
        if name == "hardsigmoid":  # x / 6 + 0.5 is rounded to more than 0 at -3 in f64
            points = [x for x in SPECIAL if x != -3]
        if name == "digamma":  # at its poles PyTorch's trigamma depends on the type
            points = [x for x in SPECIAL if x > 0 and x < 9 or x == 0.5 or x == -0.5]
        if name == "lgamma":
            points = [x for x in SPECIAL if not (x < 0 and x == int(x) if abs(x) < 9 else x < 0)]
        case(name, f, [t(*points)])
        case(name, f, [ordinary(name)], order=2, relative=5e-5)
    for name, (f, lists) in PARAMETERS.items():
        for parameters in lists:
            g = lambda x: f(x, *parameters)
            case(name, g, [t(*SPECIAL)], parameters)
            case(name, g, [ordinary(name)], parameters, order=2, relative=5e-5)
    few = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, inf, -inf, nan]
    for name, f in BINARY.items():
        case(name, f, pairs(few, few))
        a, b = t(0.3, 1.25, 2.4, 0.7, 1.9), t(1.2, 0.4, 2.75, -0.6, 1.3)
        case(name, f, [a, b], order=2, relative=5e-5)
    x, low, high = t(-1, 1, 0, -2, 2, 0, nan, inf, -inf, 1, 0, 0), t(-1, -1, -1, -1, -1, 2, 0, 0, 0, nan, 0, 1), \
        t(1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 1)
    case("clamp", torch.clamp, [x, low, high])
    case("clamp_numbers", lambda x: torch.clamp(x, -1, 1), [t(*SPECIAL)])
    case("fma", lambda a, b, c: torch.addcmul(c, a, b), [t(0, 1, inf, nan, -2), t(inf, 2, 0, 1, 3), t(1, nan, inf, 0, 4)])
    case("lerp", torch.lerp, [t(0, 1, inf, 2), t(1, 3, 1, nan), t(0, 0.25, 1, 0.5)])
    condition = torch.tensor([True, False, True, False])
    case("select", torch.where, [condition, t(nan, nan, inf, 1), t(nan, inf, nan, 2)])


# ---- Reductions with ties and zeros
def reductions():
    rows = torch.tensor([[1, 2, 3, 4], [0, 2, 3, 4], [0, 2, 0, 4], [0, 0, 0, 0], [-1, 2, -3, 0.5]], dtype=torch.float64)
    ties = torch.tensor([[1, 3, 3, 2], [5, 5, 5, 5], [-1, 0.0, -0.0, -2], [nan, 1, nan, 2], [inf, 1, inf, 2]],
                        dtype=torch.float64)
    w = t(1, -0.5, 2, 0.75, 1.5)
    for order in (1, 2):
        case("reduce_prod", lambda x: x.prod(1), [rows], w=w, order=order)
        case("reduce_sum_squares", lambda x: (x * x).sum(1), [rows], w=w, order=order)
    case("reduce_max", lambda x: x.amax(1), [ties], w=w)
    case("reduce_min", lambda x: x.amin(1), [ties], w=w)
    case("reduce_l1", lambda x: torch.linalg.vector_norm(x, 1, 1), [rows], w=w)
    case("reduce_l2", lambda x: torch.linalg.vector_norm(x, 2, 1), [rows], w=w)
    hidden = torch.tensor([[1, 2, 3, 4], [-inf, 2, -inf, 4], [-inf] * 4, [100, -100, 0, 100], [0.0] * 4], dtype=torch.float64)
    case("reduce_log_sum_exp", lambda x: x.logsumexp(1), [hidden], w=w)
    case("softmax", lambda x: x.softmax(1), [hidden], w=torch.rand(5, 4))
    case("log_softmax", lambda x: x.log_softmax(1), [hidden[[0, 3, 4]]], w=torch.rand(3, 4))
    constant = torch.tensor([[1, 2, 3, 4], [2, 2, 2, 2], [0, 0, 0, 0]], dtype=torch.float64)
    for correction in (0, 1):
        case("variance", lambda x: x.var(1, correction=correction), [constant], (correction,), w=w[:3])
        case("deviation", lambda x: x.std(1, correction=correction), [constant], (correction,), w=w[:3])


# ---- Several operations
def networks():
    def near(*shape):
        return torch.randn(*shape, dtype=torch.float64)
    target = F.one_hot(torch.tensor([1, 0, 3]), 5).double()
    def cross_entropy(x, y):
        return -(y * (x.softmax(1)).log()).sum(1).mean()
    def norm(x, scale, bias):
        return F.layer_norm(x, (6,), scale, bias, 1e-5)
    def attend(q, k, v):
        return (q @ k.transpose(-1, -2) * 0.5).softmax(-1) @ v
    def pooled(x, w):
        return F.max_pool2d(F.conv2d(x, w, padding=1), 2)
    for order in (1, 2):
        case("cross_entropy", cross_entropy, [near(3, 5), target], order=order, relative=5e-5)
        case("layer_norm", norm, [near(4, 6), near(6), near(6)], w=near(4, 6), order=order, relative=5e-5)
        case("attend", attend, [near(2, 3, 4), near(2, 5, 4), near(2, 5, 4)], w=near(2, 3, 4), order=order, relative=5e-5)
        # Few values, so that maxima are tied.
        case("conv_pool", pooled, [torch.randint(0, 2, (2, 3, 6, 6)).double(), torch.randint(-1, 2, (4, 3, 3, 3)).double()],
             w=near(2, 4, 3, 3), order=order, relative=5e-5)
        zeros = torch.tensor([[1, 2, 3, 4], [0, 2, 3, 4], [1, 0, 3, 0], [0, 0, 0, 0], [2, 3, 0, 5]], dtype=torch.float64)
        case("cumprod", lambda x: x.cumprod(1), [zeros], w=near(5, 4), order=order)
    tied = torch.tensor([[3, 1, 3, 2, 1], [2, 2, 2, 2, 2], [5, 4, 3, 2, 1]], dtype=torch.float64)
    case("sort", lambda x: x.sort(1, stable=True).values, [tied], w=near(3, 5))
    # Which of equal elements topk takes PyTorch leaves open: the first ones of a stable sort.
    case("top_k", lambda x: x.sort(1, descending=True, stable=True).values[:, :3], [tied], w=near(3, 3))
    case("cummax", lambda x: x.cummax(1).values, [tied], w=near(3, 5))
    case("index_add", lambda x, i, v: x.index_put((i.long(),), v, accumulate=True), [near(4, 3), ints(0, 2, 2, 0, 2), near(5, 3)],
         w=near(4, 3))
    case("gather", lambda x, i: x[i.long()], [near(4, 3), ints(3, 1, 3, 3, 0)], w=near(5, 3))
    case("gather_elements", lambda x, i: x.gather(1, i.long()), [near(2, 4), torch.tensor([[0, 0, 3], [2, 2, 2]], dtype=torch.int32)],
         w=near(2, 3))
    case("max_pool", lambda x: F.max_pool2d(x, 2, 1), [torch.tensor([[[[1, 1, 0], [1, 1, 2.0], [0, 2, 2]]]])], w=near(1, 1, 2, 2))


elementwise()
reductions()
networks()
OUT.mkdir(parents=True, exist_ok=True)
np.save(OUT / "bytes.npy", np.frombuffer(bytes(bytes_), np.uint8))
(OUT / "cases.json").write_text("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
print(len(cases), "cases,", len(bytes_), "bytes")
