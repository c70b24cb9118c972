#!/usr/bin/env python3
"""Times examples/resnet, whole networks of convolutions with random weights, and prints a row for each.

  python3 bench/vision.py --resnet build/release/examples/resnet [--device gpu] [--repeat 30] [--json]

bench/torch_vision.py prints the same rows of PyTorch, bench/vision_peers.py those of ONNX Runtime beside Weft's. "ms" is
the median of a run.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

DEFAULT = pathlib.Path(__file__).resolve().parents[1] / "build" / "release" / "examples" / "resnet"


def weft(resnet, device, network, precision, batch, repeat):
    """The program's milliseconds a run, and the name of its device."""
    command = [str(resnet), "--random", "--network", network, "--precision", precision, "--batch", str(batch), "--repeat",
               str(repeat), *(["--device", device] if device else [])]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"batch \d+: (\S+) ms", process.stdout)
    if process.returncode or not found:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: failed: {' '.join(command)}\n{process.stderr or process.stdout}")
    return float(found[1]), re.search(r" on (.*): \d+ steps", process.stdout)[1]


def print_row(row, as_json):
    row["images_per_second"] = round(row["batch"] / row["ms"] * 1e3, 1)
    name = f"{row['network']} {row['precision']} batch {row['batch']}"
    if as_json:
        print(json.dumps({"name": name, **row}), flush=True)
    else:
        print(f"{name:36} {row['by']:34} {row['ms']:10.3f} ms {row['images_per_second']:10.1f} images/s", flush=True)


def add_options(parser):
    parser.add_argument("--networks", default="resnet50,mobilenet_v3_large", help="separated by commas")
    parser.add_argument("--precisions", default="f32,f16", help="separated by commas")
    parser.add_argument("--batches", default="1,32", help="images in a run, separated by commas")
    parser.add_argument("--repeat", type=int, default=30, help="samples of each")
    parser.add_argument("--json", action="store_true", help="a JSON line for each row")


def cases(args):
    for network in args.networks.split(","):
        for precision in args.precisions.split(","):
            for batch in args.batches.split(","):
                yield network, precision, int(batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--resnet", type=pathlib.Path, default=DEFAULT, help="the program")
    parser.add_argument("--device", default="", help="its device")
    args = parser.parse_args()
    for network, precision, batch in cases(args):
        ms, device = weft(args.resnet, args.device, network, precision, batch, args.repeat)
        print_row({"by": f"Weft, {device}", "network": network, "precision": precision, "batch": batch, "ms": ms}, args.json)


if __name__ == "__main__":
    main()
