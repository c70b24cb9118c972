"""Attention by PyTorch's scaled_dot_product_attention in f64, for the CPU kernels: writes tests/data/attention/*.npy."""
import pathlib

import numpy as np
import torch

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "attention"


def bottom_right_causal(queries, keys):
    """Query i sees keys up to i + keys - queries; PyTorch's own is_causal aligns the other corner."""
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


def main():
    torch.manual_seed(20)
    OUT.mkdir(parents=True, exist_ok=True)
    random = lambda *shape: torch.randn(*shape, dtype=torch.float32)
    boolean = torch.rand(2, 1, 1, 9) > 0.4
    boolean[..., 0] = True
    added = random(1, 4, 6, 9)
    added[0, 1, 2, 3] = -torch.inf
    # name: q, k, v, mask that is saved, mask that PyTorch gets, scale
    cases = {
        "plain": (random(2, 4, 6, 8), random(2, 4, 9, 8), random(2, 4, 9, 8), None, None, None),
        "boolean": (random(2, 4, 6, 5), random(2, 4, 9, 5), random(2, 4, 9, 3), boolean, boolean, None),
        "added": (random(2, 4, 6, 8), random(2, 4, 9, 8), random(2, 4, 9, 8), added, added.double(), 0.7),
        "grouped": (random(1, 6, 5, 16), random(1, 2, 7, 16), random(1, 2, 7, 16), None, None, None),
        "causal": (random(2, 2, 4, 8), random(2, 2, 7, 8), random(2, 2, 7, 8), None, bottom_right_causal(4, 7), None),
    }
    for name, (q, k, v, saved, mask, scale) in cases.items():
        y = torch.nn.functional.scaled_dot_product_attention(
            q.double(), k.double(), v.double(), attn_mask=mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
        arrays = {"q": q, "k": k, "v": v, "y": y}
        if saved is not None:
            arrays["mask"] = saved
        for part, array in arrays.items():
            np.save(OUT / f"{name}_{part}.npy", array.numpy())


main()
