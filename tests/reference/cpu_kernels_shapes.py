"""Kernels that move, order, reduce, multiply and draw, for cpu_kernels.py, by NumPy and Python's integers."""
import math

import numpy as np
from cpu_kernel_cases import *  # noqa: F403


def grid(type, shape):
    n = int(np.prod(shape))
    if type in FLOATS:
        return T(type, rng.integers(-60, 61, shape) / 8.0)
    if type == "bool":
        return T("bool", rng.integers(0, 2, shape))
    if type == "c64":
        return T("c64", (rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape)) / 4)
    if type in PACKED:
        return T(type, rng.integers(-8, 8, shape))
    return T(type, np.array(integers(type, n, small=True).values, object).reshape(shape))


def like(t, values):
    return T(t.type, values)


EVERY = FLOATS + INTEGERS + ["bool", "c64"] + list(PACKED)
REAL = FLOATS + INTEGERS + ["bool"]


def movement():
    widths = ((2, 1), (0, 3), (9, 4))
    for type in EVERY:
        x = grid(type, (4, 6, 8))
        v = x.values
        zero = 0 if type != "bool" else False
        case("pad", [x], [like(x, np.pad(v, widths, constant_values=1))], {"before": [2, 0, 9], "value": 1})
        for mode in ("edge", "reflect", "symmetric", "wrap"):
            case("pad", [x], [like(x, np.pad(v, widths, mode=mode))], {"before": [2, 0, 9], "mode": mode})
        case("tile", [x], [like(x, np.tile(v, (2, 1, 3)))])
        case("repeat", [x], [like(x, np.repeat(np.repeat(v, 3, axis=1), 2, axis=2))])
        case("roll", [x], [like(x, np.roll(v, (1, -2, 7), axis=(0, 1, 2)))], {"shifts": [1, -2, 7]})
        for axis in range(3):
            parts = [like(x, p) for p in np.split(v, [1, 2], axis=axis)]
            case("concat", parts, [x], {"axis": axis})
            case("split", [x], parts, {"axis": axis})
        mask = T("bool", rng.integers(0, 2, (4, 6, 8)))
        old = grid(type, (4, 6, 8))
        case("masked_copy", [mask, x], [like(x, np.where(mask.values, v, old.values))], before=[old])
        case("fill", [], [T(type, np.full((3, 4), 1))], {"value": 1})
        case("copy", [like(x, v[:, :1])], [like(x, np.broadcast_to(v[:, :1], v.shape))])
        one = T(type, np.full((4, 6, 8), 1)).values
        for part, cut in (("lower", np.tril), ("upper", np.triu)):
            keep = cut(np.ones((6, 8), bool), 1)
            case("triangle", [x], [like(x, np.where(keep, v, zero))], {"part": part, "diagonal": 1})
            case("triangle", [], [like(x, np.where(keep, one, zero))], {"part": part, "diagonal": 1})
        case("eye", [], [T(type, np.eye(5, 7, 2))], {"diagonal": 2})
        chosen = T("i32", rng.integers(-5, 5, (3, 4)))
        codes = np.array(chosen.values, int)[:, None, :] % 5 == np.arange(5)[None, :, None]
        case("one_hot", [chosen], [T(type, codes.astype(int))], {"axis": 1})
        indices = T("i64", rng.integers(-6, 6, (2, 3)))
        rows = np.array(indices.values, int)
        case("gather", [x, indices], [like(x, np.take(v, rows, axis=1))], {"axis": 1})
        along = T("i32", rng.integers(-6, 6, (4, 3, 8)))
        case("gather_elements", [x, along], [like(x, np.take_along_axis(v, np.array(along.values, int), 1))], {"axis": 1})
        pairs = T("u8", np.stack([rng.integers(0, 6, (4, 5)), rng.integers(0, 8, (4, 5))], axis=-1))
        p = np.array(pairs.values, int)
        case("gather_nd", [x, pairs], [like(x, v[np.arange(4)[:, None], p[..., 0], p[..., 1]])], {"batch": 1})
        scatters(type, x, old)
        compaction(type, x)
    for type in FLOATS:
        y = np.float64(-3) + np.arange(40) * 0.75
        case("arange", [], [T(type, y)], {"start": -3, "step": 0.75})
        case("linspace", [], [T(type, np.linspace(-2, 5, 33))], {"start": -2, "stop": 5}, **({"relative": 1e-15} if type == "f64" else {"ulp": 1}))
    for type in INTEGERS + list(PACKED):
        start = -30 if type[0] == "i" else 5
        case("arange", [], [T(type, [start + 7 * i for i in range(60)])], {"start": start, "step": 7})


def dynamic():
    """Parts that begin at an index from data, clamped so that they lie inside."""
    for type in EVERY:
        x, update = grid(type, (4, 6, 8)), grid(type, (2, 6, 3))
        for kind, starts in (("i32", (1, 4)), ("i64", (-3, 9)), ("u8", (7, 0))):
            i, j = min(max(starts[0], 0), 2), min(max(starts[1], 0), 5)
            at = np.s_[i : i + 2, :, j : j + 3]
            case("dynamic_slice", [x, T(kind, starts)], [like(x, x.values[at])], {"axes": [0, 2]})
            want = x.values.copy()
            want[at] = update.values
            case("dynamic_update_slice", [update, T(kind, starts)], [like(x, want)], {"axes": [0, -1]}, before=[x])
        one = T("i32", np.array(2))
        case("dynamic_slice", [x, one], [like(x, x.values[:, 2:4])], {"axes": [1]})


def folded(op, a, b, type):
    if op == "assign":
        return b
    if type == "c64" or (type in FLOATS):
        return {"add": a + b, "mul": a * b}[op] if op in ("add", "mul") else (min if op == "min" else max)(a, b)
    return {"add": lambda: int(a) + int(b), "mul": lambda: int(a) * int(b), "min": lambda: min(a, b), "max": lambda: max(a, b)}[op]()


def scatters(type, x, updates_like):
    if type in PACKED:
        ops = ["assign"]
    else:
        ops = ["assign"] + ([] if type == "bool" else ["add", "mul"]) + ([] if type == "c64" else ["min", "max"])
    for op in ops:
        # Small numbers: every order of sums and products is exact. Assigned elements are each named once.
        y = x.values.copy() if op == "assign" or op in ("min", "max") else np.sign(x.values.real).astype(object if type in INTEGERS else x.values.dtype) \
            if type != "c64" else np.sign(x.values.real) + 0j
        start = like(x, y)
        unique = op == "assign"
        rows = rng.permutation(6)[:4] if unique else rng.integers(0, 6, 9)
        up = grid(type, (4, len(rows), 8))
        if op in ("add", "mul"):
            up = like(up, np.where(np.array(up.values.real, float) > 0, 1, -1 if type[0] != "u" else 1))
        want = start.values.copy()
        for b in range(4):
            for i, r in enumerate(rows):
                for c in range(8):
                    want[b, r, c] = folded(op, want[b, r, c], up.values[b, i, c], type)
        case("scatter", [T("i32", rows), up], [like(x, want)], {"op": op, "axis": 1}, before=[start])
        along = np.argsort(rng.random((4, 6, 8)), axis=1)[:, :4] if unique else rng.integers(0, 6, (4, 4, 8))
        up = like(up, up.values[:, :4])
        want = start.values.copy()
        for b in range(4):
            for i in range(4):
                for c in range(8):
                    r = along[b, i, c]
                    want[b, r, c] = folded(op, want[b, r, c], up.values[b, i, c], type)
        case("scatter_elements", [T("i64", along), up], [like(x, want)], {"op": op, "axis": 1}, before=[start])
        pairs = np.stack([np.stack([rng.permutation(6)[:4] if unique else rng.integers(0, 6, 4), rng.integers(0, 8, 4)], -1) for _ in range(4)])
        up = like(up, up.values[:, :, 0])
        want = start.values.copy()
        for b in range(4):
            for i in range(4):
                r, c = pairs[b, i]
                want[b, r, c] = folded(op, want[b, r, c], up.values[b, i], type)
        case("scatter_nd", [T("u32", pairs), up], [like(x, want)], {"op": op, "batch": 1}, before=[start])


def compaction(type, x):
    mask = T("bool", rng.integers(0, 2, (4, 6, 8)))
    n = int(mask.values.sum())
    case("compress", [x, mask], [like(x, x.values[mask.values]), T("u32", n)])
    listed = grid(type, (n,))
    want = x.values.copy()
    want[mask.values] = listed.values
    case("expand", [listed, mask], [like(x, want), T("u32", n)], before=[x, T("u32", 0)])
    where = np.argwhere(np.array(x.values != 0, bool))
    case("nonzero", [x], [T("i64", where), T("u32", len(where))])


# ---- Rows
def rows():
    for type in REAL + ["c64"] + list(PACKED):
        x = grid(type, (4, 6, 9))
        v = x.values
        floats = type in FLOATS
        wide = v if floats or type == "c64" else np.array(v, object)
        # Some sums are of a few hundred numbers: f32 keeps 2e-6 of what they are made of.
        near = {"relative": 1e-14, "absolute": 1e-13} if type == "f64" else {"ulp": 1, "relative": 3e-6, "absolute": 2e-4}
        if floats:
            tame = like(x, np.exp(v / 16))
            t = tame.values
            results = {
                "sum": (x, v.sum((0, 2)), near), "mean": (x, v.mean((0, 2)), near), "prod": (tame, t.prod((0, 2)), {**near, "relative": 2e-5 if type != "f64" else 1e-13}),
                "min": (x, v.min((0, 2)), {}), "max": (x, v.max((0, 2)), {}), "sum_squares": (x, (v * v).sum((0, 2)), near),
                "l1": (x, np.abs(v).sum((0, 2)), near), "l2": (x, np.sqrt((v * v).sum((0, 2))), near), "log_sum": (tame, np.log(t.sum((0, 2))), near),
                "log_sum_exp": (x, np.log(np.exp(v).sum((0, 2))), near),
            }
            for name, (of_, want, tolerance) in results.items():
                case("reduce_" + name, [of_], [T(type, want)], {"axes": [0, 2]}, **tolerance)
            for correction in (0, 1):
                case("variance", [x], [T(type, v.var((0, 2), ddof=correction))], {"axes": [0, 2], "correction": correction}, **near)
                case("deviation", [x], [T(type, v.std((0, 2), ddof=correction))], {"axes": [0, 2], "correction": correction}, **near)
        elif type == "c64":
            near_one = like(x, np.exp(1j * v.real))
            for name, of_, f in (("sum", x, np.sum), ("mean", x, np.mean), ("prod", near_one, np.prod)):
                case("reduce_" + name, [of_], [T(type, f(of_.values, axis=(0, 2)))], {"axes": [0, 2]}, **near)
        elif type != "bool":
            across = lambda f: [f([int(n) for n in wide[:, i].ravel()]) for i in range(6)]
            for name, f in (("sum", sum), ("prod", math.prod), ("min", min), ("max", max), ("sum_squares", lambda r: sum(n * n for n in r)),
                            ("l1", lambda r: sum(abs(n) for n in r))):
                case("reduce_" + name, [x], [T(type, across(f))], {"axes": [0, 2]})
        case("reduce_any", [x], [T("bool", np.array(v != 0, bool).any(2))], {"axes": [2]})
        case("reduce_all", [x], [T("bool", np.array(v != 0, bool).all(2))], {"axes": [2]})
        case("reduce_count", [x], [T("i64", np.array(v != 0, bool).sum(2))], {"axes": [2]})
        if type != "c64":
            plain = np.array(v, float) if type != "u64" else v
            case("argmin", [x], [T("i32", np.argmin(plain, axis=1))], {"axes": [1]})
            case("argmax", [x], [T("i64", np.argmax(plain, axis=1))], {"axes": [1]})
            order = np.argsort(plain, axis=1, kind="stable")
            case("sort", [x], [like(x, np.take_along_axis(v, order, 1)), T("i32", order)], {"axis": 1})
            down = np.argsort(-plain.astype(float), axis=1, kind="stable")
            case("sort", [x], [like(x, np.take_along_axis(v, down, 1)), T("i64", down)], {"axis": 1, "descending": 1})
            case("top_k", [x], [like(x, np.take_along_axis(v, down[:, :3], 1)), T("u32", down[:, :3])], {"axis": 1})
            case("top_k", [x], [like(x, np.take_along_axis(v, order[:, :3], 1)), T("i32", order[:, :3])], {"axis": 1, "largest": 0})
        if type not in PACKED:
            scanned(type, x)
    for type in FLOATS:
        normalised(type)


def scanned(type, x):
    v = x.values
    floats = type in FLOATS
    to = type if type != "bool" else "i32"
    near = {"relative": 1e-14, "absolute": 1e-13} if type == "f64" else {"ulp": 1, "relative": 2e-6, "absolute": 1e-5}
    near = near if floats or type == "c64" else {}
    if type in INTEGERS + ["bool"]:
        v = np.array(v, object) + 0
    tame = like(x, np.exp(v / 16)) if floats else x
    scans = {"sum": (x, np.add, 0), "prod": (tame, np.multiply, 1)}
    if type not in ("c64", "bool"):
        low, high = (-np.inf, np.inf) if floats else (-(1 << (width_of(type) - 1)), (1 << (width_of(type) - 1)) - 1) if type[0] == "i" \
            else (0, (1 << width_of(type)) - 1)
        scans |= {"max": (x, np.maximum, low), "min": (x, np.minimum, high)}
    if floats:
        scans["log_sum_exp"] = (x, np.logaddexp, -np.inf)
    for name, (of_, f, none) in scans.items():
        d = of_.values if of_ is tame and floats else v if type != "c64" else of_.values
        forward, back = f.accumulate(d, axis=1), np.flip(f.accumulate(np.flip(d, 1), axis=1), 1)
        before = np.concatenate([np.full((4, 1, 9), none, forward.dtype), forward[:, :-1]], axis=1)
        tolerance = {} if name in ("max", "min") else near
        for want, attributes in ((forward, {}), (back, {"reverse": 1}), (before, {"exclusive": 1})):
            case("scan_" + name, [of_], [T(to, want)], {"axis": 1, **attributes}, **tolerance)


def normalised(type):
    x, w, b = grid(type, (4, 6, 9)), grid(type, (6,)), grid(type, (6,))
    v = x.values
    near = {"relative": 2e-6, "absolute": 1e-6}
    near = near if type in ("f32", "f64") else {"ulp": 1, **near}
    for axis in range(3):
        e = np.exp(v - v.max(axis, keepdims=True))
        y = e / e.sum(axis, keepdims=True)
        case("softmax", [x], [T(type, y)], {"axis": axis}, **near)
        case("log_softmax", [x], [T(type, np.log(y))], {"axis": axis}, **near)
    def norm(d, axes):
        return (d - d.mean(axes, keepdims=True)) / np.sqrt(d.var(axes, keepdims=True) + 1e-3)
    row, shift = grid(type, (9,)), grid(type, (9,))
    case("layer_norm", [x, row, shift], [T(type, norm(v, 2) * row.values + shift.values)], {"epsilon": 1e-3}, **near)
    case("rms_norm", [x, row], [T(type, v / np.sqrt((v * v).mean(2, keepdims=True) + 1e-3) * row.values)], {"epsilon": 1e-3}, **near)
    scale, bias = w.values[:, None], b.values[:, None]
    groups = norm(v.reshape(4, 3, 18), 2).reshape(4, 6, 9)
    case("group_norm", [x, w, b], [T(type, groups * scale + bias)], {"groups": 3, "epsilon": 1e-3}, **near)
    case("instance_norm", [x, w, b], [T(type, norm(v, 2) * scale + bias)], {"epsilon": 1e-3}, **near)
    gradients(type, x, near)
    mean, variance = grid(type, (6,)), T(type, np.abs(grid(type, (6,)).values) + 0.5)
    by = (v - mean.values[:, None]) / np.sqrt(variance.values[:, None] + 1e-3)
    case("batch_norm", [x, mean, variance, w, b], [T(type, by * scale + bias)], {"epsilon": 1e-3}, **near)


def norm_gradient(rows, cotangents, centred):
    """Of norms of rows, for x: by the Jacobian of each row."""
    out = []
    for a, c in zip(rows, cotangents):
        n = len(a)
        centre = np.eye(n) - np.full((n, n), 1 / n) if centred else np.eye(n)
        d = centre @ a
        factor = 1 / np.sqrt((d * d).mean() + 1e-3)
        jacobian = factor * centre - factor**3 / n * np.outer(d, d)
        out.append(jacobian.T @ c)
    return np.array(out)


def gradients(type, x, near):
    """Of what softmax and norms give for x, by their Jacobians as whole matrices, row by row."""
    v, g = x.values, grid(type, (4, 6, 9))
    along_rows = lambda values, axis: np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis])
    for axis in range(3):
        rows, cotangents = along_rows(v, axis), along_rows(g.values, axis)
        e = np.exp(rows - rows.max(1, keepdims=True))
        y = e / e.sum(1, keepdims=True)
        shape = np.moveaxis(v, axis, -1).shape
        back = lambda rows: np.moveaxis(rows.reshape(shape), -1, axis)
        # What the kernel is given is rounded to its type, and so is what is expected computed from that.
        p = T(type, back(y))
        r = along_rows(p.values, axis)
        dx = [(np.diag(a) - np.outer(a, a)) @ c for a, c in zip(r, cotangents)]
        case("softmax_gradient", [p, g], [T(type, back(np.array(dx)))], {"axis": axis}, **near)
        p = T(type, back(np.log(y)))
        r = np.exp(along_rows(p.values, axis))
        dx = [(np.eye(len(a)) - np.outer(np.ones(len(a)), a)).T @ c for a, c in zip(r, cotangents)]
        case("log_softmax_gradient", [p, g], [T(type, back(np.array(dx)))], {"axis": axis}, **near)
    loose = {k: t * (4 if k != "ulp" else 1) for k, t in near.items()}  # three sums of a row instead of one
    row, w = grid(type, (9,)), grid(type, (6,))
    for name, centred in (("layer_norm_gradient", True), ("rms_norm_gradient", False)):
        want = norm_gradient(v.reshape(24, 9), (g.values * row.values).reshape(24, 9), centred).reshape(4, 6, 9)
        case(name, [x, g, row], [T(type, want)], {"epsilon": 1e-3}, **loose)
    scaled = g.values * w.values[:, None]
    want = norm_gradient(v.reshape(12, 18), scaled.reshape(12, 18), True).reshape(4, 6, 9)
    case("group_norm_gradient", [x, g, w], [T(type, want)], {"groups": 3, "epsilon": 1e-3}, **loose)
    want = norm_gradient(v.reshape(24, 9), scaled.reshape(24, 9), True).reshape(4, 6, 9)
    case("instance_norm_gradient", [x, g, w], [T(type, want)], {"epsilon": 1e-3}, **loose)


def gradients_with_weights():
    for type in FLOATS:
        near = {"relative": 8e-6, "absolute": 1e-5 if type in ("f32", "f64") else 2e-5}
        near = near if type in ("f32", "f64") else {"ulp": 1, **near}
        x, g, row, w = grid(type, (4, 6, 9)), grid(type, (4, 6, 9)), grid(type, (9,)), grid(type, (6,))
        v, c = x.values, g.values
        def case_of(name, shape, scale, centred, sums, **attributes):
            """`shape`: as which x is rows; `sums`: the axes of x along which the weights are the same."""
            rows = v.reshape(shape)
            dx = norm_gradient(rows, (c * scale).reshape(shape), centred).reshape(v.shape)
            d = rows - rows.mean(1, keepdims=True) if centred else rows
            n = (d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-3)).reshape(v.shape)
            want = [T(type, dx), T(type, (c * n).sum(sums)), T(type, c.sum(sums))]
            of = row if len(scale.shape) == 1 else w
            case(name, [x, g, of], want if centred else want[:2], {**attributes, "epsilon": 1e-3}, **near)
        case_of("layer_norm_gradients", (24, 9), row.values, True, (0, 1))
        case_of("rms_norm_gradients", (24, 9), row.values, False, (0, 1))
        case_of("group_norm_gradients", (12, 18), w.values[:, None], True, (0, 2), groups=3)
        case_of("instance_norm_gradients", (24, 9), w.values[:, None], True, (0, 2))


# ---- Products
def products():
    for a_type in FLOATS:
        for b_type in FLOATS:
            a, b = grid(a_type, (2, 5, 7)), grid(b_type, (7, 9))
            for y_type in sorted({a_type, b_type, "f32"}):
                in_f64 = y_type == "f64" and "f64" in (a_type, b_type)
                case("matmul", [a, b], [T(y_type, a.values @ b.values)], ulp=1, absolute=1e-12 if in_f64 else 1e-4)
    for a_type in ("i8", "u8", "i16", "u16", "i32", "u32"):
        for b_type in ("i8", "u8", "i16", "u16", "i32", "u32"):
            a, b = T(a_type, integers(a_type, 35).values.reshape(5, 7)), T(b_type, integers(b_type, 63).values.reshape(7, 9))
            want = [[sum(int(p) * int(q) for p, q in zip(r, c)) for c in b.values.T] for r in a.values]
            for y_type in ("i32", "u32"):
                case("matmul", [a, b], [T(y_type, want)])
    a, b, r = grid("c64", (3, 5, 7)), grid("c64", (7, 9)), grid("f16", (7, 9))
    case("matmul", [a, b], [T("c64", a.values @ b.values)], absolute=1e-4)
    case("matmul", [a, r], [T("c64", a.values @ r.values)], absolute=1e-4)
    for type in ("f32", "f16", "bf16"):
        q, k, v = grid(type, (2, 4, 5, 8)), grid(type, (2, 2, 11, 8)), grid(type, (2, 2, 11, 6))
        mask = T("bool", rng.integers(0, 2, (2, 1, 5, 11)) | (np.arange(11) == 0))
        lengths = T("i32", [11, 7])
        scale = 0.125
        for causal in (0, 1):
            s = scale * q.values @ np.repeat(k.values, 2, axis=1).transpose(0, 1, 3, 2)
            seen = np.broadcast_to(mask.values, s.shape).copy()
            for batch, n in enumerate([11, 7]):
                seen[batch, ..., n:] = False
                if causal:
                    seen[batch] &= np.arange(11) <= np.arange(5)[:, None] + n - 5
            e = np.where(seen, np.exp(s - s.max(-1, keepdims=True)), 0)
            total = e.sum(-1, keepdims=True)
            y = np.where(total > 0, e / np.where(total > 0, total, 1), 0) @ np.repeat(v.values, 2, axis=1)
            case("attention", [q, k, v, mask, T("i32", [5, 5]), lengths], [T(type, y)], {"scale": scale, "causal": causal}, ulp=1, absolute=2e-5)


# ---- Random numbers, from the paper's Threefry-2x32-20 and the header's formulas.
def threefry(key, count):
    rotations = [13, 15, 26, 6, 17, 29, 16, 24]
    k = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA]
    words = []
    for block in range((count + 1) // 2):
        x = [(block + k[0]) & 0xFFFFFFFF, ((block >> 32) + k[1]) & 0xFFFFFFFF]
        for r in range(20):
            x[0] = (x[0] + x[1]) & 0xFFFFFFFF
            n = rotations[r % 8]
            x[1] = (((x[1] << n) | (x[1] >> (32 - n))) & 0xFFFFFFFF) ^ x[0]
            if r % 4 == 3:
                j = r // 4 + 1
                x = [(x[0] + k[j % 3]) & 0xFFFFFFFF, (x[1] + k[(j + 1) % 3] + j) & 0xFFFFFFFF]
        words += x
    return words[:count]


def randoms():
    key = T("u32", [0x12345678, 0x9ABCDEF0])
    w = threefry([int(n) for n in key.values], 160)
    stream = b"".join(n.to_bytes(4, "little") for n in w)
    for type in INTEGERS:
        n, size = 20, width_of(type) // 8
        case("random_bits", [key], [T(type, [int.from_bytes(stream[i * size:(i + 1) * size], "little") for i in range(n)])])
        low, high = 3, 100
        case("random_integers", [key], [T(type, [low + (((w[2 * i] + (w[2 * i + 1] << 32)) * (high - low)) >> 64) for i in range(n)])],
             {"low": low, "high": high})
    for type in ("f32", "f16", "bf16"):
        u = np.array([n >> 8 for n in w[:64]]) / 2.0**24
        case("random_uniform", [key], [T(type, 0.5 + u * 0.5)], {"low": 0.5, "high": 1}, ulp=1)
        first = np.array([(n + 0.5) / 2.0**32 for n in w[0:64:2]])
        second = np.array([n / 2.0**32 for n in w[1:64:2]])
        radius = np.sqrt(-2 * np.log(first))
        y = np.stack([radius * np.cos(2 * np.pi * second), radius * np.sin(2 * np.pi * second)], -1).ravel()
        case("random_normal", [key], [T(type, 1 + 2 * y)], {"mean": 1, "deviation": 2}, ulp=1, absolute=4e-6, relative=4e-6)
