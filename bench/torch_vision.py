#!/usr/bin/env python3
"""Times PyTorch on the networks of bench/vision.py, on an NVIDIA GPU, and prints the same rows.

  python3 bench/torch_vision.py [--repeat 30] [--json]

TF32 is off for products and convolutions: f32 is f32. Each network is timed with channels in front and last, and plain
and as a CUDA graph. "ms" is the median of samples of ten runs in a row between CUDA events, after a warm-up.
"""
import argparse
import pathlib
import statistics
import sys

import torch

from vision import add_options, cases, print_row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "reference"))
from vision_models import NETWORKS, randomize  # noqa: E402

RUNS = 10


def median_ms(call, repeat):
    samples = []
    for i in range(repeat + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(RUNS):
            call()
        end.record()
        end.synchronize()
        if i >= 3:
            samples.append(begin.elapsed_time(end) / RUNS)
    return statistics.median(samples)


def captured(model, images):
    """The model as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(images)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(images)
    return graph.replay


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_vision.py: PyTorch finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True  # the fastest of cuDNN's algorithms for each shape
    for network, precision, batch in cases(args):
        torch.manual_seed(7)
        model = NETWORKS[network][0]().eval()
        randomize(model, torch.randn(2, 3, 224, 224))
        dtype = torch.float16 if precision == "f16" else torch.float32
        for layout in (torch.contiguous_format, torch.channels_last):
            on_gpu = model.to("cuda", dtype, memory_format=layout)
            images = torch.randn(batch, 3, 224, 224, device="cuda").to(dtype, memory_format=layout)
            for graph in (False, True):
                call = captured(on_gpu, images) if graph else lambda: on_gpu(images)  # noqa: B023
                name = "channels last" if layout == torch.channels_last else "channels first"
                print_row({"by": f"PyTorch {torch.__version__.split('+')[0]}, {name}{', graph' if graph else ''}",
                           "device": torch.cuda.get_device_name(), "network": network, "precision": precision,
                           "batch": batch, "ms": median_ms(call, args.repeat)}, args.json)


if __name__ == "__main__":
    main()
