"""Elementwise functions of the array API standard for arrays.py: promotion, broadcasting and weak numbers, by NumPy."""
import numpy as np
from cpu_kernel_cases import *  # noqa: F403
from cpu_kernels_elementwise import next_after, to_floor

TYPES = FLOATS + INTEGERS + list(PACKED) + ["bool", "c64"]


# ---- Types
def common(a, b):
    """The type of two types by the standard's table, and where that is silent by PyTorch's; None: they have none."""
    if a == b:
        return a
    if a in PACKED or b in PACKED:
        return None
    if "bool" in (a, b):
        return b if a == "bool" else a
    ints = [t for t in (a, b) if t in INTEGERS]
    if len(ints) == 2:
        both = np.result_type(NUMPY[a], NUMPY[b])
        return None if both == np.float64 else ("u" if both.kind == "u" else "i") + str(8 * both.itemsize)
    if len(ints) == 1:
        return b if a in INTEGERS else a
    if "c64" in (a, b):
        return None if "f64" in (a, b) else "c64"
    size = {"f8e4m3": 1, "f8e5m2": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
    if size[a] == size[b]:
        return "f32" if size[a] == 2 else None
    return max(a, b, key=size.get)


def with_number(type, number):
    """A number beside a tensor: its type, if that can hold the number's kind."""
    if isinstance(number, bool):
        return type
    if isinstance(number, int):
        return "i32" if type == "bool" else type
    return "f32" if type == "bool" or type in INTEGERS or type in PACKED else type


def result_type(operands):
    type = None
    for x in operands:
        if isinstance(x, T):
            type = common(type, x.type) if type else x.type
    for x in operands:
        if not isinstance(x, T):
            type = with_number(type or "bool", x)
    return type


def values_as(x, type):
    """The operand converted: as NumPy's type for integers, as float64 or complex128 for others."""
    v = x.values if isinstance(x, T) else np.asarray(x)
    if type == "bool":
        return np.asarray(v != 0, bool)
    t = T(type, v)
    return np.asarray(t.values.astype(NUMPY[type])) if type in INTEGERS else np.asarray(t.values)


def some(type, shape, values=None):
    """A tensor whose elements are drawn from `values`, or from all kinds of the type's."""
    pool = values if values is not None else of(type).values
    return T(type, np.asarray(pool)[rng.integers(0, len(pool), shape)])


# ---- Functions
OF_FLOATS = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos,
    "cosh": np.cosh, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "sin": np.sin,
    "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}
ROUNDING = {"ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "round": np.rint}
OF_NUMBERS = {"abs": np.abs, "negative": np.negative, "positive": np.positive, "sign": np.sign, "square": np.square}
TESTS = {"isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan, "signbit": np.signbit}
ARITHMETIC = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "floor_divide": None, "remainder": np.remainder,
              "maximum": np.maximum, "minimum": np.minimum}
TWO_FLOATS = {"atan2": np.arctan2, "copysign": np.copysign, "hypot": np.hypot, "logaddexp": np.logaddexp}
COMPARISONS = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
               "greater_equal": np.greater_equal}
LOGICAL = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
BITWISE = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
SHIFTS = {"bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift}
EXACT = {"add", "subtract", "multiply", "maximum", "minimum", "copysign"}

SHAPES = [((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((), (5,)), ((6,), (6,)), ((0, 3), (1, 3)), ((), ()), ((1, 2, 3), (2, 1)), ((4, 1), (1, 4))]
PAIRS = [("f32", "f32"), ("i32", "f32"), ("f16", "bf16"), ("u8", "i8"), ("i64", "i32"), ("bool", "i16"), ("f16", "u32"), ("u32", "i32"),
         ("i8", "bf16"), ("u16", "u8"), ("f32", "bool"), ("f64", "f16"), ("u64", "u8"), ("i16", "f8e5m2")]
NUMBERS = [("f16", 2.5), ("f32", 3), ("i32", -2), ("i32", 2.5), ("u8", 3), ("u8", True), ("bool", 2), ("bool", 0.5), ("bf16", True),
           ("i64", 7), ("f64", 1)]
turn = 0


def shapes():
    global turn
    turn += 1
    return SHAPES[turn % len(SHAPES)]


def closeness(name, type):
    if type == "c64":
        return {"absolute": 2e-5, "relative": 2e-6}
    if name in EXACT or type not in FLOATS:
        return {}
    # Devices compute narrow floats in f32 with a relative error of 2^-14, and functions of f32 within 4 ULP. A quotient
    # is within 2.5 ULP, a remainder rounded once.
    return {"ulp": 4 if type in ("f32", "f64") else 2, "absolute": 1e-6 if name in ("floor_divide", "remainder") else 0.0}


def one(name, f, x, computed=None, result=None):
    type = computed or x.type
    case(name, [x], [T(result or type, f(values_as(x, type)))], **closeness(name, result or type))


def two(name, f, a, b, computed=None, result=None):
    type = computed or result_type([a, b])
    with np.errstate(all="ignore"):
        y = f(values_as(a, type), values_as(b, type))
    case(name, [a, b], [T(result or type, y)], **closeness(name, result or type))


def pairs(kinds):
    """Operands of two types, and of a type and a number on either side."""
    for a, b in PAIRS:
        if common(a, b) in kinds:
            left, right = shapes()
            yield some(a, left), some(b, right)
    for type, number in NUMBERS:
        if with_number(type, number) in kinds:
            x = some(type, shapes()[0])
            yield x, number
            yield number, x


def integer_or_float(name, f):
    if name != "floor_divide":
        return f
    return lambda a, b: to_floor(a, b) if a.dtype == np.float64 else np.floor_divide(a, b)


def unary():
    for name, f in OF_FLOATS.items():
        for type in ("f32", "f16", "bf16", "i8", "u8", "bool", "i32", "f64"):
            one(name, f, some(type, shapes()[0]), type if type in FLOATS else "f32")
    one("exp", np.exp, some("c64", (3, 4)))
    for name, f in ROUNDING.items():
        for type in ("f32", "f16", "bf16", "i8", "u32", "i64"):
            one(name, f if type in FLOATS else lambda a: a, some(type, shapes()[0]))
    for name, f in OF_NUMBERS.items():
        for type in ("f32", "f16", "bf16", "i8", "u8", "i32", "i64", "u64", "f64"):
            one(name, f, some(type, shapes()[0]))
        if name != "sign":
            one(name, f, some("c64", (2, 3)), result="f32" if name == "abs" else None)
    for name, f in TESTS.items():
        for type in ("f32", "f16", "bf16", "i32", "u8", "f64"):
            x = some(type, shapes()[0])
            case(name, [x], [T("bool", f(values_as(x, type)))])
    for type in ("f32", "f16", "i32", "bool"):
        one("reciprocal", lambda a: 1 / a, some(type, shapes()[0]), type if type in FLOATS else "f32")
    one("reciprocal", lambda a: 1 / a, some("c64", (5,)))
    z = some("c64", (3, 2))
    for name, f, type in (("real", np.real, "f32"), ("imag", np.imag, "f32"), ("conj", np.conj, "c64")):
        case(name, [z], [T(type, f(z.values))])
    for type in ("bool", "i32", "f32", "u8", "c64"):
        x = some(type, shapes()[0])
        case("logical_not", [x], [T("bool", ~values_as(x, "bool"))])
    for type in INTEGERS + ["bool"]:
        one("bitwise_invert", np.invert, some(type, shapes()[0]))


def binary():
    numbers = FLOATS + INTEGERS
    for name, f in ARITHMETIC.items():
        for a, b in pairs(numbers):
            two(name, integer_or_float(name, f), a, b)
    for name, f in (("add", np.add), ("multiply", np.multiply), ("subtract", np.subtract)):
        two(name, f, some("c64", (2, 3)), some("f32", (3,), [1.5, -2.0, 0.25]))
        two(name, f, some("i32", (2, 1), [1, 2, -3]), some("c64", (3,)))
        two(name, f, some("c64", (4,)), 2.5)
    for name, f in TWO_FLOATS.items():
        for a, b in pairs(FLOATS):
            two(name, f, a, b)
        for a, b in ((some("i32", (3, 1)), some("u8", (4,))), (some("bool", (3,)), some("i8", ())), (some("i16", (4,)), 2)):
            two(name, f, a, b, computed="f32")
    a, b = some("f32", (3, 4)), some("f32", (4,))
    case("nextafter", [a, b], [next_after(T("f32", a.values), T("f32", np.broadcast_to(b.values, (3, 4))))])
    for a, b in pairs(FLOATS + INTEGERS + ["bool"]):
        type = result_type([a, b])
        two("divide", np.divide, a, b, computed=type if type in FLOATS else "f32")
    for name, f in COMPARISONS.items():
        for a, b in pairs(numbers + ["bool"]):
            two(name, f, a, b, result="bool")
    for name, f in (("equal", np.equal), ("not_equal", np.not_equal)):
        z = some("c64", (3, 4))
        two(name, f, z, T("c64", z.values[0]), result="bool")
    for name, f in LOGICAL.items():
        for a, b in list(pairs(numbers))[::4] + [(some("bool", (3, 1)), some("bool", (4,))), (some("f32", (4,)), True)]:
            two(name, f, a, b, computed="bool")
    for name, f in BITWISE.items():
        for a, b in pairs(INTEGERS + ["bool"]):
            two(name, f, a, b)
    for name, f in SHIFTS.items():
        for a, b in (("i32", "i32"), ("u8", "u8"), ("i64", "u8"), ("u32", "u16"), ("i8", "i16")):
            left, right = shapes()
            two(name, f, some(a, left), some(b, right, [0, 1, 3, 5, 7]))
        two(name, f, some("i32", (6,)), 4)
        two(name, f, some("u16", (6,)), 40)
    for a, b in pairs(FLOATS):
        # Bases and exponents whose powers stay in the range of narrow floats; the error grows with the exponent.
        small = [0.0, -0.0, 1.0, 2.0, 0.5, 1.5, 3.0, -1.0, -2.0]
        a, b = (some(x.type, x.shape, small) if isinstance(x, T) and x.type in FLOATS else
                some(x.type, x.shape, [0, 1, 1]) if isinstance(x, T) else x for x in (a, b))
        two("pow", np.power, a, b)
    for a, b in (("i32", "i32"), ("u8", "i32"), ("i64", "u8"), ("u16", "u16")):
        left, right = shapes()
        two("pow", np.power, some(a, left), some(b, right, [0, 1, 2, 3, 7]))
    two("pow", np.power, some("i32", (3, 4)), 2)
    two("pow", np.power, 2, some("u32", (4,), [0, 1, 30, 31, 33]))


def ternary():
    for types, shape in ((("f32", "f32", "f32"), ((3, 4), (4,), (3, 1))), (("i32", "i8", "u8"), ((5,), (), ())),
                         (("i32", "f32", "bf16"), ((2, 3), (3,), (3,))), (("u8", "u8", "u8"), ((4,), (1,), (4,)))):
        x, p, q = (some(t, s) for t, s in zip(types, shape))
        type = result_type([x, p, q])
        v, low, high = (values_as(o, type) for o in (x, p, q))
        case("clip", [x, p, q], [T(type, np.minimum(np.maximum(v, low), high))])
    for x, low, high in ((some("f32", (2, 6)), -1, 2.5), (some("u8", (6,)), 3, 100), (some("i32", (6,)), -1.5, 7)):
        type = result_type([x, low, high])
        v = values_as(x, type)
        case("clip", [x, low, high], [T(type, np.minimum(np.maximum(v, values_as(low, type)), values_as(high, type)))])
    for a, b, shape in ((some("f32", (3, 4)), some("f32", (4,)), (3, 1)), (some("i32", (2, 3)), some("f16", ()), (2, 1)),
                        (some("u8", (4,)), some("i8", (3, 1)), ()), (some("f16", (3,)), 2.5, (3,)), (True, some("i64", (2, 2)), (2,)),
                        (1, 0.5, (4,)), (some("bool", (3,)), 7, (3,)), (some("c64", (2,)), some("f32", (2, 1)), (2, 2)),
                        (some("f32", (0, 2)), 1, (2,)), (False, True, (5,)), (some("f8e4m3", (3,)), some("f8e4m3", (3,)), (3,))):
        chosen = some("bool", shape)
        type = result_type([a, b])
        case("where", [chosen, a, b], [T(type, np.where(chosen.values, values_as(a, type), values_as(b, type)))])


def promotion():
    """The whole table: of two types, and of a type beside a number of each kind."""
    return {"types": [[a, b, common(a, b)] for a in TYPES for b in TYPES],
            "numbers": [[t, n, with_number(t, n)] for t in TYPES for n in (True, 3, 2.5)]}
