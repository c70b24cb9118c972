#!/usr/bin/env python3
"""Transformers of pictures and texts, exported from PyTorch to ONNX with random weights, on Weft beside PyTorch itself.

  python3 bench/torch_onnx.py --weft build/release/apps/weft [--device gpu] [--repeat 50] [--json]

ViT-S/16 (224 x 224 pixels, 12 layers, width 384, 6 heads) and MiniLM-L6 (6 layers, width 384, 12 heads), in f32 and f16,
at several batches. PyTorch runs on an NVIDIA GPU, plain and as a CUDA graph, with TF32 off: f32 is f32. "ms" is the median
of runs of which each is waited for; inputs are on the device. "apart" is the largest difference of the outputs, relative
to the largest one. Needs torch, timm, transformers, onnx and onnxscript.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch

from torch_vision import captured


def vit():
    import timm  # noqa: PLC0415

    return timm.create_model("vit_small_patch16_224", pretrained=False)


def minilm():
    import transformers  # noqa: PLC0415

    config = transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    encoder = transformers.BertModel(config, add_pooling_layer=False)

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = encoder

        def forward(self, ids):
            return self.encoder(input_ids=ids).last_hidden_state

    return Encoder()


NETWORKS = {
    "vit_s": (vit, [1, 8, 32], lambda batch: torch.randn(batch, 3, 224, 224)),
    "minilm": (minilm, [1, 8, 32], lambda batch: torch.randint(0, 30000, (batch, 128))),
}


def median_ms(call, repeat):
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    samples = []
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(samples)


def on_weft(options, path, x, folder):
    numpy.save(folder / "x.npy", x)
    command = [*options.weft.split(), "run", "--device", options.device, str(path), "-i", str(folder / "x.npy"), "--top", "0",
               "-o", str(folder / "y.npy"), "--repeat", str(options.repeat)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"median ([0-9.]+)", run.stderr)
    if run.returncode or not found:
        return (run.stderr or run.stdout).strip()[-300:], None
    return float(found[1]), numpy.load(folder / "y.npy")


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="build/release/apps/weft", help="the program, with what runs it in front")
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--repeat", type=int, default=50)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_onnx.py: PyTorch finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    for name in options.networks.split(","):
        make, batches, inputs = NETWORKS[name]
        for half in (False, True):
            model = make().eval().cuda()
            if half:
                model = model.half()
            for batch in batches:
                x = inputs(batch).cuda()
                if half and x.is_floating_point():
                    x = x.half()
                row = {"name": f"{name} {'f16' if half else 'f32'} batch {batch}"}
                with tempfile.TemporaryDirectory() as folder:
                    folder = pathlib.Path(folder)
                    path = folder / "model.onnx"
                    torch.onnx.export(model, (x,), str(path), dynamo=True, opset_version=18, verbose=False)
                    row["torch_ms"] = median_ms(lambda: model(x), options.repeat)
                    row["cuda_graph_ms"] = median_ms(captured(model, x), options.repeat)
                    expected = model(x).float().cpu().numpy()
                    row["weft_ms"], y = on_weft(options, path, x.cpu().numpy(), folder)
                if y is not None:
                    row["apart"] = float(numpy.abs(y.astype("f4") - expected).max() / numpy.abs(expected).max())
                    row["of_torch"] = row["torch_ms"] / row["weft_ms"]
                    row["of_cuda_graph"] = row["cuda_graph_ms"] / row["weft_ms"]
                if options.json:
                    print(json.dumps(row), flush=True)
                elif y is None:
                    print(f"{row['name']:24} weft failed: {row['weft_ms']}", flush=True)
                else:
                    print(f"{row['name']:24} weft {row['weft_ms']:8.3f} ms  torch {row['torch_ms']:8.3f}  CUDA graph "
                          f"{row['cuda_graph_ms']:8.3f}  apart {row['apart']:.1e}", flush=True)


if __name__ == "__main__":
    main()
