#!/usr/bin/env python3
"""Times ONNX Runtime on a sentence encoder: the peer with which ./dev bench compares Weft in the same run.

Builds the encoder as an ONNX graph (opset 21, with LayerNormalization and Gelu as single nodes, so that the peer has
its own fused kernels) directly from the model's safetensors, and prints a JSON line for each shape:
  {"provider": "cpu", "batch": 32, "length": 128, "ms": 330.1, "runs": 5}
"ms" is the median of a call: ids in, embeddings out.
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
import onnxruntime as ort

KINDS = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = np.frombuffer(data, KINDS[entry["dtype"]], offset=8 + size + begin, count=-1 if begin == end else
                            (end - begin) // np.dtype(KINDS[entry["dtype"]]).itemsize)
        tensors[name] = raw.reshape(entry["shape"])
    return tensors


class Builder:
    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, array, name=None):
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def __call__(self, op, *inputs, **attributes):
        self.count += 1
        out = f"v{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out


def build(model_dir):
    config = json.loads((model_dir / "config.json").read_text())
    w = read_safetensors(model_dir / "model.safetensors")
    w = {k.removeprefix("bert."): v for k, v in w.items()}
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    dim, eps = hidden // heads, config["layer_norm_eps"]
    b = Builder()

    def linear(x, name):
        return b("Add", b("MatMul", x, b.constant(w[name + ".weight"].T)), b.constant(w[name + ".bias"]))

    def norm(x, name):
        return b("LayerNormalization", x, b.constant(w[name + ".weight"]), b.constant(w[name + ".bias"]),
                 axis=-1, epsilon=eps)

    length = b("Gather", b("Shape", "ids"), b.constant(np.array([1], np.int64)), axis=0)
    zero, one = b.constant(np.array([0], np.int64)), b.constant(np.array([1], np.int64))
    e = "embeddings."
    positions = b("Slice", b.constant(w[e + "position_embeddings.weight"]), zero, length, zero)
    x = b("Gather", b.constant(w[e + "word_embeddings.weight"]), "ids", axis=0)
    x = b("Add", x, b.constant(w[e + "token_type_embeddings.weight"][0]))
    x = norm(b("Add", x, positions), e + "LayerNorm")
    mask = b("Cast", "mask", to=TensorProto.FLOAT)
    bias = b("Mul", b("Sub", b.constant(np.float32(1)), mask), b.constant(np.float32(-1e9)))
    bias = b("Unsqueeze", bias, b.constant(np.array([1, 2], np.int64)))
    split = b.constant(np.array([0, 0, heads, dim], np.int64))
    merge = b.constant(np.array([0, 0, hidden], np.int64))
    scale = b.constant(np.float32(dim**-0.5))
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."
        q, k, v = (b("Reshape", linear(x, layer + f"attention.self.{n}"), split) for n in ("query", "key", "value"))
        q, v = (b("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
        k = b("Transpose", k, perm=[0, 2, 3, 1])
        scores = b("Add", b("Mul", b("MatMul", q, k), scale), bias)
        context = b("MatMul", b("Softmax", scores, axis=-1), v)
        context = b("Reshape", b("Transpose", context, perm=[0, 2, 1, 3]), merge)
        x = norm(b("Add", linear(context, layer + "attention.output.dense"), x), layer + "attention.output.LayerNorm")
        inner = b("Gelu", linear(x, layer + "intermediate.dense"))
        x = norm(b("Add", linear(inner, layer + "output.dense"), x), layer + "output.LayerNorm")
    m = b("Unsqueeze", mask, b.constant(np.array([2], np.int64)))
    y = b("Div", b("ReduceSum", b("Mul", x, m), one, keepdims=0),
          b("Max", b("ReduceSum", mask, one, keepdims=1), b.constant(np.float32(1e-9))))
    norm2 = b("ReduceL2", y, one, keepdims=1)
    b.nodes.append(helper.make_node("Div", [y, norm2], ["embeddings"]))
    ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in ("ids", "mask")]
    out = [helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, ["batch", hidden])]
    graph = helper.make_graph(b.nodes, "encoder", ids, out, b.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def session(model, provider, threads):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if threads:
        options.intra_op_num_threads = threads
    if provider == "webgpu":
        # Without a hardware GPU the provider is available only if a software adapter is allowed explicitly.
        os.environ.setdefault("ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER", "1")
        import onnxruntime_ep_webgpu as ep

        ort.register_execution_provider_library("webgpu", ep.get_library_path())
        devices = [d for d in ort.get_ep_devices() if d.ep_name == ep.get_ep_name()]
        if not devices:
            sys.exit("peers.py: ONNX Runtime's WebGPU provider finds no device")
        options.add_provider_for_devices(devices[:1], {})
        return ort.InferenceSession(model, options)
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def measure(args):
    """Prints a JSON line for each shape on one provider."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "encoder.onnx"
        onnx.save(build(args.model), path)
        start = time.perf_counter()
        run = session(str(path), args.provider, args.threads)
        load_ms = (time.perf_counter() - start) * 1e3
        rng = np.random.default_rng(7)
        for shape in args.shapes.split(","):
            batch, length = (int(n) for n in shape.split("x"))
            feed = {"ids": rng.integers(1000, 30000, (batch, length)), "mask": np.ones((batch, length), np.int64)}
            run.run(None, feed)
            times = []
            begin = time.perf_counter()
            while len(times) < 3 or (time.perf_counter() - begin < args.seconds and len(times) < 200):
                start = time.perf_counter()
                run.run(None, feed)
                times.append((time.perf_counter() - start) * 1e3)
            print(json.dumps({"provider": args.provider, "version": ort.__version__, "batch": batch, "length": length,
                              "ms": round(statistics.median(times), 3), "runs": len(times),
                              "load_ms": round(load_ms, 1)}), flush=True)


def lines_of(command):
    """Runs a command and yields its JSON lines; other output is shown if it fails."""
    process = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if process.returncode:
        sys.stderr.write(process.stderr)
        sys.exit(f"peers.py: failed with {process.returncode}: {' '.join(str(c) for c in command)}")
    return [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]


def compare(args):
    """Weft and ONNX Runtime on the same device, one after the other, shape by shape; the better of two rounds each."""
    pairs = [("cpu", "cpu"), ("webgpu", args.device)]
    print(f"{'batch x length':>16} {'ONNX Runtime':>22} {'ms':>10} {'Weft':>28} {'ms':>10} {'ahead':>8}")
    for provider, device in pairs:
        for shape in args.shapes.split(","):
            peer, ours = [], []
            for _ in range(2):
                common = ["--model", args.model, "--shapes", shape]
                peer += lines_of([sys.executable, __file__, "--provider", provider, "--seconds", args.seconds, *common])
                ours += lines_of([args.weft_bench, "encoder", "--json", "--device", device, "--seconds", args.seconds, *common])
            a, b = (min(lines, key=lambda line: line["ms"]) for lines in (peer, ours))
            print(f"{shape:>16} {provider:>22} {a['ms']:>10.2f} {b['device'][:28]:>28} {b['ms']:>10.2f} "
                  f"{a['ms'] / b['ms']:>7.2f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=os.environ.get("WEFT_MODEL_DIR"),
                        help="directory in Hugging Face's layout [WEFT_MODEL_DIR]")
    parser.add_argument("--shapes", default="1x16,1x128,32x16,32x128", help="batch x length, separated by commas")
    parser.add_argument("--seconds", type=float, default=2, help="measured time a shape")
    parser.add_argument("--provider", choices=["cpu", "webgpu"], help="measure only this provider; prints JSON lines")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads of the peer; 0: as many as there are cores")
    parser.add_argument("--weft-bench", type=pathlib.Path, help="weft_bench, to compare with (./dev bench gives it)")
    parser.add_argument("--device", default="llvmpipe", help="Weft's device beside the peer's WebGPU provider")
    args = parser.parse_args()
    if args.model is None:
        parser.error("--model DIR is missing (or WEFT_MODEL_DIR)")
    args.model = pathlib.Path(args.model)
    if args.provider:
        measure(args)
    elif args.weft_bench:
        compare(args)
    else:
        parser.error("--provider or --weft-bench is needed")


if __name__ == "__main__":
    main()
