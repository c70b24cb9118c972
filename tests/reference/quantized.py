"""Values of quantised weights (weft/kernels/quantized.h): writes tests/data/quantized/cases.json (by kernel), functions.json (by
function) and bytes.npy.

What weights stand for comes from gguf (its blocks), MLX on the CPU (affine, mxfp4, mxfp8, nvfp4) and ONNX's reference
evaluator (DequantizeLinear). GPTQ's and AWQ's layouts and MatMulNBits are written here from their definitions; the last
is checked against onnxruntime where that has the width. Products are those of these weights in f64.

Weights are computed in f32, so what one multiplication gives is the same on every machine, and compared as bits. Codes
that weights are stored as are those of MLX, gguf, ggml_blocks.py and onnxruntime, byte for byte; of 8-bit floats, and where MLX's CPU and GPUs
differ, those of ml_dtypes."""
import itertools
import json
import pathlib

import gguf
import ml_dtypes
import mlx.core as mx
import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import _pybind_state as runtime

import cpu_kernel_cases
import ggml_blocks
from cpu_kernel_cases import PACKED, T, case

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "quantized"
OUT.mkdir(parents=True, exist_ok=True)
mx.set_default_device(mx.cpu)
rng = np.random.default_rng(44)
DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2, "i4": ml_dtypes.int4,
          "u4": ml_dtypes.uint4, "i2": ml_dtypes.int2, "u2": ml_dtypes.uint2, "i8": np.int8, "u8": np.uint8,
          "i16": np.int16, "i32": np.int32, "u32": np.uint32, "i64": np.int64}
NUMBERS = ["f32", "f16", "bf16"]
MLX = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}
checked = 0


# ---- Operands
class Stored(T):
    """The bits of an array, which may be NaN of any payload."""
    def __init__(self, type, array):
        self.type, self.array = type, np.ascontiguousarray(np.asarray(array).astype(DTYPES[type]))
        self.array = self.array.reshape(np.shape(array))
        self.shape = self.array.shape

    def raw(self):
        if self.type in PACKED:
            return T(self.type, self.array.astype(np.int64)).raw()
        return self.array.tobytes()

    @property
    def f32(self):
        return self.array.astype(np.float32)


class Matrix:
    """Operands, and the weights that they stand for in f32. `rounded`: in other types, where these are not the same
    number rounded. `slack`: what f32's sums of a product may be off by, since some machines do not round products."""
    def __init__(self, attributes, w, values, scales=None, zeros=None, groups=None, rounded=None, slack=0.0):
        self.attributes = attributes
        self.w = np.asarray(w, np.float32)
        self.operands = [values, scales, zeros, groups]
        self.rounded, self.slack = rounded or {}, slack

    def given(self, *behind):
        operands = self.operands + list(behind)
        while operands[-1] is None:
            operands.pop()
        return operands


def stack(*matrices):
    first = matrices[0]
    join = lambda parts: None if parts[0] is None else Stored(parts[0].type, np.stack([p.array for p in parts]))
    return Matrix(first.attributes, np.stack([m.w for m in matrices]),
                  *(join([m.operands[i] for m in matrices]) for i in range(4)),
                  rounded={t: np.stack([m.rounded[t] for m in matrices]) for t in first.rounded},
                  slack=max(m.slack for m in matrices))


def compared(kernel, inputs, outputs, attributes, **tolerance):
    """A case that is compared as bits, with the sign of zero, unless it has a tolerance or NaN."""
    case(kernel, inputs, outputs, attributes, **tolerance)
    floats = [t for t in outputs if not isinstance(t, Stored)]
    if not any(tolerance.values()) and not any(np.isnan(t.values).any() for t in floats):
        cpu_kernel_cases.cases[-1]["bits"] = True


def same(want, got, what):
    global checked
    checked += 1
    want, got = np.asarray(want), np.asarray(got)
    assert want.shape == got.shape, what
    assert np.array_equal(want.astype(np.float64), got.astype(np.float64), equal_nan=True), what


def scales_of(type, shape):
    return Stored(type, rng.uniform(0.01, 0.1, shape) * rng.choice([1, -1], shape))


def packed(codes, bits):
    """Codes of the last axis as bytes, whose bits follow each other from the lowest on; the last byte is filled."""
    flat = (np.asarray(codes, np.uint32)[..., None] >> np.arange(bits, dtype=np.uint32)) & 1
    return np.packbits(flat.reshape(*flat.shape[:-2], -1).astype(np.uint8), axis=-1, bitorder="little")


def words(codes, bits):
    """The same as words of 32 bits."""
    b = packed(codes, bits)
    b = np.concatenate([b, np.zeros((*b.shape[:-1], -b.shape[-1] % 4), np.uint8)], -1)
    return np.ascontiguousarray(b).view("<u4").astype(np.uint32)


def as_word(array, word):
    return Stored(word, array.view(np.int32) if word == "i32" else array)


def changed(**attributes):
    """Attributes that are given, which are those that have not their defaults."""
    usual = {"bits": 4, "group_rows": 1, "columns": 0, "transposed": 1}
    return {k: v for k, v in attributes.items() if v != usual.get(k)}


# ---- MLX
def from_mlx(a):
    return np.array(a.astype(mx.float32))


def to_mlx(stored):
    return mx.array(stored.f32).astype(MLX[stored.type])


def affine_attributes(bits, group):
    return changed(scheme="affine", bits=bits, **({"group": group} if group != 64 else {}))


def affine(rows, columns, bits=4, group=64, type="f32", word="u32"):
    codes = rng.integers(0, 1 << bits, (rows, columns))
    values = as_word(words(codes, bits), word)
    shape = (rows, columns // group)
    scales, zeros = scales_of(type, shape), Stored(type, rng.normal(0, 0.5, shape))
    got = from_mlx(mx.dequantize(mx.array(values.array.view(np.uint32)), to_mlx(scales), to_mlx(zeros), group, bits))
    product = codes.astype(np.float32) * np.repeat(scales.f32, group, -1)
    w = product + np.repeat(zeros.f32, group, -1)
    attributes = affine_attributes(bits, group)
    if type == "f32":
        same(w, got, ("affine", bits))
        return Matrix(attributes, w, values, scales, zeros, slack=float(np.abs(product).max()) * 2.0**-24)
    # Of narrow floats MLX rounds the product, and then the sum.
    same(T(type, T(type, product).values + np.repeat(zeros.f32, group, -1)).values, got, ("affine", bits, type))
    return Matrix(attributes, w, values, scales, zeros, rounded={type: got})


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
GROUPS = {"mxfp4": 32, "mxfp8": 32, "nvfp4": 16}


def micro(scheme, rows, columns, codes_of_scales=None, scale_type="u8", word="u32", nan=False):
    """E2M1 or E4M3 with scales of 8 bits; every code is there if there are enough elements, but NaN only with `nan`."""
    bits, group = 8 if scheme == "mxfp8" else 4, GROUPS[scheme]
    codes = rng.permutation(np.arange(rows * columns) % (1 << bits)).reshape(rows, columns)
    if bits == 8 and not nan:
        codes[codes % 128 == 127] = 0x80
    values = words(codes, bits)
    if codes_of_scales is None:
        codes_of_scales = rng.integers(*((118, 130) if group == 32 else (1, 0x7F)), (rows, columns // group))
    s = np.resize(np.asarray(codes_of_scales, np.uint8), (rows, columns // group))
    with np.errstate(all="ignore"):
        # MLX takes multiples of 128 elements here.
        padded = [mx.array(np.resize(a, (4 * rows, a.shape[1]))) for a in (values, s)]
        w = from_mlx(mx.dequantize(*padded, None, group, bits, scheme, dtype=mx.float32))[:rows]
        numbers = E2M1[codes] if bits == 4 else codes.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        of_scales = (np.where(s == 255, np.nan, np.ldexp(1.0, s.astype(int) - 127)).astype(np.float32) if group == 32
                     else s.view(ml_dtypes.float8_e4m3fn).astype(np.float32))
        by_ocp = numbers * np.repeat(of_scales, group, -1)
    # MLX reads the E8M0 code 255 as 2^128; it is NaN by OCP's specification of microscaling formats.
    w = np.where(np.repeat(s == 255, group, -1) & (group == 32), np.float32(np.nan), w)
    same(by_ocp, w, scheme)
    assert np.array_equal(np.signbit(w), np.signbit(by_ocp)) or np.isnan(w).any(), scheme
    scales = Stored("u8", s)
    if scale_type == "f8e4m3":
        scales = Stored("f8e4m3", s.view(ml_dtypes.float8_e4m3fn))
    return Matrix({"scheme": scheme}, w, as_word(values, word), scales)


# ---- ONNX
TENSOR = {"f32": "FLOAT", "f16": "FLOAT16", "bf16": "BFLOAT16", "i8": "INT8", "u8": "UINT8", "i4": "INT4",
          "u4": "UINT4", "i2": "INT2", "u2": "UINT2", "f8e4m3": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2"}


def evaluated(values, scales, zeros, axis, block):
    """DequantizeLinear by ONNX's reference evaluator."""
    given = dict(zip("xsz", [t for t in (values, scales, zeros) if t is not None]))
    info = lambda n, t: onnx.helper.make_tensor_value_info(n, getattr(onnx.TensorProto, TENSOR[t.type]), t.shape)
    node = onnx.helper.make_node("DequantizeLinear", list(given), ["y"], axis=axis, block_size=block)
    y = onnx.helper.make_tensor_value_info("y", getattr(onnx.TensorProto, TENSOR[scales.type]), values.shape)
    graph = onnx.helper.make_graph([node], "g", [info(n, t) for n, t in given.items()], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)])
    return ReferenceEvaluator(model).run(None, {n: t.array for n, t in given.items()})[0]


def codes_of(type, shape, every=False):
    """Any codes of a type; of 8-bit floats those of finite numbers, or `every` one in order."""
    if type[0] == "f":
        numbers = np.arange(256, dtype=np.uint8).view(DTYPES[type])
        if not every:
            numbers = rng.permutation(numbers[np.isfinite(numbers.astype(np.float32))])
        return Stored(type, np.resize(numbers, shape))
    low, high = ml_dtypes.iinfo(DTYPES[type]).min, ml_dtypes.iinfo(DTYPES[type]).max
    return Stored(type, rng.integers(low, high, shape, endpoint=True))


def integer_attributes(group, group_rows):
    return changed(scheme="integers", group_rows=group_rows, **({"group": group} if group else {}))


def integers(type, rows, columns, group=0, group_rows=1, scale_type="f32", shifts=False, every=False):
    values = codes_of(type, (rows, columns), every)
    shape = (1 if group_rows == 0 else -(-rows // group_rows), 1 if group == 0 else -(-columns // group))
    scales, zeros = scales_of(scale_type, shape), codes_of(type, shape) if shifts else None
    spread = lambda a: np.repeat(np.repeat(a, group_rows or rows, 0)[:rows], group or columns, 1)[:, :columns]
    w = (values.f32 - (spread(zeros.f32) if shifts else 0)) * spread(scales.f32)
    # Of ONNX are scales for a tensor, for an axis, and for blocks of one axis.
    one = lambda t, shape: None if t is None else Stored(t.type, t.array.reshape(shape))
    onnx_form = None
    if group_rows == 1 and group > 1:
        onnx_form = (shape, 1, group)
    elif group == 1 and group_rows > 1:
        onnx_form = (shape, 0, group_rows)
    elif (group, group_rows) == (0, 1):
        onnx_form = ((rows,), 0, 0)
    elif (group, group_rows) == (1, 0):
        onnx_form = ((columns,), 1, 0)
    elif (group, group_rows) == (0, 0):
        onnx_form = ((), 1, 0)
    if onnx_form:
        to, axis, block = onnx_form
        by_onnx = evaluated(values, one(scales, to), one(zeros, to), axis, block)
        same(T(scale_type, w).values, by_onnx, (type, onnx_form))
    return Matrix(integer_attributes(group, group_rows), w, values, scales, zeros)


def nbits(rows, columns, bits=4, group=32, type="f32", zeros_form=None):
    """MatMulNBits: each row is blocks of codes in whole bytes, of which the last block may be longer than the row.
    Zero points are packed by rows of whole bytes, or numbers; without, half of the range."""
    blocks = -(-columns // group)
    codes = rng.integers(0, 1 << bits, (rows, blocks, group))
    scales, zeros, points = scales_of(type, (rows, blocks)), None, np.full((rows, blocks), 1 << (bits - 1), np.float32)
    if zeros_form == "bytes":
        z = rng.integers(0, 1 << bits, (rows, blocks))
        zeros, points = Stored("u8", packed(z, bits)), z.astype(np.float32)
    elif zeros_form == "numbers":
        zeros = Stored(type, rng.uniform(0, 1 << bits, (rows, blocks)))
        points = zeros.f32
    w = ((codes.astype(np.float32) - points[..., None]) * scales.f32[..., None]).reshape(rows, -1)[:, :columns]
    attributes = changed(scheme="nbits", bits=bits, columns=columns if columns % group else 0)
    if group != 32:
        attributes["group"] = group
    m = Matrix(attributes, w, Stored("u8", packed(codes, bits)), scales, zeros)
    if bits in (4, 8) and type == "f32" and (zeros_form != "numbers"):
        same_product(m, rows, columns, bits, group)
    return m


def same_product(m, rows, columns, bits, group):
    """The weights, as the product of the identity and them by onnxruntime; its sums are only close for some widths."""
    global checked
    checked += 1
    values, scales, zeros, _ = m.operands
    names = ["x", "b", "s"] + (["z"] if zeros else [])
    proto = onnx.TensorProto
    node = onnx.helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=columns, N=rows, bits=bits,
                                 block_size=group)
    kinds = {"x": proto.FLOAT, "b": proto.UINT8, "s": proto.FLOAT, "z": proto.UINT8}
    arrays = {"x": np.eye(columns, dtype=np.float32), "b": values.array, "s": scales.array.reshape(-1)}
    if zeros:
        arrays["z"] = zeros.array.reshape(-1)
    given = [onnx.helper.make_tensor_value_info(n, kinds[n], arrays[n].shape) for n in names]
    graph = onnx.helper.make_graph([node], "g", given, [onnx.helper.make_tensor_value_info("y", proto.FLOAT, None)])
    model = onnx.helper.make_model(graph, ir_version=10, opset_imports=[
        onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    y = session.run(None, arrays)[0]
    d = np.abs(y.T - m.w).max()
    assert d <= 1e-5 * np.abs(m.w).max(), ("MatMulNBits", bits, group, d)


# ---- GPTQ and AWQ
def by_rows(rows, group, type, columns):
    return scales_of(type, (-(-rows // group), columns))


def gptq(rows, columns, bits=4, group=128, type="f16", shifts=True, shuffled=None, word="i32", full=False,
         less=1):
    """AutoGPTQ: codes are a stream of bits down each column of words; zero points less 1 are such a stream along each
    row of words. Here no zero point is 0, which it stores as a code of ones (but `full`: the zero point after that). `less`
    0: GPTQ's format v2, which stores the zero points themselves."""
    codes = rng.integers(0, 1 << bits, (rows, columns))
    scales = by_rows(rows, group, type, columns)
    count = scales.shape[0]
    index, groups = np.arange(rows) // group, None
    if shuffled:
        index = rng.permutation(index)
        groups = Stored(shuffled, index)
    points, zeros = np.full((count, columns), 1 << (bits - 1)), None
    if shifts:
        z = rng.integers(0, (1 << bits) - 1, (count, columns))
        if full:
            z[:, ::3] = (1 << bits) - 1
        points, zeros = z + less, as_word(words(z, bits), word)
    w = (codes - points[index]).astype(np.float32) * scales.f32[index]
    attributes = changed(scheme="gptq" if less else "gptq_v2", bits=bits, **({"group": group} if group != 128 else {}))
    values = as_word(np.ascontiguousarray(words(codes.T, bits).T), word)
    return Matrix(attributes, w, values, scales, zeros, groups)


AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # which of eight adjacent columns each nibble of a word is, from the lowest on


def awq(rows, columns, group=128, type="f16", word="i32"):
    count = -(-rows // group)
    codes, z = rng.integers(0, 16, (rows, columns)), rng.integers(0, 16, (count, columns))
    scales = by_rows(rows, group, type, columns)
    def pack(c):
        return as_word(words(c.reshape(*c.shape[:-1], -1, 8)[..., AWQ_ORDER].reshape(c.shape), 4), word)
    index = np.arange(rows) // group
    w = (codes - z[index]).astype(np.float32) * scales.f32[index]
    return Matrix({"scheme": "awq", **({"group": group} if group != 128 else {})}, w, pack(codes), scales, pack(z))


# ---- GGUF
QT = gguf.GGMLQuantizationType
# Its name there, and where in a block its numbers of f16 are.
GGUF = {"q4_0": (QT.Q4_0, [0]), "q4_1": (QT.Q4_1, [0, 2]), "q5_0": (QT.Q5_0, [0]), "q5_1": (QT.Q5_1, [0, 2]),
        "q8_0": (QT.Q8_0, [0]), "q2_k": (QT.Q2_K, [80, 82]), "q3_k": (QT.Q3_K, [108]), "q4_k": (QT.Q4_K, [0, 2]),
        "q5_k": (QT.Q5_K, [0, 2]), "q6_k": (QT.Q6_K, [208]), "iq4_nl": (QT.IQ4_NL, [0]), "ggml_mxfp4": (QT.MXFP4, []),
        "tq1_0": (QT.TQ1_0, [52]), "tq2_0": (QT.TQ2_0, [64]), "iq4_xs": (QT.IQ4_XS, [0]), "iq3_s": (QT.IQ3_S, [0]),
        "iq3_xxs": (QT.IQ3_XXS, [0]), "iq2_s": (QT.IQ2_S, [0]), "iq2_xs": (QT.IQ2_XS, [0]), "iq2_xxs": (QT.IQ2_XXS, [0]),
        "iq1_s": (QT.IQ1_S, [0]), "iq1_m": (QT.IQ1_M, [48]), "ggml_nvfp4": (QT.NVFP4, [])}
FINITE = [0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF]  # 0, -0, denormal numbers, ±65504
SPECIAL = [0x7C00, 0xFC00, 0x7E00, 0xFD01]                 # infinities and NaN


def block_size(scheme):
    return gguf.GGML_QUANT_SIZES[GGUF[scheme][0]][0]


def blocks(scheme, rows, columns, scales=None):
    """Random bytes; f16 numbers of sane size, or those scales in turn. Of ggml_mxfp4, codes of E8M0, of ggml_nvfp4 four
    of E4M3."""
    type, at = GGUF[scheme]
    elements, size = gguf.GGML_QUANT_SIZES[type]
    count = rows * columns // elements
    data = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for k, place in enumerate(at):
        sane = rng.uniform(0.001, 0.01, count) * rng.choice([1, -1], count)
        bits = np.float16(sane).view(np.uint16)
        if scales is not None:
            bits = np.resize(np.roll(scales, k), count).astype(np.uint16)
        if scheme == "iq1_m":  # the high halves of every second byte
            nibbles = bits[:, None] >> np.arange(0, 16, 4, dtype=np.uint16) & 15
            data[:, place + 1::2] = data[:, place + 1::2] & 15 | nibbles << 4
            continue
        data[:, place:place + 2] = bits.astype("<u2")[:, None].view(np.uint8)
    if scheme == "ggml_mxfp4":
        data[:, 0] = rng.integers(118, 128, count) if scales is None else np.resize(scales, count)
    if scheme == "ggml_nvfp4":
        data[:, :4] = rng.integers(8, 0x60, (count, 4)) if scales is None else np.resize(scales, (count, 4))
    data = data.reshape(rows, -1)
    with np.errstate(all="ignore"):
        w = gguf.quants.dequantize(data, type)
    if scheme == "ggml_mxfp4":
        # ggml's reference does not handle the E8M0 code 255 and reads it as 2^128; it is NaN by OCP's specification.
        w = np.where(np.repeat(data.reshape(rows, -1, size)[..., 0] == 255, elements, -1), np.float32(np.nan), w)
    return Matrix({"scheme": scheme}, w, Stored("u8", data))


# ---- dequantize_weights
def rounds(m, type):
    return dict(absolute=m.slack, ulp=1 if m.slack and type not in ("f32", "f64") else 0)


def dequantized(m, types=("f32",)):
    for type in types:
        y = T(type, m.rounded.get(type, m.w))
        compared("dequantize_weights", m.given(), [y], m.attributes, **rounds(m, type))


EVERY = ["f32", "f16", "bf16", "f64"]
WIDTHS = [1, 2, 3, 4, 5, 6, 8]
AFFINE = [*itertools.product(WIDTHS, [32], NUMBERS), *itertools.product(WIDTHS, [64, 128], ["f32"])]
for bits, group, type in AFFINE:
    dequantized(affine(2, 64 if group == 32 else group, bits, group, type), [type])
for type in NUMBERS:
    dequantized(affine(3, 64, 4, 32, type), EVERY)
dequantized(affine(3, 96, 5, 32, "bf16", "i32"), ["f64"])
dequantized(stack(*(affine(3, 64, 3, 64, "f16") for _ in range(2))), ["f16"])
dequantized(affine(1, 32, 8, 32))
for scheme, group in GROUPS.items():
    dequantized(micro(scheme, 4, 2 * group), EVERY)
    dequantized(micro(scheme, 3, group, word="i32"))
    dequantized(stack(*(micro(scheme, 1, 2 * group) for _ in range(3))), ["bf16"])
    # The ends of E8M0: 2^-127, whose products are denormal numbers, and 2^127, which overflows; 255 is NaN. Those of
    # E4M3: zeros of both signs, denormal numbers, 448 and NaN.
    ends = [0, 1, 2, 23, 253, 254] if group == 32 else [0x00, 0x80, 0x01, 0x07, 0x08, 0x7E, 0xFE, 0x88]
    nan = [255, 127] if group == 32 else [0x7F, 0xFF, 0x38]
    dequantized(micro(scheme, 4, 2 * group, ends), ["f32", "f16", "bf16"])
    dequantized(micro(scheme, 4, 2 * group, nan, nan=True), ["f32", "f16", "bf16"])
dequantized(micro("nvfp4", 4, 64, scale_type="f8e4m3"), EVERY)
dequantized(micro("nvfp4", 2, 64, [0x00, 0x81, 0x7E, 0x7F], "f8e4m3"))

INTEGER_TYPES = ["i8", "u8", "i4", "u4", "i2", "u2", "f8e4m3", "f8e5m2"]
# Scales of a row, a column, everything, blocks of rows; of both; blocks that the sizes are no multiple of.
SHARED = [(4, 32, 0, 1), (3, 17, 5, 1), (5, 16, 1, 0), (7, 9, 1, 3), (3, 16, 0, 0), (5, 11, 4, 2), (8, 12, 1, 4),
          (6, 16, 8, 2)]
turn = itertools.count()
for type, shifts in itertools.product(INTEGER_TYPES, (False, True)):
    if shifts and type[0] == "f":
        continue
    for scale_type in NUMBERS:
        dequantized(integers(type, 2, 32, 16, 1, scale_type, shifts), [scale_type])
    for _ in range(3):
        rows, columns, group, group_rows = SHARED[next(turn) % len(SHARED)]
        dequantized(integers(type, rows, columns, group, group_rows, "f32", shifts))
for type in ("f8e4m3", "f8e5m2"):
    dequantized(integers(type, 8, 32, 16, every=True), ["f32", "f16"])
for type in ("i8", "f8e5m2", "u4"):
    for scale_type in NUMBERS:
        dequantized(integers(type, 3, 32, 8, 1, scale_type, type != "f8e5m2"), EVERY)
dequantized(stack(*(integers("i4", 3, 7, 4, 2, "f16", True) for _ in range(2))), ["f32", "f16"])

for bits, form in itertools.product(range(2, 9), [None, "bytes", "numbers"]):
    for columns, group in [(64, 32), (37, 16)]:
        dequantized(nbits(3, columns, bits, group, "f32", form))
    for type in ("f16", "bf16"):
        dequantized(nbits(3, 32, bits, 16, type, form), [type])
for group in (64, 128, 256):
    dequantized(nbits(1, 256, 4, group, "f32", "bytes"))
    dequantized(nbits(1, group + 3, 3, group, "f16", "bytes"), ["f16"])
for type in NUMBERS:
    dequantized(nbits(3, 33, 4, 32, type, "bytes"), EVERY)
dequantized(stack(*(nbits(3, 40, 5, 16, "f32", "bytes") for _ in range(2))))

WITH = [(True, None), (True, "i32"), (False, None), (False, "u32")]
for bits, type, (shifts, shuffled) in itertools.product([2, 3, 4, 8], NUMBERS, WITH):
    if type == "f16" or (shifts and shuffled):
        dequantized(gptq(32, 16, bits, 8, type, shifts, shuffled), [type])
for bits, rows, columns, group, word in [(3, 96, 11, 40, "u32"), (4, 24, 5, 8, "u32"), (2, 48, 3, 128, "u32"),
                                         (8, 12, 9, 5, "i32"), (4, 256, 3, 128, "i32")]:
    dequantized(gptq(rows, columns, bits, group, "f16", word=word), ["f16"])
# A stored zero point of ones is 2^bits, not 0, which only some of the programs that read these files make of it.
for bits in (2, 3, 4, 8):
    dequantized(gptq(32, 7, bits, 16, "f32", full=True))
    dequantized(gptq(32, 7, bits, 16, "f32", full=True, less=0))
    dequantized(gptq(32, 9, bits, 8, "f16", shuffled="i32", less=0), ["f16"])
dequantized(gptq(16, 13, 4, 4, "f16", shuffled="i32"), EVERY)
dequantized(gptq(64, 5, 4, 16, "f16", False, less=0), ["f32"])
dequantized(stack(*(gptq(32, 8, 4, 16, "f16", shuffled="i32") for _ in range(2))), ["f16"])
for type, word in itertools.product(NUMBERS, ("i32", "u32")):
    dequantized(awq(17, 24, 8, type, word), [type])
dequantized(awq(130, 8), ["f16"])
dequantized(awq(5, 16, 2), EVERY)
dequantized(stack(*(awq(6, 16, 3) for _ in range(2))))

for scheme in GGUF:
    if scheme == "ggml_mxfp4":
        ordinary, special = [0, 1, 2, 3, 24, 253, 254, 255], []  # halves of 2^(code - 127); 255 is NaN
    elif scheme == "ggml_nvfp4":
        ordinary, special = [0x00, 0x80, 0x01, 0x07, 0x08, 0x7E, 0x7F, 0xFF], []  # without a sign; 127 is 0
    else:
        ordinary, special = FINITE, SPECIAL
    size = block_size(scheme)
    big = size == 256
    dequantized(blocks(scheme, 1, 256 if big else 64), EVERY[: 2 if big else 4])
    dequantized(blocks(scheme, 2 if big else 3, size if size > 32 else 96), ["bf16" if big else "f32"])
    dequantized(stack(*(blocks(scheme, 1, size) for _ in range(2))))
    dequantized(blocks(scheme, 1 if big else 2, 1024 if big else 128, ordinary[1:5] if big else ordinary))
    dequantized(blocks(scheme, 1, 256 if big else 128, ordinary[2:]), ["f16", "bf16"])
    if special:
        dequantized(blocks(scheme, 1, 512 if big else 128, special[::2] if big else special))


# ---- quantized_embedding
def embedded(m, indices, type="f32"):
    rows = m.w.shape[0]
    i = np.asarray(indices.array, np.int64)
    i = np.clip(np.where(i < 0, i + rows, i), 0, rows - 1)
    values, *others = m.given()
    compared("quantized_embedding", [values, indices, *others], [T(type, m.rounded.get(type, m.w)[i])], m.attributes,
             **rounds(m, type))


def some_matrices():
    """One or more of every scheme, none with NaN, of a few odd sizes."""
    yield from (affine(5, 64, 4, 32, t) for t in NUMBERS)
    yield from (affine(7, 64, b, 64, "f16") for b in (3, 8))
    yield affine(5, 128, 6, 128, "f32", "i32")
    yield from (micro(s, 5, 64) for s in GROUPS)
    yield micro("nvfp4", 5, 48, scale_type="f8e4m3")
    for type in INTEGER_TYPES:
        yield integers(type, 5, 35, 7, 2, NUMBERS[len(type) % 3], type[0] != "f")
    yield integers("i8", 5, 33, 0, 1, "f16")
    for columns, bits, type, zeros in [(33, 4, "f32", "bytes"), (48, 3, "f16", "numbers"), (32, 7, "bf16", None),
                                       (37, 2, "f32", "bytes")]:
        yield nbits(5, columns, bits, 16, type, zeros)
    for bits, type, shifts, shuffled in [(4, "f16", True, "i32"), (3, "f32", True, None), (8, "bf16", False, "u32"),
                                         (2, "f16", True, None)]:
        yield gptq(32, 11, bits, 8, type, shifts, shuffled)
    yield gptq(32, 10, 3, 8, "f16", shuffled="i32", less=0)
    yield from (awq(33, 16, 16, t) for t in NUMBERS)
    yield from (blocks(s, 3 if block_size(s) == 256 else 5, max(64, block_size(s))) for s in GGUF)


INDEX_TYPES = ["i32", "i64", "u32", "u8", "i8", "i16"]
for n, m in enumerate(some_matrices()):
    type = INDEX_TYPES[n % len(INDEX_TYPES)]
    some = [0, 2, 1, 100] if type[0] == "u" else [-1, 1, 100, -100]
    embedded(m, Stored(type, some), EVERY[n % 4])
for m in (affine(4, 64), blocks("q4_0", 4, 32), gptq(32, 8, 4, 16, shuffled="i32")):
    embedded(m, Stored("i32", [[0, 1, -1], [3, 3, -4]]))
    embedded(m, Stored("i64", 2), "f16")
    for type in EVERY:
        embedded(m, Stored("i64", [[1], [2**40], [-2**40]]), type)
for type in INTEGER_TYPES:
    embedded(integers(type, 4, 9, 4, 1), Stored("i32", [3, 0, -1]))


# ---- quantized_matmul
factors = {}


def multiplied(m, x_type, y_type, leading=(), rows=3, transposed=True, chosen=None):
    """x w or x wᵀ in f64. Sums of k products in f32: |error| ≤ k · 2^-23 · Σ|x·w|, of which here is the largest; and
    what the weights may be off by. In f64, 2^-53. Narrow results may be the next number."""
    w = m.w.astype(np.float64)
    if transposed:
        w = np.swapaxes(w, -1, -2)
    if chosen is not None:
        w = w[np.clip(np.asarray(chosen.array, np.int64), 0, w.shape[0] - 1)]
    k = w.shape[-2]
    x = factors.setdefault((x_type, *leading, rows, k), T(x_type, rng.normal(0, 1, (*leading, rows, k))))
    sums = np.abs(x.values) @ np.abs(w)
    off = k * 2.0**(-53 if x_type == "f64" else -23) * float(sums.max())
    off += m.slack * float(np.abs(x.values).sum(-1).max())
    assert np.isfinite(T(y_type, x.values @ w).values).all()
    case("quantized_matmul", [x, *m.given(chosen)], [T(y_type, x.values @ w)],
         changed(**m.attributes, transposed=int(transposed)), absolute=off, ulp=int(y_type in ("f16", "bf16")))


n = 0
for transposed in (True, False):
    for m in some_matrices():
        n += 1
        multiplied(m, EVERY[n % 4 if n % 3 else 0], EVERY[n // 3 % 4], rows=(1, 3, 5)[n % 3], transposed=transposed)
by_types = [affine(7, 64, 4, 32, "f16"), blocks("q4_k", 3, 256), gptq(64, 9, 4, 16, shuffled="i32"),
            stack(*(micro("mxfp4", 7, 64) for _ in range(3)))]
for x_type, y_type in itertools.product(EVERY, EVERY):
    multiplied(by_types[0], x_type, y_type, (), 3)
    multiplied(by_types[0], x_type, y_type, (), 2, False)
    multiplied(by_types[1], x_type, y_type, (), 1)
    multiplied(by_types[2], x_type, y_type, (2,), 2, False)
    multiplied(by_types[3], x_type, y_type, (4,), 1, True, Stored("i32", [2, 0, 0, 1]))
for bits in (1, 2, 3, 4, 5, 6, 8):
    multiplied(affine(5, 64, bits, 32, "f32"), "f32", "f32", rows=1)
for bits, form in itertools.product(range(2, 9), [None, "bytes", "numbers"]):
    multiplied(nbits(3, 37, bits, 16, "f32", form), "f32", "f32", rows=2)
    multiplied(nbits(5, 37, bits, 32, "f16", form), "f16", "f16", rows=1, transposed=False)
for bits, shifts in itertools.product([2, 3, 4, 8], (True, False)):
    for transposed in (True, False):
        multiplied(gptq(32, 13, bits, 8, "f16", shifts, "i32"), "f16", "f16", rows=3, transposed=transposed)

# Leading axes, which broadcast.
MAKERS = [lambda: affine(5, 32, 4, 32, "f16"), lambda: blocks("q8_0", 5, 32), lambda: awq(32, 8, 16),
          lambda: integers("i4", 5, 15, 4, 1, "f32", True), lambda: nbits(5, 35, 4, 16, "f32", "bytes"),
          lambda: gptq(16, 7, 4, 4, "f32", shuffled="i32")]
for four, transposed in itertools.product([[make() for _ in range(4)] for make in MAKERS], (True, False)):
    multiplied(four[0], "f32", "f32", (2, 3), 2, transposed)
    multiplied(stack(*four[:2]), "f32", "f32", (), 3, transposed)
    multiplied(stack(*four[1:3]), "f16", "f32", (3, 1), 2, transposed)
    multiplied(stack(*four[:3]), "f32", "bf16", (3,), 1, transposed)
    # Matrices that are chosen: indices outside, negative ones too, are clamped; they broadcast to the leading axes.
    several = stack(*four)
    choices = [("i16", [2], (), 2), ("i32", [3, 0, 1, 1, 9, -1], (6,), 1), ("i64", [2, -7, 2**40], (2, 3), 1),
               ("u32", 2, (2,), 3), ("u8", [[1], [3]], (1, 3), 2), ("i8", [1, 0], (1,), 3),
               ("i32", [[2, 0, 3]], (2, 1), 1)]
    for type, indices, leading, rows in choices if several.w.shape[2] == 32 else choices[:3]:
        multiplied(several, "f32", "f32", leading, rows, transposed, Stored(type, indices))


# ---- quantize_weights
def clear(x, positions, margin=1e-3):
    """x with other numbers in place of those that are almost halfway between two codes."""
    for _ in range(100):
        v = positions(x)
        bad = np.abs(v - np.floor(v) - 0.5) < margin
        if not bad.any():
            return x
        x = np.where(bad, (x.astype(np.float64) * rng.uniform(0.5, 0.95, x.shape)).astype(x.dtype), x)
    raise AssertionError("numbers stay halfway")


def weights(type, shape, group):
    """Groups, a few of which are special: of zeros, only positive, only negative, with one far end."""
    x = rng.normal(0, 1, (int(np.prod(shape)) // group, group))
    end = lambda n: lambda g: np.append(g[1:], n)
    kinds = [lambda g: np.abs(g) * 0, np.abs, lambda g: -np.abs(g), end(-7.0), end(7.0)]
    for i, f in enumerate(kinds[: len(x)]):
        x[i] = f(x[i])
    return rng.permutation(x).reshape(shape).astype(DTYPES[type])


def by_mlx(x, type, bits, group):
    """Affine weights by MLX, as a case; of f64 those of x as f32."""
    narrow = "f32" if type == "f64" else type
    q, s, b = mx.quantize(mx.array(x.astype(np.float32)).astype(MLX[narrow]), group, bits)
    outputs = [Stored("u32", np.array(q)), Stored(narrow, from_mlx(s)), Stored(narrow, from_mlx(b))]
    stored(x, type, outputs, affine_attributes(bits, group))


def stored(x, type, outputs, attributes):
    compared("quantize_weights", [Stored(type, x)], outputs, attributes)


# MLX: the end of larger magnitude is stored as 0 and the scale has the other sign. (A group of zeros has the scale
# -1e-7.) With 1 bit there are only the two ends, the scale is their difference, and the least number is the bias.
for bits, group, type in AFFINE:
    def positions(x):
        g = x.astype(np.float64).reshape(-1, group)
        low, high = g.min(-1, keepdims=True), g.max(-1, keepdims=True)
        scale = np.maximum((high - low) / ((1 << bits) - 1), 1e-7)
        if bits == 1:
            return ((g - low) / scale).reshape(x.shape)
        below = np.abs(low) > np.abs(high)
        end, scale = np.where(below, low, high), np.where(below, scale, -scale)
        q = np.rint(end / scale)
        scale = np.where(q != 0, end / np.where(q == 0, 1, q), scale)
        return ((g - np.where(q != 0, end, 0)) / scale).reshape(x.shape)
    x = clear(weights(type, (1, group * 5 if group == 32 else group * 2), group), positions)
    by_mlx(x, type, bits, group)
# Exact ties go to the even code: the scale is 2^-1.
x = np.concatenate([np.arange(16) * 0.5 - 7.5 + 0.25, np.linspace(-7.5, 0, 16)]).astype(np.float32)[None]
x[0, :16] = np.clip(x[0, :16], -7.5, 0)
by_mlx(x, "f32", 4, 32)
by_mlx(weights("f32", (2, 3, 64), 64), "f32", 4, 64)
by_mlx(weights("f64", (2, 128), 64), "f64", 4, 64)


def micro_codes(g, scheme):
    """A group's scale and codes in f64 with ties to even; none where a machine's rounding, or another rule for ties and
    for the sign of 0, gives others."""
    most = np.abs(g).max()
    scale = most / (448 if scheme == "mxfp8" else 6)
    if scheme == "nvfp4":
        code = int(np.array(scale, ml_dtypes.float8_e4m3fn).view(np.uint8))
        number = float(np.array(scale, ml_dtypes.float8_e4m3fn).astype(np.float64))
        near = [np.array(scale * f, ml_dtypes.float8_e4m3fn).astype(np.float64) != number for f in (0.99, 1.01)]
    else:
        e = np.ceil(np.log2(scale))
        code, number = int(e) + 127, 2.0**e
        near = [abs(np.log2(scale) - np.rint(np.log2(scale))) < 0.01]
    if any(near) or number == 0:
        return None
    v = g / number
    if scheme == "mxfp8":
        # 448 is the largest; in f16 and bf16 quotients by powers of two are exact.
        codes = np.clip(v, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
        off = [np.clip(v * f, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8) for f in (0.99999, 1.00001)]
        return None if any((o != codes).any() for o in off) else (code, codes)
    a = np.abs(v)
    middles = (E2M1[1:8] + E2M1[:7]) / 2
    if (np.abs(a[:, None] - middles) < 0.01).any() or ((v < 0) & (a < 0.25)).any():
        return None
    return code, np.searchsorted(middles, a) + np.where(v < 0, 8, 0)


def micro_stored(x, type, scheme, scale_type="u8"):
    padded = np.concatenate([x, x]).astype(np.float32)  # MLX takes multiples of 32 elements here
    q, s = (np.array(a)[: len(x)] for a in mx.quantize(mx.array(padded).astype(MLX[type]), mode=scheme))
    return [Stored("u32", q), Stored(scale_type, s if scale_type == "u8" else s.view(ml_dtypes.float8_e4m3fn))]


for scheme, type in itertools.product(GROUPS, NUMBERS):
    group, groups, tries = GROUPS[scheme], [], 0
    while len(groups) < 6:
        tries += 1
        g = (rng.normal(0, 1, group) * 2.0**rng.integers(-6, 7)).astype(DTYPES[type])
        if len(groups) == 0:
            g = np.abs(g)
        if len(groups) == 1:
            g[3] = -np.abs(g.astype(np.float32)).max() * 4
        if scheme != "mxfp8":
            # Its small negative numbers are made positive ones.
            small = np.abs(g.astype(np.float32)) < np.abs(g.astype(np.float32)).max() / 12
            g = np.where(small, np.abs(g), g)
        expected = micro_codes(g.astype(np.float64), scheme)
        if expected is None:
            continue
        q, s = micro_stored(g[None], type, scheme)
        codes = words(expected[1][None], 8 if scheme == "mxfp8" else 4)
        assert int(s.array[0, 0]) == expected[0], (scheme, type, s.array, expected[0])
        if not np.array_equal(q.array, codes):
            continue  # MLX rounds quotients to x's type on the CPU, though not on GPUs
        groups.append(g)
    x = np.concatenate(groups).reshape(3, -1)
    stored(x, type, micro_stored(x, type, scheme), {"scheme": scheme})
    if scheme == "nvfp4":
        stored(x, type, micro_stored(x, type, scheme, "f8e4m3"), {"scheme": scheme})
# MLX on the CPU has rules of its own for these; the rules here are those of its GPUs, and of OCP. Ties of E2M1 go to the
# even code, and what becomes 0 keeps its sign (on MLX's CPU they go to the smaller magnitude, and 0 has no sign). The
# E8M0 scale of zeros is 1, as on its CPU (on its GPUs 2^-127).
def by_ocp(x, scheme):
    g = x.reshape(len(x), -1, GROUPS[scheme])
    most, type = (448, ml_dtypes.float8_e4m3fn) if scheme == "mxfp8" else (6, ml_dtypes.float4_e2m1fn)
    scale = np.abs(g).max(-1) / np.float32(most)
    if scheme == "nvfp4":
        s = scale.astype(ml_dtypes.float8_e4m3fn)
        codes_of_scales, scale = s.view(np.uint8), s.astype(np.float32)
    else:
        power = np.where(scale == 0, 0, np.ceil(np.log2(np.where(scale == 0, 1, scale)))).astype(int)
        codes_of_scales, scale = (power + 127).astype(np.uint8), np.ldexp(np.float32(1), power)
    v = np.where(scale[..., None] == 0, g * 0, g / np.where(scale == 0, 1, scale)[..., None])
    codes = np.clip(v, -most, most).astype(type).view(np.uint8).reshape(x.shape)
    return [Stored("u32", words(codes, 8 if scheme == "mxfp8" else 4)), Stored("u8", codes_of_scales)]


ties = [0.25, -0.25, 0.75, -0.75, 1.25, -1.25, 1.75, -1.75, 2.5, -2.5, 3.5, -3.5, 5, -5, -0.1, 6]
ties = np.array([ties * 2], np.float32)
eights = np.array([[448, 17, -17, 19, -19, 2.0**-10, -2.0**-10, 3 * 2.0**-10] * 4], np.float32)
for scheme in GROUPS:
    stored(ties, "f32", by_ocp(ties, scheme), {"scheme": scheme})
    x = np.zeros((2, 32), np.float32)
    x[1] = 6.0
    stored(x, "f32", by_ocp(x, scheme), {"scheme": scheme})
    x[0, 5:9] = -0.0
    stored(x, "f32", by_ocp(x, scheme), {"scheme": scheme})
stored(eights, "f32", by_ocp(eights, "mxfp8"), {"scheme": "mxfp8"})
# A scale that is too small for E4M3 is 0, and so is every element.
x = np.full((1, 16), 2.0**-12, np.float32)
stored(x, "f32", micro_stored(x, "f32", "nvfp4"), {"scheme": "nvfp4"})

# ggml. Quotients are products with the reciprocal, in f32.
for scheme in ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "ggml_mxfp4"):
    for type in NUMBERS:
        def positions(x):
            g = x.astype(np.float64).reshape(-1, 32)
            if scheme == "ggml_mxfp4":
                most = np.abs(g).max(-1, keepdims=True)
                scale = 2.0 ** (np.floor(np.log2(np.where(most == 0, 1, most))) - 2)
                a = np.abs(g) / scale
                middles = (E2M1[1:8] + E2M1[:7]) / 2
                # To be far from a middle, as others are from halves.
                return np.where((np.abs(a[..., None] - middles) < 0.01).any(-1), 0.5, 0.0).reshape(x.shape)
            if scheme[-1] == "1":
                low = g.min(-1, keepdims=True)
                d = (g.max(-1, keepdims=True) - low) / (15 if scheme == "q4_1" else 31)
                return ((g - low) / np.where(d == 0, 1, d)).reshape(x.shape)
            end = np.take_along_axis(g, np.abs(g).argmax(-1, keepdims=True), -1)
            d = np.abs(end) / 127 if scheme == "q8_0" else end / (-8 if scheme == "q4_0" else -16)
            return (g / np.where(d == 0, 1, d)).reshape(x.shape)
        x = clear(weights(type, (3, 96), 32), positions)
        stored(x, type, [Stored("u8", gguf.quants.quantize(x.astype(np.float32), GGUF[scheme][0]))], {"scheme": scheme})
    # Exact ties: scales that are powers of two.
    end = {"q4_0": -8, "q4_1": 15, "q5_0": -16, "q5_1": 31, "q8_0": 127, "ggml_mxfp4": 6}[scheme]
    if scheme == "ggml_mxfp4":
        middles = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5]
    else:
        middles = np.arange(7) + 0.5
    below = [] if scheme[-1] == "1" else -np.asarray(middles)  # the others' least number is 0
    x = np.resize(np.concatenate([[end, 0], middles, below, [1, 2, 3]]), (1, 32)).astype(np.float32)
    stored(x, "f32", [Stored("u8", gguf.quants.quantize(x, GGUF[scheme][0]))], {"scheme": scheme})
    x = weights("f32", (2, 2, 32), 32)
    stored(x, "f32", [Stored("u8", gguf.quants.quantize(x, GGUF[scheme][0]))], {"scheme": scheme})


# Blocks of ggml whose scales are searched for, and those of three values. A power of two more, or less, of all
# numbers changes the block's scales alone; runs of zeros, of one number, of numbers of one sign, and with a far end.
for scheme in ("q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0"):
    def searched(x, type):
        as_f32 = x.astype(np.float32)
        data = gguf.quants.quantize(as_f32, GGUF[scheme][0]) if scheme[0] == "t" else ggml_blocks.quantized(as_f32, scheme)
        stored(x, type, [Stored("u8", data.reshape(*x.shape[:-1], -1))], {"scheme": scheme})

    for type in [*NUMBERS, "f64"]:
        searched(weights(type, (2, 256), 16), type)
    x = weights("f32", (3, 512), 16)
    searched(x * np.repeat(2.0 ** rng.integers(-6, 7, (3, 32)), 16, -1).astype(np.float32), "f32")
    searched(x * np.float32(2.0**-9), "f32")
    searched(rng.integers(-8, 9, (2, 256)).astype(np.float32) * 0.25, "f32")
    searched(np.abs(rng.standard_t(2, (1, 256))).astype(np.float32), "f32")
    searched(weights("f32", (2, 2, 256), 32), "f32")


# Ranges of nbits and integers: with zero points from min(x, 0) to max(x, 0), without by the element of largest
# magnitude.
def ranged(g, bits, shifts):
    """Scales, zero points of unsigned codes, and where the codes are between integers, of groups in the last axis."""
    g = g.astype(np.float32)
    if shifts:
        low, high = np.minimum(g.min(-1), 0), np.maximum(g.max(-1), 0)
        scale = (high - low) / np.float32((1 << bits) - 1)
        zero = -low.astype(np.float64) / scale
    else:
        # Of ends as large, the negative one.
        end = np.where(np.abs(g.max(-1)) > np.abs(g.min(-1)), g.max(-1), g.min(-1))
        scale = end / np.float32(-(1 << (bits - 1)))
        zero = np.full(scale.shape, 1 << (bits - 1), np.float64)
    return scale, zero, g.astype(np.float64) / scale[..., None]


def some_groups(type, shape, bits, shifts):
    """Groups of which no number or zero point is near halfway; scales of few bits are rounded before or after."""
    margin = {"f32": 1e-3, "f16": 0.002 + 2.0**(bits - 11), "bf16": 0.01 + 2.0**(bits - 8)}[type]
    count = int(np.prod(shape[:-1]))
    x = weights(type, (count + 8, shape[-1]), shape[-1])
    x = x[np.abs(x.astype(np.float32)).max(-1) > 0]
    def near(v):
        return np.abs(v - np.floor(v) - 0.5) < margin
    found = []
    for g in itertools.chain(x, (rng.normal(0, 1, shape[-1]).astype(DTYPES[type]) for _ in range(5000))):
        for _ in range(200):
            _, zero, v = ranged(g, bits, shifts)
            if near(zero) or not near(v).any():
                break
            g = np.where(near(v), (g.astype(np.float32) * rng.uniform(0.6, 0.97, g.shape)).astype(g.dtype), g)
        _, zero, v = ranged(g, bits, shifts)
        if not near(zero) and not near(v).any():
            found.append(g)
        if len(found) == count:
            return np.stack(found).reshape(shape)
    raise AssertionError("too few groups")


def codes_by(g, bits, shifts):
    scale, zero, v = ranged(g, bits, shifts)
    zero = np.rint(np.clip(zero, 0, (1 << bits) - 1))
    return scale, zero, np.clip(np.rint(v + zero[..., None]), 0, (1 << bits) - 1)


for bits, shifts, type in itertools.product(range(2, 9), (False, True), NUMBERS):
    if type != "f32" and bits > 4:
        continue  # a scale that is rounded gives other codes
    # Numbers of blocks whose zero points fill bytes.
    rows, count, group = 2, 8, 16
    g = some_groups(type, (rows, count, group), bits, shifts)
    scale, zero, codes = codes_by(g, bits, shifts)
    outputs = [Stored("u8", packed(codes, bits)), Stored(type, scale)]
    if shifts:
        outputs.append(Stored("u8", packed(zero, bits)))
    if type == "f32" and bits in (2, 4, 8):
        x = g.reshape(rows, -1)
        q, s = np.zeros(outputs[0].shape, np.uint8), np.zeros(rows * count, np.float32)
        z = np.zeros(rows * count * bits // 8, np.uint8)
        by_runtime = getattr(runtime, f"quantize_matmul_{bits}bits")
        by_runtime(q, np.ascontiguousarray(x.T), s, z, group, rows, count * group, not shifts)
        same(outputs[0].array, q, ("quantize nbits", bits, shifts))
        same(scale.ravel(), s, ("scales of nbits", bits, shifts))
        if shifts:
            same(outputs[2].array.ravel(), z, ("zeros of nbits", bits))
    stored(g.reshape(rows, -1), type, outputs, changed(scheme="nbits", bits=bits, group=group))
# Rows that end inside a block: the rest of it has the zero point, and so stands for 0. The bits behind the last zero point
# of a row are those of half of the range, as onnxruntime has them. Of zeros, the scale is 0 (-0 without zero points).
for bits, shifts, columns in itertools.product(range(2, 9), (False, True), (37, 80)):
    rows, group = 3, 16
    count = -(-columns // group)
    g = some_groups("f32", (rows, count, group), bits, shifts)
    g[1, 0] = 0
    if not shifts:
        g[2, 0] = np.resize([7, -7, 2, 0.1], group)  # two ends of one magnitude
    if columns % group:
        g[:, -1] = np.roll(np.sort(g[:, -1], axis=-1), 1, axis=-1)  # its ends come first
        g[:, -1, columns % group:] = 0
    with np.errstate(invalid="ignore"):
        scale, zero, codes = codes_by(g, bits, shifts)
    zero[1, 0], codes[1, 0] = (0, 0) if shifts else (1 << (bits - 1),) * 2
    filled = np.concatenate([zero, np.full((rows, 8), 1 << (bits - 1))], -1)
    points = packed(filled, bits)[:, : -(-count * bits // 8)]
    outputs = [Stored("u8", packed(codes, bits)), Stored("f32", scale)] + ([Stored("u8", points)] if shifts else [])
    x = g.reshape(rows, -1)[:, :columns]
    if bits in (2, 4, 8):
        q, s = outputs[0].array.copy(), np.zeros(rows * count, np.float32)
        z = np.zeros(points.size, np.uint8)
        by_runtime = getattr(runtime, f"quantize_matmul_{bits}bits")
        by_runtime(q, np.ascontiguousarray(x.T), s, z, group, rows, columns, not shifts)
        unpack = lambda a: np.unpackbits(a.reshape(rows, -1), axis=-1, bitorder="little")[:, : columns * bits]
        same(unpack(outputs[0].array), unpack(q), ("codes of nbits", bits, shifts, columns))
        same(scale.ravel(), s, ("scales of nbits", bits, columns))
        if shifts:
            same(points.ravel(), z, ("zeros of nbits", bits, columns))
    stored(x, "f32", outputs, changed(scheme="nbits", bits=bits, group=group, columns=columns if columns % group else 0))
for q, shifts, type in itertools.product(["i8", "u8", "i4", "u4", "i2", "u2"], (False, True), NUMBERS):
    bits = int(q[1:])
    if (q[0] == "u" and not shifts) or (type != "f32" and bits > 4):
        continue  # without zero points, unsigned integers have no negative numbers
    low = -(1 << (bits - 1)) if q[0] == "i" else 0
    # Groups of a row; of rows and columns; whole rows; of a column's adjacent rows; all.
    sizes = [(3, 32, 16, 1), (4, 16, 8, 2), (3, 19, 0, 1), (16, 3, 1, 8), (4, 9, 0, 0)]
    for rows, columns, group, group_rows in sizes if type == "f32" else sizes[:2]:
        along, down = group or columns, group_rows or rows
        g = some_groups(type, (rows // down, columns // along, down * along), bits, shifts)
        scale, zero, codes = codes_by(g, bits, shifts)
        back = lambda a: a.reshape(rows // down, columns // along, down, along).swapaxes(1, 2).reshape(rows, columns)
        outputs = [Stored(q, back(codes) + low), Stored(type, scale)] + ([Stored(q, zero + low)] if shifts else [])
        stored(back(g), type, outputs, integer_attributes(group, group_rows))
# 8-bit floats: the largest magnitude is the type's largest number.
for q, type in itertools.product(["f8e4m3", "f8e5m2"], [*NUMBERS, "f64"]):
    most, scale_type = {"f8e4m3": 448, "f8e5m2": 57344}[q], "f32" if type == "f64" else type
    for rows, columns, group, group_rows in [(3, 32, 16, 1), (3, 19, 0, 1), (4, 9, 0, 0)]:
        along, down = group or columns, group_rows or rows
        x = weights(type, (rows // down, columns // along, down * along), down * along)
        x[0, 0] = rng.normal(0, 1, down * along)
        x[0, 0, :4] = [1.75, -1.0625, 2.0**-20, -0.0]
        scale = Stored(scale_type, np.abs(x.astype(np.float32)).max(-1) / np.float32(most))
        divisor = np.where(scale.f32 == 0, 1, scale.f32)[..., None]
        codes = np.clip(x.astype(np.float32) / divisor, -most, most)
        back = lambda a: a.reshape(rows // down, columns // along, down, along).swapaxes(1, 2).reshape(rows, columns)
        stored(back(x), type, [Stored(q, back(codes)), scale], integer_attributes(group, group_rows))

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
# Embeddings are a function of tensors.
for name, wanted in (("cases.json", False), ("functions.json", True)):
    lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases
             if (c["kernel"] == "quantized_embedding") == wanted)
    (OUT / name).write_text("[\n" + ",\n".join(lines) + "\n]\n")
