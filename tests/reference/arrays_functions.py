"""The array API standard's functions other than elementwise ones for arrays.py, by NumPy."""
import numpy as np
from arrays_elementwise import common, some, values_as
from cpu_kernel_cases import *  # noqa: F403

QUARTERS = [n / 4 for n in range(-8, 9)]  # whose sums and products of a few are exact in every float
SPECIAL = [0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf, 3.25]


def quarters(type, shape):
    """Floats and complex numbers whose sums are exact, integers and bool of the whole range."""
    if type == "c64":
        return T(type, rng.choice(QUARTERS, shape) + 1j * rng.choice(QUARTERS, shape))
    return some(type, shape, QUARTERS) if type in FLOATS else some(type, shape)


def ramp(type, shape):
    return T(type, np.arange(int(np.prod(shape))).reshape(shape))


def typed(x):
    return values_as(x, x.type)


def summed(type):
    if type == "bool":
        return "i32"
    return {"i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}.get(type, type)


def shaped(axes, keep):
    return {**({} if axes is None else {"axes": list(axes)}), **({"keep_dims": True} if keep else {})}


# ---- Creation
def creation():
    for type, stop, more in (("i32", 7, {}), ("i32", 0, {}), ("f32", 2.5, {})):
        case("arange", [stop], [T(type, np.arange(stop))], more)
    for start, stop, step, type in ((2, 17, 3, "i32"), (5, -4, -2, "i32"), (0.5, 3, 0.5, "f32"), (3, 3, 1, "i32"), (4, 2, 1, "i32"),
                                    (1, 5, 1, "f16"), (-3, 4, 2, "i64"), (0, 250, 25, "u8"), (2.5, -1.5, -1, "f32")):
        usual = "i32" if all(isinstance(n, int) for n in (start, stop, step)) else "f32"
        case("arange", [start, stop, step], [T(type, np.arange(start, stop, step))], {} if type == usual else {"dtype": type})
    for start, stop, n, end, type in ((0, 1, 5, True, "f32"), (-2, 3, 7, False, "f32"), (3, 3, 4, True, "f16"), (1, 2, 1, True, "f32"),
                                      (5, -5, 11, True, "bf16"), (0, 1, 0, True, "f32")):
        case("linspace", [], [T(type, np.linspace(start, stop, n, endpoint=end))],
             {"start": float(start), "stop": float(stop), "count": n, "endpoint": end, "dtype": type}, ulp=1, absolute=1e-6)
    for rows, columns, k, type in ((3, 3, 0, "f32"), (2, 4, 1, "i32"), (4, 2, -1, "bool"), (3, 3, 5, "f16"), (0, 3, 0, "f32"), (3, 3, -7, "u8")):
        case("eye", [], [T(type, np.eye(rows, columns, k))], {"rows": rows, "columns": columns, "diagonal": k, "dtype": type})
    for shape, value, type in (((2, 3), 2.5, "f32"), ((), 7, "i64"), ((0, 2), 1, "u8"), ((3,), True, "bool"), ((2,), 2**63 - 1, "i64"),
                               ((2,), 2**64 - 1, "u64"), ((2,), -1.5, "c64"), ((2,), 1e-7, "f16")):
        case("full", [value], [T(type, np.full(shape, value))], {"shape": list(shape), "dtype": type})
        x = some("f32", shape)
        case("full_like", [x, value], [T(type, np.full(shape, value))], {"dtype": type})
    for name, value in (("zeros", 0), ("ones", 1)):
        for shape, type in (((2, 3), "f32"), ((), "bool"), ((0,), "i32"), ((1, 4), "i64"), ((2,), "c64")):
            case(name, [], [T(type, np.full(shape, value))], {"shape": list(shape), "dtype": type})
            case(name + "_like", [some(type, shape)], [T(type, np.full(shape, value))])
            case(name + "_like", [some("u16", shape)], [T(type, np.full(shape, value))], {"dtype": type})
    for name, f in (("tril", np.tril), ("triu", np.triu)):
        for shape, k, type in (((3, 4), 0, "f32"), ((4, 3), 1, "i32"), ((2, 3, 3), -1, "f16"), ((3, 3), 5, "u8"), ((3, 3), -5, "bool"),
                               ((0, 3), 0, "f32"), ((2, 2), 0, "i64"), ((2, 3), 0, "c64")):
            x = some(type, shape)
            case(name, [x], [T(type, f(x.values, k))], {"diagonal": k})
    for axes in ([], [4], [2, 3], [2, 1, 3], [0, 2], [2, 3, 1, 2]):
        inputs = [some("f32" if i % 2 else "i32", (n,)) for i, n in enumerate(axes)]
        for order in ("xy", "ij"):
            grid = np.meshgrid(*(t.values for t in inputs), indexing=order)
            case("meshgrid", inputs, [T(t.type, g) for t, g in zip(inputs, grid)], {"order": order})


# ---- Statistics, and the utilities of the same form
SHAPES = [((3, 4, 2), [None, (0,), (-1,), (0, -1), (1, 0, 2), ()]), ((5,), [None, (0,)]), ((), [None, ()]), ((2, 0, 3), [(0,), (2, -3)])]
EMPTY = [((0, 3), [None, (0,), (1,)]), ((2, 0), [(-1,)])]


def over(types, of_type, shapes):
    """Each type with a few of the shapes, axes and keep_dims, all of them in turn."""
    every = [(shape, a, keep) for shape, axes in shapes for a in axes for keep in (False, True)]
    k = 0
    for type in types:
        for shape, axes, keep in every if type == types[0] else [every[(k + 5 * i) % len(every)] for i in range(4)]:
            yield of_type(type, shape), axes, keep
            k += 1


def statistics():
    numbers = ["f32", "f16", "bf16", "i8", "u8", "i32", "u32", "i64", "u64", "i16", "u16", "f64"]
    for x, axes, keep in over(numbers + ["bool", "c64"], quarters, SHAPES + EMPTY):
        type = summed(x.type)
        case("sum", [x], [T(type, np.sum(typed(T(type, x.values)), axis=axes, keepdims=keep))], shaped(axes, keep))
    for x, axes, keep in over(numbers + ["bool", "c64"], lambda t, s: some(t, s, [1, -1, 2, 0.5] if t in FLOATS + ["c64"] else [1, 2, 3]),
                              SHAPES + EMPTY):
        type = summed(x.type)
        case("prod", [x], [T(type, np.prod(typed(T(type, x.values)), axis=axes, keepdims=keep))], shaped(axes, keep))
    for name, f in (("sum", np.sum), ("prod", np.prod)):
        for type, other in (("i8", "i64"), ("u8", "f32"), ("f16", "f32"), ("f32", "f16"), ("bool", "u8"), ("i32", "i8")):
            x = some(type, (2, 5), [1, 2, 1.5, 3])
            case(name, [x], [T(other, f(values_as(x, other), axis=1))], {"axes": [1], "dtype": other}, ulp=1 if other == "f16" else 0)
        x = some("f32", (6, 4), SPECIAL)
        case(name, [x], [T("f32", f(x.values, axis=-1))], {"axes": [-1]}, ulp=2)
    # No large integers, of whose sums in f32 little is left when they cancel.
    small = lambda t, s: quarters(t, s) if t in FLOATS + ["bool"] else some(t, s, range(100))  # noqa: E731
    for x, axes, keep in over(["f32", "f16", "bf16", "i8", "u8", "i32", "i64", "bool", "f64"], small, SHAPES[:3]):
        type = x.type if x.type in FLOATS else "f32"
        v = values_as(x, type)
        case("mean", [x], [T(type, np.mean(v, axis=axes, keepdims=keep))], shaped(axes, keep), ulp=4, absolute=1e-6)
        if axes == ():
            continue
        for name, f in (("var", np.var), ("std", np.std)):
            n = v.size if axes is None else int(np.prod([x.shape[a] for a in axes]))
            correction = 1 if n > 1 and keep else 0
            near = {"relative": 2e-3 if type in ("f16", "bf16") else 4e-6, "absolute": 1e-6, "ulp": 2}
            case(name, [x], [T(type, f(v, axis=axes, keepdims=keep, ddof=correction))], {**shaped(axes, keep), "correction": correction}, **near)
    z = quarters("c64", (3, 4))
    case("mean", [z], [T("c64", z.values.mean(axis=1))], {"axes": [1]}, absolute=1e-6)
    for name, f in (("max", np.max), ("min", np.min)):
        for x, axes, keep in over(numbers, lambda t, s: some(t, s), SHAPES):
            case(name, [x], [T(x.type, f(typed(x), axis=axes, keepdims=keep))], shaped(axes, keep))
    for name, f in (("any", np.any), ("all", np.all), ("count_nonzero", np.count_nonzero)):
        for x, axes, keep in over(["f32", "bool", "i32", "u8", "f16", "i64", "c64"],
                                  lambda t, s: some(t, s, [0.0, -0.0, 1.0, np.nan] if t in FLOATS else [0, 1, 1]), SHAPES + EMPTY):
            case(name, [x], [T("i32" if name == "count_nonzero" else "bool", f(typed(x), axis=axes, keepdims=keep))], shaped(axes, keep))
    for name, f in (("argmax", np.argmax), ("argmin", np.argmin)):
        for x, axes, keep in over(numbers, lambda t, s: some(t, s, [1, 2, 2, 3, 1] if t not in FLOATS else SPECIAL[:4] + [3.25, 3.25]), SHAPES):
            if axes == ():
                continue
            v, axes_ = typed(x), range(len(x.shape)) if axes is None else sorted(a % len(x.shape) for a in axes)
            moved = np.moveaxis(v, list(axes_), range(-len(axes_), 0)) if len(axes_) else v
            rest = moved.shape[:moved.ndim - len(axes_)]
            flat = f(moved.reshape(rest + (-1,)) if 0 not in moved.shape else np.zeros(rest + (1,)), axis=-1)
            y = np.reshape(flat, [1 if i in axes_ else n for i, n in enumerate(x.shape)]) if keep else flat
            case(name, [x], [T("i32", y)], shaped(axes, keep))
        x = some("f32", (4, 6), SPECIAL)
        case(name, [x], [T("i32", f(x.values, axis=0))], {"axes": [0]})
    for name, f, first in (("cumulative_sum", np.cumsum, 0), ("cumulative_prod", np.cumprod, 1)):
        for type in numbers + ["bool", "c64"]:
            x = quarters(type, (3, 4)) if first == 0 else some(type, (3, 4), [1, 2, -1, 1] if type[0] not in "ub" else [1, 2, 1])
            axis, to = int(rng.integers(-2, 2)), summed(type)
            v = typed(T(to, x.values))
            case(name, [x], [T(to, f(v, axis=axis))], {"axis": axis})
            start = np.full([1 if i == axis % 2 else n for i, n in enumerate(x.shape)], first, v.dtype)
            case(name, [x], [T(to, np.concatenate([start, f(v, axis=axis)], axis=axis))], {"axis": axis, "include_initial": True})
        x = some("i8", (5,), [1, 2, 3])
        case(name, [x], [T("i32", f(typed(x).astype(np.int32)))])
        case(name, [x], [T("f32", f(x.values.astype(float)))], {"dtype": "f32"})
        case(name, [some("f32", (0, 3))], [T("f32", np.zeros((0, 3)))], {"axis": 0})
        case(name, [some("f32", (0,))], [T("f32", [first])], {"include_initial": True})
    for type, shape, axis, n in (("f32", (3, 5), -1, 1), ("i32", (5,), 0, 2), ("u8", (4, 3), 0, 1), ("bool", (6,), -1, 1), ("bool", (6,), -1, 2),
                                 ("f16", (2, 3), 1, 3), ("f32", (4,), 0, 0), ("i64", (2, 0), 1, 1), ("f32", (2, 3), -2, 5), ("c64", (4,), 0, 1)):
        x = quarters(type, shape)
        case("diff", [x], [T(type, np.diff(typed(x), n=n, axis=axis))], {"axis": axis, "n": n})
    x, before, after = quarters("f32", (2, 3)), quarters("f32", (2, 1)), quarters("i8", (2, 2))
    case("diff", [x, before], [T("f32", np.diff(x.values, prepend=before.values))], {"prepend": True})
    case("diff", [x, after], [T("f32", np.diff(x.values, append=values_as(after, "f32")))], {"append": True})
    case("diff", [x, before, after], [T("f32", np.diff(x.values, n=2, prepend=before.values, append=values_as(after, "f32")))],
         {"prepend": True, "append": True, "n": 2})


# ---- Manipulation
def manipulation():
    for name, f, tries in (
            ("expand_dims", lambda v, axis: np.expand_dims(v, axis), [((2, 3), 0), ((2, 3), -1), ((2, 3), 2), ((), 0), ((0,), -2)]),
            ("squeeze", lambda v, axis: np.squeeze(v, axis), [((2, 1, 3), 1), ((1, 0), 0), ((3, 1), -1), ((1,), 0)])):
        for shape, axis in tries:
            x = some("f32", shape)
            case(name, [x], [T("f32", f(x.values, axis))], {"axis": axis})
    for shape, axes in (((2, 3, 4), None), ((2, 3, 4), (0,)), ((2, 3, 4), (-1, 0)), ((0, 3), None), ((), None), ((5,), (0,)), ((2, 3), ())):
        x = some("i32", shape)
        case("flip", [x], [T("i32", np.flip(x.values, axes))], shaped(axes, False))
    for shape, source, target in (((2, 3, 4), (0,), (-1,)), ((2, 3, 4), (2, 0), (0, 1)), ((2, 3, 4, 5), (-1, 1), (1, -2)), ((3,), (0,), (0,)),
                                  ((2, 3), (), ())):
        x = some("u8", shape)
        case("moveaxis", [x], [T("u8", np.moveaxis(x.values, source, target))], {"axes": list(source), "to": list(target)})
    for shape, order in (((2, 3, 4), (2, 0, 1)), ((2, 3), (1, 0)), ((2, 3, 1), (-1, 1, 0)), ((), ())):
        x = some("f16", shape)
        case("permute_dims", [x], [T("f16", np.transpose(x.values, order))], {"axes": list(order)})
    for shape in ((2, 3), (4, 2, 3), (0, 2)):
        x = some("f32", shape)
        case("matrix_transpose", [x], [T("f32", np.swapaxes(x.values, -1, -2))])
    for shape, to in (((2, 6), (3, 4)), ((2, 6), (-1,)), ((), (1, 1)), ((4,), (2, -1, 1)), ((0, 3), (3, 0)), ((1,), ()), ((0, 4), (2, -1, 4))):
        x = some("i16", shape)
        case("reshape", [x], [T("i16", x.values.reshape(to))], {"shape": list(to)})
    for shape in ((2, 3), (), (0, 4), (5,)):
        x = some("f32", shape)
        case("flatten", [x], [T("f32", x.values.reshape(-1))])
    for shape, to in (((3,), (2, 3)), ((2, 1), (2, 4)), ((), (0, 2)), ((1, 3), (4, 1, 3)), ((2, 3), (2, 3))):
        x = some("f32", shape)
        case("broadcast_to", [x], [T("f32", np.broadcast_to(x.values, to))], {"shape": list(to)})
    for shapes in (((3,), (2, 1)), ((), (0, 2), (1, 1)), ((4,),), ((2, 1, 3), (4, 1), (3,))):
        inputs = [some(("f32", "i8", "bool")[i], s) for i, s in enumerate(shapes)]
        case("broadcast_arrays", inputs, [T(t.type, b) for t, b in zip(inputs, np.broadcast_arrays(*(t.values for t in inputs)))])
    for types, shapes, axis in ((("f32", "f32"), ((2, 3), (4, 3)), 0), (("i32", "f16", "bool"), ((2, 1), (2, 3), (2, 2)), -1),
                                (("f32", "f32"), ((0, 2), (3, 2)), 0), (("u8", "i8"), ((2, 2), (3,)), None), (("f32",), ((2,),), 0),
                                (("f32", "i32"), ((), (2, 2)), None), (("bool", "bool"), ((3,), (2,)), 0)):
        inputs, type = [some(t, s) for t, s in zip(types, shapes)], types[0]
        for t in types:
            type = common(type, t)
        case("concat", inputs, [T(type, np.concatenate([values_as(t, type) for t in inputs], axis=axis))], {"flat": True} if axis is None else {"axis": axis})
    for types, shape, axis in ((("f32", "f32"), (2, 3), 0), (("i8", "u8", "f16"), (3,), -1), (("f32", "bool"), (), 0), (("i32", "i32"), (2, 0), 1)):
        inputs, type = [some(t, shape) for t in types], types[0]
        for t in types:
            type = common(type, t)
        case("stack", inputs, [T(type, np.stack([values_as(t, type) for t in inputs], axis))], {"axis": axis})
    for shape, axis in (((3, 2), 0), ((2, 3, 2), -1), ((4,), 0), ((0, 2), 0), ((2, 0), 0)):
        x = some("f32", shape)
        case("unstack", [x], [T("f32", v) for v in np.unstack(x.values, axis=axis)], {"axis": axis})
    for shape, shift, axes in (((3, 4), 2, None), ((3, 4), -5, None), ((3, 4), (1,), (0,)), ((3, 4), (1, -2), (0, -1)), ((3, 4), (1, 2), (1, 1)),
                               ((5,), (7,), (0,)), ((2, 3, 2), (1,), (0, 2)), ((0, 3), (1,), (1,)), ((), 3, None)):
        x = some("f32", shape)
        y = np.roll(x.values, shift if axes is None else shift if len(shift) > 1 else shift[0], axes)
        case("roll", [x], [T("f32", y)], {"shift": shift} if axes is None else {"shifts": list(shift), "axes": list(axes)})
    for shape, counts in (((2, 3), (2, 2)), ((3,), (2, 2)), ((2, 3), (3,)), ((2, 1, 2), (1, 3, 2)), ((2, 3), (0, 1)), ((), (4,)), ((2,), ())):
        x = some("i32", shape)
        case("tile", [x], [T("i32", np.tile(x.values, counts))], {"counts": list(counts)})
    for shape, n, axis in (((2, 3), 2, 0), ((2, 3), 3, -1), ((2, 3), 2, None), ((4,), 0, 0), ((), 3, None), ((0, 2), 2, 1)):
        x = some("f16", shape)
        case("repeat", [x], [T("f16", np.repeat(x.values, n, axis))], {"count": n} if axis is None else {"count": n, "axis": axis})
    for type, shape, counts, axis in (("i32", (2, 3), [1, 0, 2], 1), ("u8", (3,), [0, 0, 0], 0), ("i64", (4, 2), [3, 1, 0, 2], 0),
                                      ("i32", (2, 3), [2], -1), ("i32", (2, 3), 2, 0), ("i32", (0, 2), [], 0), ("u32", (5,), [0, 9, 0, 1, 0], 0)):
        x, n = some("f32", shape), T(type, counts)
        case("repeat", [x, n], [T("f32", np.repeat(x.values, np.asarray(n.values, np.int64), axis))], {"axis": axis})
    for shape, offset in (((3, 3), 0), ((3, 5), 1), ((5, 3), -2), ((2, 3, 4), 0), ((2, 3), 7), ((2, 3), -7), ((4, 4), 3), ((0, 3), 0), ((2, 4, 4), -1),
                          ((3, 5), 2), ((5, 2), -4)):
        x = some("f32", shape)
        case("diagonal", [x], [T("f32", np.diagonal(x.values, offset, -2, -1))], {"offset": offset})
    for source, target in (("f32", "i32"), ("i32", "f16"), ("bool", "f32"), ("u8", "i8"), ("i64", "i32"), ("f32", "bool"), ("i8", "c64"), ("f16", "bf16")):
        x = some(source, (3, 4), [0, 1, 3, 100, 2] if target[0] in "iu" else None)
        case("astype", [x], [T(target, values_as(x, target))], {"dtype": target})


# ---- Indexing, searching, sorting, sets
def searching():
    for type, shape, axis, indices in (("f32", (4, 3), 0, [0, 3, -1]), ("i32", (4, 3), 1, [[0, 1], [-3, 2]]), ("u8", (5,), 0, 2), ("f32", (2, 3, 4), -2, []),
                                       ("i64", (3, 2), 0, [1, 1]), ("bool", (4,), -1, [[3]]), ("f16", (5, 3), 0, [4, -5])):
        x, at = some(type, shape), T("i32", indices)
        case("take", [x, at], [T(type, np.take(x.values, np.asarray(at.values, np.int64), axis))], {"axis": axis})
    x, at = some("f32", (4, 3)), T("i64", [2, -1])
    case("take", [x, at], [T("f32", np.take(x.values, [2, -1], 0))], {"axis": 0})
    for type, shape, axis, rows in (("f32", (4, 3), 0, 2), ("i32", (4, 3), 1, 5), ("u8", (2, 3, 4), -2, 3), ("f16", (5,), 0, 0)):
        x = some(type, shape)
        at = rng.integers(-shape[axis], shape[axis], [rows if i == axis % len(shape) else n for i, n in enumerate(shape)])
        case("take_along_axis", [x, T("i32", at)], [T(type, np.take_along_axis(x.values, at, axis))], {"axis": axis})
    for type in ("f32", "f16", "bf16", "i8", "u8", "i32", "u32", "i64", "u64"):
        for shape, axis in (((3, 8), -1), ((6, 3), 0)):
            x = some(type, shape, SPECIAL + [1.5, 0.0]) if type in FLOATS else some(type, shape)
            v = typed(x)
            for descending in (False, True):
                # Reversed values, in the order of which equal elements stay in theirs.
                order = np.argsort((-v if type in FLOATS else ~v) if descending else v, axis=axis, kind="stable")
                more = {"axis": axis, "descending": descending}
                case("argsort", [x], [T("i32", order)], more)
                case("sort", [x], [T(type, np.take_along_axis(v, order, axis))], more)
    for shape, axis in (((0,), 0), ((2, 0), 0), ((1, 3), 0)):
        x = some("f32", shape, [1.5, 2.0])
        case("sort", [x], [T("f32", np.sort(x.values, axis))], {"axis": axis})
        case("argsort", [x], [T("i32", np.argsort(x.values, axis, kind="stable"))], {"axis": axis})
    for sorted_type, type, shape, n in (("f32", "f32", (3, 5), 9), ("i32", "i8", (7,), 8), ("i32", "f32", (6,), 5), ("f32", "f32", (4,), 0),
                                        ("u8", "u8", (), 1), ("f16", "f16", (0,), 4), ("i64", "i32", (5,), 16), ("f32", "f32", (8,), 2)):
        pool = SPECIAL + [1.0, 1.5, 2.0] if sorted_type in FLOATS else [0, 1, 2, 3, 5, 100, 7, 2]
        a, v = T(sorted_type, np.sort(typed(some(sorted_type, (n,), pool)))), some(type, shape, SPECIAL if type in FLOATS else pool)
        to = common(sorted_type, type)
        for side in ("left", "right"):
            case("searchsorted", [a, v], [T("i32", np.searchsorted(values_as(a, to), values_as(v, to), side))], {"side": side})
    few = [0.0, -0.0, 1.0, np.nan, 0.0]
    for type, shape in (("f32", (3, 4)), ("bool", (6,)), ("i32", (2, 3, 2)), ("u8", (5, 1)), ("f32", (0, 3)), ("i64", (4,)), ("f16", (2, 5)), ("c64", (3, 2))):
        x = some(type, shape, few if type in FLOATS + ["c64"] else [0, 0, 1])
        case("nonzero", [x], [T("i32", i) for i in np.nonzero(typed(x))])
    case("nonzero", [T("f32", np.zeros((2, 2)))], [T("i32", np.zeros(0)), T("i32", np.zeros(0))])
    for type, shape, axis, kind in (("f32", (4, 3), 0, "bool"), ("i32", (4, 3), -1, "bool"), ("u8", (2, 3), None, "bool"), ("f32", (3,), 0, "i32"),
                                    ("f32", (0,), 0, "bool")):
        x = some(type, shape)
        chosen = some(kind, (x.values.size if axis is None else shape[axis],), [0, 1])
        y = np.compress(values_as(chosen, "bool"), x.values, axis)
        case("compress", [chosen, x], [T(type, y)], {} if axis is None else {"axis": axis})
    for type, shape, pool in (("f32", (4, 5), [0.0, -0.0, 1.5, -2.0, np.nan, np.inf]), ("i32", (9,), [3, -1, 2, 3]), ("u8", (3, 3), None), ("bool", (7,), None),
                              ("f32", (0, 2), None), ("i64", (6,), [2**40, -(2**40), 0]), ("f16", (8,), [1.0, 0.5]), ("f32", (), [2.0]),
                              ("f32", (5,), [np.nan]), ("bool", (4,), [True]), ("i8", (1,), None)):
        x = some(type, shape, pool)
        values, first, inverse, counts = np.unique(typed(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
        # Which of two NaN is first is said by their place.
        results = [T(type, values), T("i32", first), T("i32", inverse.reshape(shape)), T("i32", counts)]
        for name, which in (("unique_all", (0, 1, 2, 3)), ("unique_values", (0,)), ("unique_counts", (0, 3)), ("unique_inverse", (0, 2))):
            case(name, [x], [results[i] for i in which])


# ---- Products
def products():
    near = {"f32": {"ulp": 4, "absolute": 1e-5}, "f16": {"ulp": 1, "absolute": 1e-3}, "bf16": {"ulp": 1, "absolute": 1e-2}, "c64": {"absolute": 1e-5}}

    def small(type, shape):
        return quarters(type, shape) if type in FLOATS + ["c64"] else some(type, shape)

    def both(a, b):
        to = common(a.type, b.type)
        return to, values_as(a, to), values_as(b, to)

    for a, b, m, n in (("f32", "f32", (3, 4), (4, 5)), ("f16", "f16", (2, 3, 4), (4, 2)), ("c64", "c64", (2, 3), (3, 2)), ("f32", "f32", (2, 0), (0, 3)),
                       ("f32", "f32", (2, 1, 3, 2), (5, 2, 3)), ("bf16", "bf16", (1, 3), (3, 1)), ("f32", "f32", (0, 3), (3, 2))):
        x, y = small(a, m), small(b, n)
        to, u, v = both(x, y)
        case("matmul", [x, y], [T(to, u @ v)], **near.get(to, {}))
    for type in ("i8", "u8", "i16", "i32"):
        x, y = some(type, (3, 4)), some(type, (4, 2))
        case("matmul", [x, y], [T("i32", np.array(x.values, np.int64).astype(np.int32) @ np.array(y.values, np.int64).astype(np.int32))])
    types = [("f32", "f32"), ("i32", "i8"), ("f16", "i32"), ("bool", "bool"), ("i64", "u8"), ("f64", "f32"), ("c64", "f32"), ("u8", "u8"), ("bf16", "bf16"),
             ("u64", "u64"), ("u32", "u32")]
    for a, b in types:
        for m, n, axes in (((2, 3, 4), (3, 4, 2), 2), ((2, 3), (3, 2), 1), ((2,), (3, 1), 0), ((3, 2), (3, 2), ((0, 1), (0, 1))),
                           ((2, 3, 4), (4, 2), ((-1, 0), (0, 1))), ((2, 0), (0, 3), 1), ((2, 3), (4, 3), ((1,), (-1,)))):
            x, y = small(a, m), small(b, n)
            to, u, v = both(x, y)
            more = {"axes": axes} if isinstance(axes, int) else {"a_axes": list(axes[0]), "b_axes": list(axes[1])}
            case("tensordot", [x, y], [T(to, np.tensordot(u, v, axes))], more, **near.get(to, {}))
        for m, n, axis in (((3, 4), (4,), -1), ((2, 3, 1), (3, 2), -2), ((5,), (5,), -1)):
            x, y = small(a, m), small(b, n)
            if a == "bool":
                continue
            to, u, v = both(x, y)
            least = min(len(m), len(n))
            u, v = np.moveaxis(np.broadcast_to(u, np.broadcast_shapes(m, n)), axis, -1), np.moveaxis(np.broadcast_to(v, np.broadcast_shapes(m, n)), axis, -1)
            assert -least <= axis < 0
            case("vecdot", [x, y], [T(to, (np.conj(u) * v).sum(-1, dtype=u.dtype))], {"axis": axis}, **near.get(to, {}))
        if a != "bool":
            x, y = small(a, (3,)), small(b, (4,))
            to, u, v = both(x, y)
            case("outer", [x, y], [T(to, np.outer(u, v))], **near.get(to, {}))
    for text, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))), ("ii", ((3, 3),)), ("ii->i", ((3, 3),)), ("ij->ji", ((2, 3),)),
                         ("ij->", ((2, 3),)), ("ij->i", ((2, 3),)), ("i,j->ij", ((2,), (3,))), ("i,i->", ((4,), (4,))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 2))),
                         ("...i,...i->...", ((2, 3, 4), (3, 4))), ("...ij,jk->...ik", ((2, 2, 3), (3, 2))), ("ij,kj,kl->il", ((2, 3), (4, 3), (4, 2))),
                         ("iij->ij", ((3, 3, 2),)), ("ba", ((2, 3),)), ("i,ij,j", ((2,), (2, 3), (3,))), (",i->i", ((), (3,))), ("ij,ij->ij", ((2, 3), (2, 3))),
                         ("ij,j->ij", ((2, 3), (3,))), ("i...->...", ((3, 2),)), ("...", ((2, 3),)), ("abc,cd,ae->bde", ((2, 3, 4), (4, 2), (2, 3))),
                         ("iji->j", ((3, 2, 3),)), ("ij,jk->", ((2, 3), (3, 4))), ("ij,jk->ik", ((2, 0), (0, 3))),
                         ("Aa,aB->AB", ((2, 3), (3, 2))), (" i j , j k -> k i ", ((2, 3), (3, 4))), ("ijk,ijk,ijk->k", ((2, 3, 2),) * 3),
                         ("...,...->...", ((2, 1), (3,))), ("i,k->", ((2,), (3,))), ("iii->i", ((2, 2, 2),))):
        for mix in (("f32",), ("f32", "i8"), ("i32",), ("c64",), ("i64",)):
            inputs = [small(mix[i % len(mix)], s) for i, s in enumerate(shapes)]
            if any(t.type in ("i32", "i8") for t in inputs):
                inputs = [some(t.type, t.shape, range(-9, 9)) if t.type in INTEGERS else t for t in inputs]
            to = inputs[0].type
            for t in inputs:
                to = common(to, t.type)
            case("einsum", inputs, [T(to, np.einsum(text, *(values_as(t, to) for t in inputs)))], {"subscripts": text}, **near.get(to, {}))
    p, q = some("bool", (3, 4)), some("bool", (4, 2))
    case("einsum", [p, q], [T("bool", np.einsum("ij,jk->ik", p.values, q.values))], {"subscripts": "ij,jk->ik"})
    case("einsum", [p], [T("bool", p.values.any(1))], {"subscripts": "ij->i"})
    x, y = some("f32", (3, 1), QUARTERS), some("f32", (1, 4), QUARTERS)
    case("einsum", [x, y], [T("f32", np.einsum("ij,ij->ij", x.values, y.values))], {"subscripts": "ij,ij->ij"})
    case("einsum", [x, y], [T("f32", np.einsum("ij,ij->i", x.values, y.values))], {"subscripts": "ij,ij->i"}, ulp=4)
    # Vectors, and types that promote.
    for a, b, m, n in (("f32", "f32", (4,), (4, 3)), ("f16", "i32", (2, 3), (3,)), ("i64", "u8", (2, 3), (3, 2)), ("u64", "u64", (3,), (3,)),
                       ("i64", "i64", (2, 1, 2, 3), (3, 3, 2)), ("f32", "i64", (3, 2, 4), (4,)), ("f64", "f32", (2, 3), (3, 2)), ("u64", "u64", (2, 0), (0, 3))):
        x, y = small(a, m), small(b, n)
        to, u, v = both(x, y)
        case("matmul", [x, y], [T(to, u @ v)], **near.get(to, {}))
