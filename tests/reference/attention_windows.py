"""Attention with windows and lengths by NumPy in f64, for the CPU kernels: writes tests/data/attention/{window,lengths}*.npy.

Written from the rule alone: query i of a sequence stands at key i + key_length - query_length (or at key i), and sees the
keys from `left` before that place to `right` behind it, within its key length. Who sees nothing gets zeros.
"""
import pathlib

import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "attention"


def attend(q, k, v, left, right, top_left, query_lengths, key_lengths):
    batch, heads, queries, dim = q.shape
    group = heads // k.shape[1]
    y = np.zeros((batch, heads, queries, v.shape[3]))
    for b, h, i in np.ndindex(batch, heads, queries):
        if i >= query_lengths[b]:
            continue
        place = i if top_left else i + key_lengths[b] - query_lengths[b]
        seen = [j for j in range(key_lengths[b])
                if (left < 0 or j >= place - left) and (right < 0 or j <= place + right)]
        if not seen:
            continue
        scores = k[b, h // group, seen] @ q[b, h, i] / np.sqrt(dim)
        weights = np.exp(scores - scores.max())
        y[b, h, i] = weights @ v[b, h // group, seen] / weights.sum()
    return y


def main():
    rng = np.random.default_rng(21)
    random = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    # name: queries, keys, left, right (as the call says them), right in effect, top left, lengths
    cases = {
        "window": (9, 14, 4, 2, 2, False, None),
        "window_causal": (12, 7, 3, 5, 0, False, None),
        "window_top_left": (9, 14, 2, 3, 3, True, None),
        "lengths": (6, 11, -1, -1, -1, False, ([6, 0, 3, 9], [11, 5, 0, -2])),
        "lengths_window": (8, 12, 3, 1, 1, False, ([8, 5, 2, 7], [12, 3, 40, 6])),
    }
    for name, (queries, keys, left, right, effective, top_left, lengths) in cases.items():
        batch = 4 if lengths else 2
        q, k, v = random(batch, 4, queries, 8), random(batch, 2, keys, 8), random(batch, 2, keys, 5)
        lengths = lengths or ([queries] * batch, [keys] * batch)
        clamped = [np.clip(length, 0, most) for length, most in zip(lengths, (queries, keys))]
        y = attend(*(x.astype(np.float64) for x in (q, k, v)), left, effective, top_left, *clamped)
        arrays = {"q": q, "k": k, "v": v, "y": y, "window": np.array([left, right], np.float32)}
        if name.startswith("lengths"):
            arrays["query_lengths"] = np.array(lengths[0], np.int32)
            arrays["key_lengths"] = np.array(lengths[1], np.int32)
        for part, array in arrays.items():
            np.save(OUT / f"{name}_{part}.npy", array)


main()
