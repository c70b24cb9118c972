#!/usr/bin/env python3
"""Times ONNX Runtime on the networks of examples/resnet, and Weft beside it in the same run.

  python3 bench/vision_peers.py --resnet build/release/examples/resnet [--provider cpu] [--rounds 5]

Builds ResNet-50 or MobileNet-v3-large as an ONNX graph (opset 21, batch norm as nodes, which the peer folds itself) with
random weights, and runs both programs alternately; a row has the median of the rounds' medians. --provider webgpu takes
ONNX Runtime's WebGPU provider (package onnxruntime-ep-webgpu) beside Weft on --device. --check FILE with --weights FILE
(tests/reference/vision_models.py) compares the peer's output with PyTorch's first, so that both networks are the same.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

from peers import Builder, read_safetensors, session
from vision import DEFAULT, print_row, weft


class Network:
    """Layers as ONNX nodes, whose weights go by torchvision's names."""

    def __init__(self, weights, epsilon):
        self.b, self.weights, self.epsilon, self.rng = Builder(), weights, epsilon, np.random.default_rng(7)

    def weight(self, name, shape):
        if self.weights:
            w = self.weights[name]
            assert w.shape == tuple(shape), (name, w.shape, shape)
        elif name.endswith("running_var"):
            w = self.rng.uniform(0.5, 1.5, shape)
        elif len(shape) == 1:
            w = self.rng.uniform(0.4, 0.8, shape) if name.endswith(".weight") else np.zeros(shape)
        else:
            w = self.rng.uniform(-1, 1, shape) * (6 / np.prod(shape[1:])) ** 0.5
        return self.b.constant(w.astype(np.float32), name)

    def conv(self, x, inputs, outputs, name, window=1, stride=1, groups=1, bias=False):
        w = [self.weight(name + ".weight", (outputs, inputs // groups, window, window))]
        w += [self.weight(name + ".bias", (outputs,))] if bias else []
        return self.b("Conv", x, *w, kernel_shape=[window] * 2, strides=[stride] * 2, pads=[(window - 1) // 2] * 4,
                      group=groups)

    def conv_norm(self, x, inputs, outputs, conv, norm, activation=None, **shape):
        y = self.conv(x, inputs, outputs, conv, **shape)
        parts = [self.weight(f"{norm}.{p}", (outputs,)) for p in ("weight", "bias", "running_mean", "running_var")]
        y = self.b("BatchNormalization", y, *parts, epsilon=self.epsilon)
        return self.b(activation, y) if activation else y

    def linear(self, x, inputs, outputs, name):
        return self.b("Gemm", x, self.weight(name + ".weight", (outputs, inputs)), self.weight(name + ".bias", (outputs,)),
                      transB=1)

    def pooled(self, x):
        return self.b("Flatten", self.b("GlobalAveragePool", x))


def resnet50(n):
    x = n.conv_norm("images", 3, 64, "conv1", "bn1", "Relu", window=7, stride=2)
    x = n.b("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        channels = 64 << stage
        for block in range(blocks):
            name, stride = f"layer{stage + 1}.{block}", 2 if stage > 0 and block == 0 else 1
            y = n.conv_norm(x, inputs, channels, name + ".conv1", name + ".bn1", "Relu")
            y = n.conv_norm(y, channels, channels, name + ".conv2", name + ".bn2", "Relu", window=3, stride=stride)
            y = n.conv_norm(y, channels, 4 * channels, name + ".conv3", name + ".bn3")
            if stride != 1 or inputs != 4 * channels:
                x = n.conv_norm(x, inputs, 4 * channels, name + ".downsample.0", name + ".downsample.1", stride=stride)
            x, inputs = n.b("Relu", n.b("Add", y, x)), 4 * channels
    return n.linear(n.pooled(x), inputs, 1000, "fc")


def divisible_by_8(channels):
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


BLOCKS = [(3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
          (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
          (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1),
          (5, 960, 160, 1, 1, 1)]


def mobilenet_v3_large(n):
    x, inputs = n.conv_norm("images", 3, 16, "features.0.0", "features.0.1", "HardSwish", window=3, stride=2), 16
    for i, (window, expanded, outputs, squeeze, hardswish, stride) in enumerate(BLOCKS):
        part, activation, y = 0, "HardSwish" if hardswish else "Relu", x

        def layer(y, a, b, activation=None, **shape):
            nonlocal part
            name = f"features.{i + 1}.block.{part}"  # noqa: B023
            part += 1
            return n.conv_norm(y, a, b, name + ".0", name + ".1", activation, **shape)

        if expanded != inputs:
            y = layer(y, inputs, expanded, activation)
        y = layer(y, expanded, expanded, activation, window=window, stride=stride, groups=expanded)
        if squeeze:
            name, small = f"features.{i + 1}.block.{part}", divisible_by_8(expanded / 4)
            part += 1
            factor = n.b("Relu", n.conv(n.b("GlobalAveragePool", y), expanded, small, name + ".fc1", bias=True))
            factor = n.b("HardSigmoid", n.conv(factor, small, expanded, name + ".fc2", bias=True), alpha=1 / 6, beta=0.5)
            y = n.b("Mul", y, factor)
        y = layer(y, expanded, outputs)
        x = n.b("Add", x, y) if stride == 1 and inputs == outputs else y
        inputs = outputs
    x = n.conv_norm(x, inputs, 960, "features.16.0", "features.16.1", "HardSwish")
    return n.linear(n.b("HardSwish", n.linear(n.pooled(x), 960, 1280, "classifier.0")), 1280, 1000, "classifier.3")


NETWORKS = {"resnet50": (resnet50, 1e-5), "mobilenet_v3_large": (mobilenet_v3_large, 1e-3)}


def model_of(network, weights):
    build, epsilon = NETWORKS[network]
    n = Network(weights, epsilon)
    scores = build(n)
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 3, 224, 224])
    output = helper.make_tensor_value_info(scores, TensorProto.FLOAT, ["batch", 1000])
    graph = helper.make_graph(n.b.nodes, network, [images], [output], n.b.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def median_ms(call, repeat):
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=NETWORKS, default="resnet50")
    parser.add_argument("--provider", choices=["cpu", "webgpu"], default="cpu")
    parser.add_argument("--device", help="Weft's device; default cpu, beside the WebGPU provider llvmpipe")
    parser.add_argument("--resnet", type=pathlib.Path, default=DEFAULT, help="the program")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=10, help="runs of each in a round")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads of the peer; 0: as many as there are cores")
    parser.add_argument("--weights", type=pathlib.Path, help="safetensors file with torchvision's names; none: random")
    parser.add_argument("--check", type=pathlib.Path, help="safetensors file with an input and the expected output")
    parser.add_argument("--json", action="store_true", help="a JSON line for each row")
    args = parser.parse_args()
    if args.check and not args.weights:
        parser.error("--check needs --weights")
    device = args.device or ("cpu" if args.provider == "cpu" else "llvmpipe")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "network.onnx"
        onnx.save(model_of(args.network, read_safetensors(args.weights) if args.weights else None), path)
        peer = session(str(path), args.provider, args.threads)
    if args.check:
        expected = read_safetensors(args.check)
        difference = np.abs(peer.run(None, {"images": expected["input"]})[0] - expected["output"]).max()
        relative = difference / np.abs(expected["output"]).max()
        if not relative <= 1e-4:
            sys.exit(f"vision_peers.py: the peer's output differs from PyTorch's by {relative:.2g} of the largest value")
    feed = {"images": np.random.default_rng(7).standard_normal((args.batch, 3, 224, 224)).astype(np.float32)}
    theirs, ours = [], []
    for _ in range(args.rounds):
        theirs.append(median_ms(lambda: peer.run(None, feed), args.repeat))
        ms, name = weft(args.resnet, device, args.network, "f32", args.batch, args.repeat)
        ours.append(ms)
    row = {"network": args.network, "precision": "f32", "batch": args.batch}
    print_row({"by": f"ONNX Runtime, {args.provider}", **row, "ms": statistics.median(theirs)}, args.json)
    print_row({"by": f"Weft, {name}", **row, "ms": statistics.median(ours)}, args.json)


if __name__ == "__main__":
    main()
