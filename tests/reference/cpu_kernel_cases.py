"""What cpu_kernels.py's parts share: tensors of Weft's types, arguments for them, and the list of cases."""
import numpy as np

rng = np.random.default_rng(11)
np.seterr(all="ignore")

FLOATS = ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"]
SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["u8", "u16", "u32", "u64"]
INTEGERS = SIGNED + UNSIGNED
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bool": np.bool_, "c64": np.complex64,
         **{t: np.dtype(t.replace("i", "int").replace("u", "uint")).type for t in INTEGERS}}
PACKED = {"i4": 4, "u4": 4, "i2": 2, "u2": 2}
bytes_, cases, known = bytearray(), [], {}


def eight_bits(exponent, mantissa):
    """The numbers from 0 up of an eight-bit float, by their codes; the last one would be the first beyond it."""
    bias = (1 << (exponent - 1)) - 1
    def value(code):
        e, m = code >> mantissa, code & ((1 << mantissa) - 1)
        return (m + (1 << mantissa if e else 0)) * 2.0 ** (max(e, 1) - bias - mantissa)
    return np.array([value(c) for c in range(0x80 if exponent == 4 else 0x7D)])


EIGHT = {"f8e4m3": eight_bits(4, 3), "f8e5m2": eight_bits(5, 2)}  # the first has no infinity, and one NaN


# ---- Tensors: values as float64, complex128, bool or Python integers, with the type that they are stored in.
class T:
    def __init__(self, type, values):
        self.type = type
        if type in FLOATS:
            self.values = narrow(np.asarray(values, np.float64), type)
        elif type == "c64":
            self.values = np.asarray(values, np.complex128).astype(np.complex64).astype(np.complex128)
        elif type == "bool":
            self.values = np.asarray(values, bool)
        else:
            v = np.asarray(values, object)
            self.values = np.asarray(np.vectorize(lambda n: wrap(int(n), type), otypes=[object])(v), object) if v.size else v
        self.shape = self.values.shape

    def raw(self):
        v = self.values
        if self.type == "bf16":
            return (v.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
        if self.type in EIGHT:
            codes = np.searchsorted(EIGHT[self.type], np.abs(v))
            codes = np.where(np.isnan(v), 0x7F, np.where(np.isinf(v), 0x7C, codes)) | np.where(np.signbit(v), 0x80, 0)
            return codes.astype(np.uint8).tobytes()
        if self.type in PACKED:
            width, out = PACKED[self.type], 0
            for i, n in enumerate(v.ravel()):
                out |= (int(n) & ((1 << width) - 1)) << (i * width)
            return out.to_bytes((v.size * width + 7) // 8, "little")
        return np.ascontiguousarray(v.astype(NUMPY[self.type])).tobytes()


def width_of(type):
    return PACKED.get(type) or int(type[1:])


def wrap(n, type):
    width = width_of(type)
    n &= (1 << width) - 1
    return n - (1 << width) if type[0] == "i" and n >> (width - 1) else n


def narrow(v, type):
    """float64 rounded to a narrower type, once."""
    if type == "bf16":
        with_inf = v.astype(np.float32)
        # To odd first, where f32 is inexact, so that the second rounding is of the number itself.
        inexact = np.isfinite(with_inf) & (with_inf.astype(np.float64) != v)
        bits = with_inf.view(np.uint32).astype(np.uint64)
        away = np.abs(with_inf.astype(np.float64)) > np.abs(v)
        bits = np.where(inexact, np.where(away, bits - 1, bits) | 1, bits)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32)
        return np.where(np.isnan(v), np.nan, rounded.view(np.float32).astype(np.float64)).reshape(v.shape)
    if type in EIGHT:
        numbers = EIGHT[type]
        a = np.abs(np.where(np.isnan(v), 0, v))
        above = np.minimum(np.searchsorted(numbers, a), numbers.size - 1)
        below = np.maximum(above - 1, 0)
        middle = (numbers[above] + numbers[below]) / 2
        code = np.where((a > middle) | ((a == middle) & (above % 2 == 0)), above, below)
        past = np.nan if type == "f8e4m3" else np.inf
        return np.where(np.isnan(v), np.nan, np.copysign(np.where(code == numbers.size - 1, past, numbers[code]), v))
    return v.astype(NUMPY[type]).astype(np.float64)


def case(kernel, inputs, outputs, attributes=None, ulp=0, absolute=0.0, relative=0.0, before=None):
    """`before`: what an output holds before the call, for those that are changed. Inputs may be Python's numbers, too."""
    def place(t):
        if t is None:
            return None  # an optional operand that is not given
        if not isinstance(t, T):
            return {"number": t}
        raw = t.raw()
        if raw not in known:
            bytes_.extend(bytes(-len(bytes_) % 8))
            known[raw] = len(bytes_)
            bytes_.extend(raw)
        return {"type": t.type, "shape": list(t.shape), "at": known[raw]}
    entry = {"kernel": kernel, "inputs": [place(t) for t in inputs], "outputs": [place(t) for t in outputs]}
    if before:
        entry["before"] = [place(t) for t in before]
    if attributes:
        entry["attributes"] = attributes
    for name, value in (("ulp", ulp), ("absolute", absolute), ("relative", relative)):
        if value:
            entry[name] = value
    cases.append(entry)


# ---- Arguments
def reals(type, n=36, positive=False):
    few = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.5, 1.5, 2.5, 7.25, np.inf, -np.inf, np.nan]
    v = np.concatenate([few, rng.normal(0, 3, n - len(few))])
    return T(type, np.abs(v) if positive else v)


def integers(type, n=36, small=False):
    low, high = (-(1 << (width_of(type) - 1)), (1 << (width_of(type) - 1)) - 1) if type[0] == "i" else (0, (1 << width_of(type)) - 1)
    few = [0, 1, 2, 3, 7, high, low, high - 1, low + 1]
    few += [] if type[0] == "u" else [-1, -2, -7]
    v = [int(rng.integers(max(low, -20), min(high, 20), endpoint=True)) if small or i % 2 else
         low + int(rng.integers(0, 2**63)) * 3 % (high - low + 1) for i in range(n - (0 if small else len(few)))]
    return T(type, v if small else few + v)


def of(type, n=36):
    if type in FLOATS:
        return reals(type, n)
    if type == "bool":
        return T("bool", rng.integers(0, 2, n))
    if type == "c64":
        return T("c64", rng.normal(0, 3, n) + 1j * rng.normal(0, 3, n))
    return integers(type, n)


def mixed(t):
    order = rng.permutation(t.values.size)
    return T(t.type, t.values.ravel()[order])
