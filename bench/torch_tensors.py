#!/usr/bin/env python3
"""Times PyTorch, eager, on the cases of `weft_bench tensors`, under the same names, for weft_bench --compare.

  torch_tensors.py [--mebibytes 256] > torch.jsonl
"""
import argparse
import json
import statistics
import time

import torch


def ten_nodes(x, y, number):
    a = torch.exp(x * number) + y
    b = a - a.amax(-1, keepdim=True)
    c = torch.sqrt(b.abs()) / a.sum(-1, keepdim=True)
    return c.T


def report(name, value, unit):
    print(json.dumps({"name": name, "value": value, "unit": unit}), flush=True)


def per_turn(call, runs=16, turns=10):
    times = []
    for _ in range(turns):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(runs):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / runs * 1e6)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mebibytes", type=int, default=256)
    args = parser.parse_args()
    x, y = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    times = []
    for _ in range(12):
        start = time.perf_counter()
        for i in range(100):
            ten_nodes(x, y, 0.25 * i)
        times.append((time.perf_counter() - start) / 100 * 1e6)
        torch.cuda.synchronize()
    report("ten nodes again: eval, host time", statistics.median(times), "us")
    count = args.mebibytes * (1 << 20) // 4
    a, b, c = (torch.rand(count, device="cuda") for _ in range(3))
    report(f"sqrt(a * b + c) f32 [{count}]", per_turn(lambda: torch.sqrt(a * b + c)), "us")
    for name, kind in (("f32", torch.float32), ("f16", torch.float16)):
        z = (torch.randn(4096, 4096, device="cuda") * 0.05).to(kind)
        report(f"softmax(x @ x.T) {name} [4096, 4096]", per_turn(lambda: torch.softmax(z @ z.T, -1)), "us")  # noqa: B023


if __name__ == "__main__":
    main()
