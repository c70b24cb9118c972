"""Attention with the logarithms of its sums of weights, and its gradient, by NumPy in f64, for tests/kernels/cpu_kernels_reference_test.cc: writes
tests/data/attention_gradient/cases.json and bytes.npy. The formulas are checked by differences of attention itself."""
import json
import pathlib

import numpy as np
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "attention_gradient"
OUT.mkdir(parents=True, exist_ok=True)


def seen_keys(q, k, mask, q_lengths, k_lengths, o):
    """Which keys each query sees, and what the mask adds."""
    batch, heads, queries, keys = q.shape[0], q.shape[1], q.shape[2], k.shape[2]
    seen, added = np.ones((batch, heads, queries, keys), bool), np.zeros((batch, heads, queries, keys))
    for b in range(batch):
        m = queries if q_lengths is None else int(np.clip(int(q_lengths.values[b]), 0, queries))
        n = keys if k_lengths is None else int(np.clip(int(k_lengths.values[b]), 0, keys))
        for i in range(queries):
            place = i if o.get("top_left") else i + n - m
            for j in range(keys):
                left, right = o.get("window_left", -1), 0 if o.get("causal") else o.get("window_right", -1)
                seen[b, :, i, j] = (i < m and j < n and (left < 0 or j >= place - left) and
                                    (right < 0 or j <= place + right))
    if mask is not None and mask.type == "bool":
        seen &= np.broadcast_to(mask.values, seen.shape)
    elif mask is not None:
        added = added + mask.values
    return seen, added


def attention(q, k, v, seen, added, scale):
    group = q.shape[1] // k.shape[1]
    s = scale * q @ np.repeat(k, group, 1).swapaxes(2, 3) + added
    s = np.where(seen, s, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    w = e / np.where(total == 0, 1, total)
    log_sums = np.where(total == 0, -np.inf, np.log(np.where(total == 0, 1, total)) + top)[..., 0]
    return w, w @ np.repeat(v, group, 1), log_sums


def gradients(q, k, v, g, w, delta, scale):
    group = q.shape[1] // k.shape[1]
    wide_k, wide_v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    ds = scale * w * (g @ wide_v.swapaxes(2, 3) - delta[..., None])
    by_head = lambda x: x.reshape(x.shape[0], k.shape[1], group, *x.shape[2:]).sum(2)
    return ds @ wide_k, by_head(ds.swapaxes(2, 3) @ q), by_head(w.swapaxes(2, 3) @ g)


def add(type, batch, heads, kv_heads, queries, keys, dim, value_dim, mask=None, lengths=(None, None), **o):
    o.setdefault("scale", 0.5)
    q, k = (T(type, rng.normal(0, 1, s)) for s in ((batch, heads, queries, dim), (batch, kv_heads, keys, dim)))
    v, g = (T(type, rng.normal(0, 1, s)) for s in ((batch, kv_heads, keys, value_dim), (batch, heads, queries, value_dim)))
    m = None
    if mask is not None:
        shape, kind = mask
        m = T("bool", rng.integers(0, 3, shape) > 0) if kind == "bool" else T(kind, rng.normal(0, 1, shape))
    seen, added = seen_keys(q.values, k.values, m, *lengths, o)
    forward = lambda q, k, v: attention(q, k, v, seen, added, o["scale"])
    w, y, log_sums = forward(q.values, k.values, v.values)
    # Of y and of the log sums, where those are numbers.
    of_sums = np.where(np.isinf(log_sums), 0, rng.normal(0, 1, log_sums.shape))
    sums = lambda x: np.where(np.isinf(x), 0, x)
    delta = (g.values * y).sum(-1) - of_sums
    all = gradients(q.values, k.values, v.values, g.values, w, delta, o["scale"])
    # The slope along a random direction.
    steps = [rng.normal(0, 1, t.shape) for t in (q, k, v)]
    def total(h):
        _, y, log_sums = forward(*(t.values + h * d for t, d in zip((q, k, v), steps)))
        return (g.values * y).sum() + (of_sums * sums(log_sums)).sum()
    slope = sum((a * d).sum() for a, d in zip(all, steps))
    assert abs((total(1e-5) - total(-1e-5)) / 2e-5 - slope) < 1e-6 * max(1, abs(slope)), (total(0), slope)
    options = {name: int(x) if isinstance(x, bool) else x for name, x in o.items()}
    case("attention_with_log_sums", [q, k, v, m, *lengths], [T(type, y), T("f32", log_sums)], options, ulp=1, absolute=1e-5)
    case("attention_gradient", [q, k, v, g, T("f32", log_sums), T("f32", delta), m, *lengths], [T(type, x) for x in all],
         options, ulp=1, absolute=1e-5)


for type in ("f32", "f16", "bf16"):
    add(type, 2, 4, 2, 5, 7, 8, 6)
    add(type, 2, 2, 2, 6, 9, 5, 3, mask=((2, 1, 6, 9), "bool"), causal=True)
    add(type, 1, 2, 1, 4, 6, 8, 8, mask=((2, 1, 6), type))
add("f32", 1, 1, 1, 1, 1, 1, 1)
add("f32", 1, 3, 1, 40, 37, 33, 36, scale=0.2)
add("f32", 1, 1, 1, 5, 3, 4, 4, causal=True)
add("f32", 2, 2, 2, 9, 9, 4, 4, window_left=2, window_right=1)
add("f32", 1, 2, 2, 7, 9, 4, 4, window_left=1, window_right=3, top_left=True)
add("f32", 3, 2, 1, 5, 6, 4, 4, lengths=(T("i32", [5, 2, 0]), T("i32", [6, 3, 4])), causal=True)
add("f32", 3, 2, 1, 5, 6, 4, 4, lengths=(None, T("u32", [9, 0, 4])), window_left=2)

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
