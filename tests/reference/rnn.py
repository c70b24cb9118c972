"""Values of recurrent networks (weft/kernels/rnn.h) for tests/kernels/cpu_kernels_reference_test.cc: writes
tests/data/rnn/cases.json and bytes.npy. PyTorch's nn.LSTM, nn.GRU and nn.RNN in f64 where they have the options, with
packed sequences for lengths; peepholes, clipping, other activations, ONNX's GRU and orders of gates by NumPy after the
formulas of the ONNX operators LSTM, GRU and RNN. Where both can, they must agree."""
import itertools
import json
import pathlib

import numpy as np
import torch
import cpu_kernel_cases
from cpu_kernel_cases import T, case, narrow, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "rnn"
OUT.mkdir(parents=True, exist_ok=True)
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
MODULES = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}
# The activations of ONNX, with its default parameters.
ACTIVATIONS = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "affine": lambda x: 1.0 * x + 0.0,
    "leaky_relu": lambda x: np.where(x < 0, 0.01 * x, x),
    "thresholded_relu": lambda x: np.where(x >= 1.0, x, 0),
    "scaled_tanh": lambda x: 1.0 * np.tanh(1.0 * x),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
}


def by_numpy(kind, x, w, r, bias, recurrent_bias, h0, c0, peephole, lengths, options, state_type):
    """ONNX's formulas for one sequence at a time; the state is rounded to its type after each step."""
    steps, batch, _ = x.shape
    directions, hidden = w.shape[0], r.shape[2]
    order = options.get("gates", {"lstm": "ifgo", "gru": "rzn", "rnn": "x"}[kind])
    limit = options.get("clip", 0)

    def f(name, usual, v):
        v = np.clip(v, -limit, limit) if limit else v
        return ACTIVATIONS[options.get(name, usual)](v)

    y = np.zeros((steps, directions, batch, hidden))
    last_h, last_c = np.zeros((directions, batch, hidden)), np.zeros((directions, batch, hidden))
    for d, b in itertools.product(range(directions), range(batch)):
        h = narrow(h0[d, b] if h0 is not None else np.zeros(hidden), state_type)
        c = c0[d, b] if c0 is not None else np.zeros(hidden)
        length = steps if lengths is None else max(0, min(steps, int(lengths[b])))
        times = range(length)
        if options.get("direction", "forward") == "reverse" or d == 1:
            times = reversed(times)
        zero = np.zeros(w.shape[1])
        wb, rb = (zero if v is None else v[d] for v in (bias, recurrent_bias))
        for t in times:
            given = dict(zip(order, np.split(w[d] @ x[t, b] + wb, len(order))))
            state = dict(zip(order, np.split(r[d] @ h + rb, len(order))))
            if kind == "rnn":
                new = f("activation", "tanh", given["x"] + state["x"])
            elif kind == "gru":
                z = f("gate_activation", "sigmoid", given["z"] + state["z"])
                reset = f("gate_activation", "sigmoid", given["r"] + state["r"])
                if options.get("reset_after", True):
                    of_state = reset * state["n"]
                else:
                    n = order.index("n")
                    of_state = np.split(r[d], 3)[n] @ narrow(reset * h, state_type) + np.split(rb, 3)[n]
                new = (1 - z) * f("candidate_activation", "tanh", given["n"] + of_state) + z * h
            else:
                p = np.split(np.zeros(3 * hidden) if peephole is None else peephole[d], 3)
                s = {g: given[g] + state[g] for g in order}
                i = f("gate_activation", "sigmoid", s["i"] + p[0] * c)
                forget = 1 - i if options.get("coupled") else f("gate_activation", "sigmoid", s["f"] + p[2] * c)
                c = forget * c + i * f("cell_activation", "tanh", s["g"])
                o = f("gate_activation", "sigmoid", s["o"] + p[1] * c)
                new = o * f("output_activation", "tanh", c)
            h = narrow(new, state_type)
            y[t, d, b] = h
        last_h[d, b], last_c[d, b] = h, c
    return last_h, y, last_c


def by_torch(kind, x, w, r, bias, recurrent_bias, h0, c0, lengths, direction, activation):
    """As PyTorch's modules: a reverse network is the second one of a bidirectional module."""
    both = direction != "forward"
    twice = (lambda v: np.concatenate([v, v])) if direction == "reverse" else (lambda v: v)
    options = {"nonlinearity": activation} if kind == "rnn" else {}
    module = MODULES[kind](x.shape[2], r.shape[2], bidirectional=both, dtype=torch.float64, **options)
    zero = np.zeros(w.shape[:2])
    for name, values in (("weight_ih", w), ("weight_hh", r), ("bias_ih", zero if bias is None else bias),
                         ("bias_hh", zero if recurrent_bias is None else recurrent_bias)):
        for d, suffix in enumerate(("", "_reverse") if both else ("",)):
            getattr(module, f"{name}_l0{suffix}").data = torch.tensor(twice(values)[d])
    states = np.zeros((w.shape[0], x.shape[1], r.shape[2]))
    states = [torch.tensor(twice(states if v is None else v)) for v in ((h0, c0) if kind == "lstm" else (h0,))]
    given = torch.tensor(x)
    if lengths is not None:
        given = torch.nn.utils.rnn.pack_padded_sequence(given, lengths, enforce_sorted=False)
    with torch.no_grad():
        y, last = module(given, tuple(states) if kind == "lstm" else states[0])
    if lengths is not None:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=x.shape[0])
    y = y.numpy().reshape(*x.shape[:2], -1, r.shape[2]).transpose(0, 2, 1, 3)
    last = [np.asarray(v) for v in (last if kind == "lstm" else (last, torch.zeros_like(last)))]
    only = slice(1, 2) if direction == "reverse" else slice(None)
    return last[0][only], y[:, only], last[1][only]


def network(kind, types=("f32", "f32", "f32"), size=(4, 3, 3, 4), given=(), lengths=None, options=None, **near):
    """`size`: steps, batch, inputs, hidden; `given`: the optional operands; `types`: of x, of the weights and states
    that are given, and of the results."""
    steps, batch, inputs, hidden = size
    options = dict(options or {})
    direction = options.get("direction", "forward")
    D, G = 2 if direction == "bidirectional" else 1, GATES[kind]
    x_type, w_type, y_type = types
    reals = lambda type, *shape: T(type, rng.normal(0, 0.8, shape))
    x = reals(x_type, steps, batch, inputs)
    w, r = reals(w_type, D, G * hidden, inputs), reals(w_type, D, G * hidden, hidden)
    shapes = {"bias": (D, G * hidden), "recurrent_bias": (D, G * hidden), "h": (D, batch, hidden),
              "c": (D, batch, hidden), "peephole": (D, 3 * hidden)}
    more = {name: reals(w_type, *shape) if name in given else None for name, shape in shapes.items()}
    of = lambda t: None if t is None else np.array(t.values, np.float64)
    n = None if lengths is None else T(near.pop("length_type", "i32"), lengths)
    state_type = y_type
    arguments = [of(x), of(w), of(r)] + [of(more[k]) for k in ("bias", "recurrent_bias", "h", "c")]
    h, y, c = by_numpy(kind, *arguments, of(more["peephole"]), lengths, options, state_type)
    usual = set(options) <= {"direction", "activation"} and options.get("activation", "tanh") in ("tanh", "relu")
    if usual and not more["peephole"] and y_type == "f64" and steps and batch and (lengths is None or min(lengths) > 0):
        values = by_torch(kind, *arguments, lengths, direction, options.get("activation", "tanh"))
        for ours, torchs in zip((h, y, c), values):
            assert np.allclose(ours, torchs, rtol=0, atol=1e-12), (kind, options, given)
        h, y, c = values
    operands = [x, w, r, more["bias"], more["recurrent_bias"], more["h"]]
    operands += [more["c"], more["peephole"]] if kind == "lstm" else []
    results = [T(y_type, h), T(y_type, y)] + ([T(y_type, c)] if kind == "lstm" else [])
    attributes = {k: int(v) if isinstance(v, bool) else v for k, v in options.items()}
    case(kind, operands + [n], results, attributes, **near)


F64 = ("f64", "f64", "f64")
EXACT = {"absolute": 1e-12}
BIASES = [(), ("bias",), ("recurrent_bias",), ("bias", "recurrent_bias")]
STATES = {"lstm": [(), ("h",), ("c",), ("h", "c")], "gru": [(), ("h",)], "rnn": [(), ("h",)]}
DIRECTIONS = ["forward", "reverse", "bidirectional"]

# PyTorch's options, each with every other; some of these in f32.
for kind in GATES:
    for count, (direction, bias, state, lengths) in enumerate(
            itertools.product(DIRECTIONS, BIASES, STATES[kind], [None, [4, 1, 2]])):
        network(kind, F64, (4, 3, 2, 3), bias + state, lengths, {"direction": direction}, **EXACT)
        if count % 5 == 0:
            network(kind, given=bias + state, lengths=lengths, options={"direction": direction}, absolute=4e-6)
network("rnn", F64, given=("bias",), options={"activation": "relu"}, **EXACT)
# Lengths of nothing, of more than there is, and of u32.
for kind, direction in itertools.product(GATES, DIRECTIONS):
    given = BIASES[3] + STATES[kind][-1]
    network(kind, F64, (4, 3, 2, 3), given, [0, 9, 3], {"direction": direction}, **EXACT)
    network(kind, F64, (4, 3, 2, 3), given, [4, 0, 1], {"direction": direction}, length_type="u32", **EXACT)
# What PyTorch lacks.
for direction, gates in itertools.product(DIRECTIONS, ["ifgo", "iofg"]):
    for peephole, coupled, clip in itertools.product([(), ("peephole",)], [False, True], [0, 0.7]):
        options = {"direction": direction, "gates": gates, "coupled": coupled, "clip": clip}
        network("lstm", F64, (3, 2, 2, 3), ("bias", "c") + peephole, [3, 2] if clip else None, options, **EXACT)
for direction, gates, after, clip in itertools.product(DIRECTIONS, ["rzn", "zrn"], [False, True], [0, 0.7]):
    for bias in (BIASES[0], BIASES[3]):
        options = {"direction": direction, "gates": gates, "reset_after": after, "clip": clip}
        network("gru", F64, (3, 2, 2, 3), bias + ("h",), [2, 3] if clip else None, options, **EXACT)
for activation in ACTIVATIONS:
    for clip in (0, 0.9):
        network("rnn", F64, (3, 2, 2, 3), ("bias",), None, {"activation": activation, "clip": clip}, **EXACT)
    names = ("gate_activation", "cell_activation", "output_activation")
    for name in names:
        network("lstm", F64, (3, 2, 2, 3), ("bias", "peephole"), None, {name: activation}, **EXACT)
    for name in ("gate_activation", "candidate_activation"):
        network("gru", F64, (3, 2, 2, 3), ("bias",), None, {name: activation, "reset_after": False}, **EXACT)
# Sizes: one, odd, none.
for kind in GATES:
    for size in [(1, 1, 1, 1), (1, 5, 7, 9), (7, 1, 3, 4), (2, 3, 0, 4), (0, 3, 4, 5), (3, 0, 4, 5), (3, 2, 4, 0),
                 (4, 25, 5, 9)]:
        network(kind, size=size, given=("bias", "h", "c"), options={"direction": "bidirectional"}, absolute=1e-5)
# Every type, and types that differ.
for kind in GATES:
    for a, b in itertools.product(cpu_kernel_cases.FLOATS, cpu_kernel_cases.FLOATS):
        for y in sorted({a, "f32"}):
            wide = "f64" in (a, b)
            # A state that is rounded otherwise once has other successors.
            steps = 2 if y in cpu_kernel_cases.EIGHT else 3
            near = {"absolute": 1e-12} if wide and y == "f64" else {"ulp": 1, "absolute": 1e-3 if y == "bf16" else 1e-5}
            full = ("bias", "recurrent_bias", "h", "c", "peephole")
            network(kind, (a, b, y), (steps, 2, 2, 3), full, [steps, 1], {"direction": "bidirectional"}, **near)

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
