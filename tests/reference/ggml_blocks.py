"""Blocks as ggml's quantize_row_*_ref (ggml-quants.c; of iq4_nl quantize_iq4_nl) stores them, whose scales come from
searches that the package gguf does not have: q2_k to q6_k, iq4_nl, iq4_xs. Step by step in f32, as C without fused
multiplications and additions computes them, for all runs at once. Written from the rules, and compared byte by byte
with the C code where it was at hand."""
import numpy as np

f32 = np.float32
TABLE = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], f32)


def total(terms):
    """Sums along the last axis, one number after the other."""
    sums = np.zeros(terms.shape[:-1], f32)
    for i in range(terms.shape[-1]):
        sums = sums + terms[..., i]
    return sums


def nearest(x, least, most):
    return np.clip(np.rint(x), f32(least), f32(most))


def over(a, b):
    """a / b, 0 where b is 0."""
    return np.where(b == 0, f32(0), a / np.where(b == 0, f32(1), b)).astype(f32)


def first_largest(x):
    return np.take_along_axis(x, np.abs(x).argmax(-1)[..., None], -1)


def offsets(x, most, first, tries, magnitudes):
    """Scales, least numbers and codes of runs: a least-squares fit for the codes of each try."""
    n = x.shape[-1]
    weight = np.abs(x) if magnitudes else np.sqrt(total(x * x) / f32(n))[:, None] + np.abs(x)
    low, high = np.minimum(x.min(-1), f32(0)), x.max(-1)
    sum_w, sum_x = total(weight), total(weight * x)
    codes_by = lambda inverse: nearest(inverse[:, None] * (x - low[:, None]), 0, most)

    def error_of(codes, scale, least):
        off = scale[:, None] * codes + least[:, None] - x
        return total(weight * (np.abs(off) if magnitudes else off * off))

    inverse = over(f32(most), high - low)
    codes = codes_by(inverse)
    scale = over(f32(1), inverse)
    error = error_of(codes, scale, low)
    for t in range(tries):
        l = codes_by(over(f32(first) + f32(0.1) * f32(t) + f32(most), high - low))
        sum_l, sum_l2, sum_xl = total(weight * l), total(weight * l * l), total(weight * l * x)
        d = sum_w * sum_l2 - sum_l * sum_l
        s, m = over(sum_w * sum_xl - sum_x * sum_l, d), over(sum_l2 * sum_x - sum_l * sum_xl, d)
        s, m = np.where(m > 0, over(sum_xl, sum_l2), s), np.minimum(m, f32(0))
        e = error_of(l, s, m)
        better = (d > 0) & (e < error) & (high != low)
        codes, scale = np.where(better[:, None], l, codes), np.where(better, s, scale)
        error, low = np.where(better, e, error), np.where(better, m, low)
    flat = high == low
    return np.where(flat, f32(0), scale), low, np.where(flat[:, None], f32(0), codes)


def scales(x, half):
    """Of the codes of nineteen scales those that fit best, where errors weigh as much as squares of numbers."""
    end = first_largest(x)
    scale = best = codes = None
    for step in [0, *range(-9, 0), *range(1, 10)]:
        l = nearest(over(-(f32(half) + f32(0.1) * f32(step)), end) * x, -half, half - 1)
        w = x * x
        xl, l2 = total(w * x * l), total(w * l * l)
        s = over(xl, l2)
        if scale is None:
            scale, best, codes = s, s * xl, l
            continue
        better = (l2 > 0) & (xl * xl > best * l2)
        scale, best = np.where(better, s, scale), np.where(better, s * xl, best)
        codes = np.where(better[:, None], l, codes)
    return scale, np.where(end == 0, f32(0), codes + f32(half))


def refined(x, half):
    """Codes that are changed one by one, where a scale then fits them better."""
    end = first_largest(x)
    codes = nearest(over(f32(-half), end) * x, -half, half - 1)
    w = x * x
    xl, l2 = total(w * x * codes), total(w * codes * codes)
    going = np.ones(len(x), bool)
    for _ in range(5):
        changed = np.zeros(len(x), bool)
        for i in range(x.shape[-1]):
            wi, xi, c = w[:, i], x[:, i], codes[:, i]
            a, b = xl - wi * xi * c, l2 - wi * c * c
            new = nearest(over(xi * b, a), -half, half - 1)
            a2, b2 = a + wi * xi * new, b + wi * new * new
            take = going & (a > 0) & (new != c) & (b2 > 0) & (a2 * a2 * l2 > xl * xl * b2)
            codes[:, i] = np.where(take, new, c)
            xl, l2 = np.where(take, a2, xl), np.where(take, b2, l2)
            changed |= take
        going &= changed
    return over(xl, l2), np.where(end == 0, f32(0), codes + f32(half))


def of_table(x):
    return np.searchsorted((TABLE[1:] + TABLE[:-1]) / 2, x, side="right")


def nonlinear(x):
    end = first_largest(x)
    scale = best = None
    for t in [None, *range(-7, 8)]:
        inverse = over(f32(1), end / f32(127)) if t is None else over(f32(t - 127), end)
        q = TABLE[of_table(inverse * x)]
        w = x * x
        xq, q2 = total(w * q * x), total(w * q * q)
        s = over(xq, q2)
        if scale is None:
            scale, best = s, s * xq
            continue
        better = (q2 > 0) & (xq * xq > best * q2)
        scale, best = np.where(better, s, scale), np.where(better, s * xq, best)
    return scale


# ---- Packing
def half_bytes(x):
    return np.ascontiguousarray(x.astype(np.float16)).view(np.uint8).reshape(len(x), 2)


def fields(codes, shift, bits, runs):
    """Fields of runs of 32 in the same bytes: `runs` of them in each."""
    part = (codes.reshape(len(codes), -1, runs, 32) >> shift) & ((1 << bits) - 1)
    return (part << (bits * np.arange(runs))[:, None]).sum(2).reshape(len(codes), -1)


def fours(codes, apart):
    pairs = codes.reshape(len(codes), -1, 2, apart) & 15
    return (pairs[:, :, 0] | pairs[:, :, 1] << 4).reshape(len(codes), -1)


def by_steps(x, step, codes, least, most, added=0, offset=0):
    """Codes by the scales as they are stored; where these are 0, those of the search."""
    v = nearest(over(x + added, step), least, most) + f32(offset)
    return np.where(step == 0, codes, v).astype(int)


def quantized(x, scheme):
    """The bytes of rows x, f32."""
    rows = int(np.prod(x.shape[:-1]))
    size = 32 if scheme == "iq4_nl" else 256
    run = 16 if scheme in ("q2_k", "q3_k", "q6_k") else 32
    x = np.asarray(x, f32).reshape(-1, size // run, run)
    count, runs, _ = x.shape
    flat = x.reshape(-1, run)
    back = lambda a: np.asarray(a, f32).reshape(count, runs, *a.shape[1:])
    joined = lambda parts: np.concatenate([np.asarray(p, np.int64) for p in parts], -1).astype(np.uint8).reshape(rows, -1)
    with np.errstate(all="ignore"):
        if scheme in ("q2_k", "q4_k", "q5_k"):
            most, first, tries, of_scale = {"q2_k": (3, -0.5, 16, 15), "q4_k": (15, -1, 21, 63), "q5_k": (31, -0.5, 16, 63)}[scheme]
            scale, low, codes = map(back, offsets(flat, most, first, tries, scheme == "q2_k"))
            off = -low
            largest = [np.maximum(a.max(-1), f32(0)) for a in (scale, off)]
            d, m = (half_bytes(a / f32(of_scale)) for a in largest)
            s, l = (nearest(over(f32(of_scale), a)[:, None] * b, 0, of_scale) for a, b in zip(largest, (scale, off)))
            number = lambda h: h.view(np.float16).astype(f32)
            codes = by_steps(x, (number(d) * s)[..., None], codes, 0, most, (number(m) * l)[..., None]).reshape(count, -1)
            s, l = s.astype(int), l.astype(int)
            if scheme == "q2_k":
                return joined([s | l << 4, fields(codes, 0, 2, 4), d, m])
            six = [s[:, :4] | s[:, 4:] >> 4 << 6, l[:, :4] | l[:, 4:] >> 4 << 6, (s[:, 4:] & 15) | (l[:, 4:] & 15) << 4]
            return joined([d, m, *six, *([fields(codes, 4, 1, 8)] if scheme == "q5_k" else []), fours(codes, 32)])
        if scheme in ("q3_k", "q6_k"):
            half, of_scale = (4, 32) if scheme == "q3_k" else (32, 128)
            scale, codes = map(back, (refined if scheme == "q3_k" else scales)(flat, half))
            by_scale = over(f32(-of_scale), first_largest(scale))
            d = half_bytes(over(f32(1), by_scale))
            s = nearest(by_scale * scale, -of_scale, of_scale - 1)
            step = (d.view(np.float16).astype(f32) * s)[..., None]
            codes = by_steps(x, step, codes, -half, half - 1, 0, half).reshape(count, -1)
            s = s.astype(int)
            if scheme == "q6_k":
                return joined([fours(codes, 64), fields(codes, 4, 2, 4), s & 255, d])
            s = np.where(by_scale == 0, 0, s + 32)
            high = (s.reshape(count, 4, 4) >> 4 << (2 * np.arange(4))[:, None]).sum(1)
            return joined([fields(codes, 2, 1, 8), fields(codes, 0, 2, 4), (s[:, :8] & 15) | (s[:, 8:] & 15) << 4, high, d])
        scale = back(nonlinear(flat))
        if scheme == "iq4_nl":
            codes = of_table(over(f32(1), scale)[..., None] * x).reshape(count, -1)
            return joined([half_bytes(scale), fours(codes, 16)])
        d = -first_largest(scale) / f32(32)
        s = nearest(over(f32(1), d) * scale, -32, 31)
        codes = of_table(over(f32(1), d * s)[..., None] * x).reshape(count, -1)
        s = s.astype(int) + 32
        high = (s >> 4 << (2 * np.arange(8))).sum(-1)[:, None]
        return joined([half_bytes(d), high & 255, high >> 8, (s[:, ::2] & 15) | (s[:, 1::2] & 15) << 4, fours(codes, 16)])
