#!/usr/bin/env python3
"""Times PyTorch and JAX on the cases of `weft_bench derivatives`, under the same names, for weft_bench --compare.

  derivatives_peers.py torch > torch.jsonl      recurrent networks by cuDNN, and a step of training, eager
  derivatives_peers.py jax > jax.jsonl          derivatives of order 1 to 10, loops, and a step of training, jit
"""
import json
import statistics
import sys
import time

STEPS, BATCH, HIDDEN, WIDTH = 128, 32, 512, 2048


def report(name, value, **details):
    print(json.dumps({"name": name, "value": value, "unit": "us", **details}), flush=True)


def per_call(call, wait, runs=8, turns=20):
    call()
    wait()
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        for _ in range(runs):
            result = call()  # noqa: F841
        wait()
        times.append((time.perf_counter() - start) / runs * 1e6)
    return statistics.median(times)


def with_torch():
    import torch

    wait = torch.cuda.synchronize
    for name, kind in (("f32", torch.float32), ("f16", torch.float16)):
        for network, make in (("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU)):
            net = make(HIDDEN, HIDDEN, bias=False).to("cuda", kind)
            x = (torch.randn(STEPS, BATCH, HIDDEN, device="cuda") * 0.05).to(kind).requires_grad_()
            shape = f"{name} [{STEPS}, {BATCH}, {HIDDEN}]"

            def forward():
                with torch.no_grad():
                    return net(x)[0].float().sum()  # noqa: B023

            def both():
                net.zero_grad()  # noqa: B023
                x.grad = None  # noqa: B023
                net(x)[0].float().sum().backward()  # noqa: B023

            report(f"{network} {shape}", per_call(forward, wait))
            report(f"{network} with its gradient {shape}", per_call(both, wait))
    layers = [torch.randn(m, n, device="cuda").mul_(0.02).requires_grad_() for m, n in ((784, WIDTH), (WIDTH, WIDTH), (WIDTH, 10))]
    x, y = torch.randn(256, 784, device="cuda"), torch.randn(256, 10, device="cuda")

    def step():
        h = torch.relu(torch.relu(x @ layers[0]) @ layers[1]) @ layers[2]
        (h - y).square().mean().backward()
        with torch.no_grad():
            for w in layers:
                w -= 0.01 * w.grad
                w.grad = None

    report(f"step of a perceptron 784, {WIDTH}, {WIDTH}, 10 f32, batch 256", per_call(step, wait))


def with_jax():
    import jax
    import jax.numpy as jnp
    import numpy as np

    def wait():
        jnp.zeros(1).block_until_ready()

    x = jnp.linspace(-2, 2, 1000, dtype=jnp.float32)
    f = lambda t: jnp.sin(t) * jnp.exp(t)  # noqa: E731
    for order in range(1, 11):
        g = f
        for _ in range(order):
            g = jax.grad(g)
        compiled = jax.jit(jax.vmap(g))
        start = time.perf_counter()
        np.asarray(compiled(x))
        first = (time.perf_counter() - start) * 1e3
        times = []
        for _ in range(200):
            start = time.perf_counter()
            np.asarray(compiled(x))
            times.append((time.perf_counter() - start) * 1e6)
        report(f"derivative {order} of sin(x) exp(x) f32 [1000]", statistics.median(times), compile_ms=first)
    loop = jax.jit(lambda t: jax.lax.fori_loop(0, 1000, lambda i, s: jnp.sin(s), t))
    v = jnp.ones(1024)
    report("fori_loop of 1000 turns of sin(x) f32 [1024]", per_call(lambda: loop(v).block_until_ready(), wait))
    halves = jax.jit(lambda t: jax.lax.while_loop(lambda s: s > 1, lambda s: s * 0.5, t))
    top = jnp.float32(2.0**100)
    report("while_loop of 100 turns of x / 2 f32 []", per_call(lambda: halves(top).block_until_ready(), wait))


if __name__ == "__main__":
    if sys.argv[1:] not in (["torch"], ["jax"]):
        sys.exit(__doc__)
    with_torch() if sys.argv[1] == "torch" else with_jax()
