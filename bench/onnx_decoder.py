#!/usr/bin/env python3
"""A small decoder with a cache of keys and values on Weft beside ONNX Runtime: a prompt, then words one after the other.

  bench/onnx_decoder.py [--weft PROGRAM] [--device NAME] [--steps N] [--keep FILE.onnx]

The model is made here: embeddings, layers of RMS norm, GroupQueryAttention with rotary embeddings, MatMulNBits or MatMul, and
SwiGLU, as exported decoders have them (com.microsoft), with random weights. Each program goes on from its own caches; what is
compared are the logits of each step and the caches after it, and the words that are largest. Needs numpy, onnx and
onnxruntime.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LAYERS, HIDDEN, HEADS, KV_HEADS, DIM, INNER, WORDS, LONGEST = 3, 128, 8, 2, 16, 256, 200, 64


def make_decoder(random):
    nodes, weights = [], []

    def weight(name, *shape, scale=None):
        value = random.standard_normal(shape) * (scale or shape[0] ** -0.5)
        weights.append(numpy_helper.from_array(value.astype(numpy.float32), name))
        return name

    def node(op, inputs, outputs, domain="", **attributes):
        nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def quantized(x, name, rows, columns):
        """x times a matrix of 4-bit numbers in blocks of 32."""
        weights.append(numpy_helper.from_array(random.integers(0, 256, (rows, columns // 32, 16)).astype(numpy.uint8), f"{name}.q"))
        scales = (random.random((rows * columns // 32)) + 0.5) * 0.2 * columns ** -0.5
        weights.append(numpy_helper.from_array(scales.astype(numpy.float32), f"{name}.scale"))
        return node("MatMulNBits", [x, f"{name}.q", f"{name}.scale"], [name], "com.microsoft", K=columns, N=rows, bits=4,
                    block_size=32)

    angles = numpy.arange(LONGEST)[:, None] / 10000 ** (numpy.arange(DIM // 2) / (DIM // 2))
    weights.append(numpy_helper.from_array(numpy.cos(angles).astype(numpy.float32), "cos"))
    weights.append(numpy_helper.from_array(numpy.sin(angles).astype(numpy.float32), "sin"))
    # How many words each sequence has, less one, and how many there are at most.
    weights.append(numpy_helper.from_array(numpy.array([1], numpy.int64), "one"))
    node("ReduceSum", ["attention_mask", "one"], ["counts"], keepdims=0)
    node("Sub", ["counts", "one"], ["last"])
    node("Cast", ["last"], ["seqlens_k"], to=TensorProto.INT32)
    node("Shape", ["attention_mask"], ["mask_shape"])
    node("Gather", ["mask_shape", "one"], ["total_of_one"], axis=0)
    node("Cast", ["total_of_one"], ["total_as_i32"], to=TensorProto.INT32)
    node("Squeeze", ["total_as_i32"], ["total"])
    x = node("Gather", [weight("embedding", WORDS, HIDDEN, scale=1), "input_ids"], ["embedded"])
    y = None
    for i in range(LAYERS):
        scale = weight(f"{i}.norm1", HIDDEN, scale=1)
        if y is None:
            normed = node("SimplifiedLayerNormalization", [x, scale], [f"{i}.n1"], epsilon=1e-6, axis=-1)
        else:
            normed, x = f"{i}.n1", f"{i}.x1"
            node("SkipSimplifiedLayerNormalization", [before, y, scale], [normed, "", "", x], "com.microsoft", epsilon=1e-6)
        qkv = node("MatMul", [normed, weight(f"{i}.qkv", HIDDEN, (HEADS + 2 * KV_HEADS) * DIM)], [f"{i}.p"])
        node("GroupQueryAttention", [qkv, "", "", f"past.{i}.key", f"past.{i}.value", "seqlens_k", "total", "cos", "sin"],
             [f"{i}.a", f"present.{i}.key", f"present.{i}.value"], "com.microsoft", num_heads=HEADS, kv_num_heads=KV_HEADS,
             do_rotary=1)
        attended = quantized(f"{i}.a", f"{i}.o", HIDDEN, HEADS * DIM)
        node("SkipSimplifiedLayerNormalization", [x, attended, weight(f"{i}.norm2", HIDDEN, scale=1)],
             [f"{i}.n2", "", "", f"{i}.x2"], "com.microsoft", epsilon=1e-6)
        gate, up = quantized(f"{i}.n2", f"{i}.gate", INNER, HIDDEN), quantized(f"{i}.n2", f"{i}.up", INNER, HIDDEN)
        node("Sigmoid", [gate], [f"{i}.s"])
        node("Mul", [gate, f"{i}.s"], [f"{i}.silu"])
        node("Mul", [f"{i}.silu", up], [f"{i}.m"])
        before, y = f"{i}.x2", quantized(f"{i}.m", f"{i}.down", HIDDEN, INNER)
    node("SkipSimplifiedLayerNormalization", [before, y, weight("norm", HIDDEN, scale=1)], ["n"], "com.microsoft", epsilon=1e-6)
    node("MatMul", ["n", weight("head", HIDDEN, WORDS)], ["logits"])

    def port(name, kind, *shape):
        return helper.make_tensor_value_info(name, kind, shape)

    caches = [f"{i}.{part}" for i in range(LAYERS) for part in ("key", "value")]
    inputs = [port("input_ids", TensorProto.INT64, "batch", "sequence"), port("attention_mask", TensorProto.INT64, "batch", "total")]
    inputs += [port(f"past.{c}", TensorProto.FLOAT, "batch", KV_HEADS, "past", DIM) for c in caches]
    outputs = [port("logits", TensorProto.FLOAT, "batch", "sequence", WORDS)]
    outputs += [port(f"present.{c}", TensorProto.FLOAT, "batch", KV_HEADS, "total", DIM) for c in caches]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), caches


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="build/release/apps/weft", help="the program, with what runs it in front")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--keep", help="where to leave the model")
    options = parser.parse_args()
    model, caches = make_decoder(numpy.random.default_rng(0))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = options.keep or str(folder / "decoder.onnx")
        onnx.save(model, path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        outputs = [port.name for port in session.get_outputs()]

        def by_weft(feed):
            command = [*options.weft.split(), "run", "--device", options.device, path, "--top", "0", "-o", str(folder / "out")]
            for i, (key, value) in enumerate(feed.items()):
                numpy.save(folder / f"{i}.npy", value)
                command += ["-i", f"{key}={folder / f'{i}.npy'}"]
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode:
                sys.exit(run.stderr.strip()[-500:])
            return [numpy.load(folder / "out" / f"{name}.npy") for name in outputs]

        for batch, prompt in ((1, 7), (2, 5)):
            random = numpy.random.default_rng(batch)
            ids = random.integers(0, WORDS, (batch, prompt))
            pasts = {who: [numpy.zeros((batch, KV_HEADS, 0, DIM), numpy.float32)] * len(caches) for who in ("ort", "weft")}
            for step in range(options.steps):
                total = pasts["ort"][0].shape[2] + ids.shape[1]
                made = {}
                for who, run in (("ort", lambda feed: session.run(None, feed)), ("weft", by_weft)):
                    feed = {"input_ids": ids, "attention_mask": numpy.ones((batch, total), numpy.int64)}
                    feed |= {f"past.{c}": value for c, value in zip(caches, pasts[who])}
                    made[who] = run(feed)
                    pasts[who] = made[who][1:]
                scale = [numpy.abs(e).max() for e in made["ort"]]
                apart = max(float(numpy.abs(y - e).max() / s) for y, e, s in zip(made["weft"], made["ort"], scale))
                words = {who: values[0][:, -1].argmax(-1) for who, values in made.items()}
                same = bool((words["ort"] == words["weft"]).all())
                failed += not same or apart > 1e-4
                print(f"batch {batch}, {ids.shape[1]} new of {total} words: apart {apart:.1e}, "
                      f"{'the same words' if same else 'other words'}", flush=True)
                ids = words["ort"][:, None]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
