#!/usr/bin/env python3
"""Models of ONNX on Weft beside ONNX Runtime's CPU provider: outputs compared, and the time of a run.

  bench/onnx_peers.py [OPTIONS] CASE...

A case is a model's path, and behind `?` what its inputs are like, separated by `&`:

  encoder.onnx?input_ids=3x40:0..30000&attention_mask=3x40:1
  detector.onnx?images=1x3x416x416:normal:100:50

NAME=SIZES gives the sizes; behind `:` are A..B (whole numbers from A to B - 1), one number that every element has, or
normal:MEAN:DEVIATION. Inputs that are not named have size 1 where the model leaves it open, floats of the normal
distribution and whole numbers 0 and 1. The same inputs go to both. Needs numpy and onnxruntime; weft is run as a program.
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
import onnxruntime

TYPES = {
    "float": numpy.float32, "float16": numpy.float16, "double": numpy.float64, "bool": numpy.bool_,
    **{f"{sign}int{bits}": numpy.dtype(f"{sign}int{bits}").type for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def made(port, spec, random):
    """An input as the spec says it."""
    dtype = numpy.dtype(TYPES[port.type.removeprefix("tensor(").removesuffix(")")])
    sizes, *rest = spec.split(":") if spec else (None,)
    if sizes is None:
        shape = [size if isinstance(size, int) else 1 for size in port.shape]
    else:
        shape = [int(size) for size in sizes.split("x")] if sizes else []
    kind = rest[0] if rest else ""
    if ".." in kind:
        low, end = (int(bound) for bound in kind.split(".."))
        return random.integers(low, end, shape).astype(dtype)
    if kind and kind != "normal":
        return numpy.full(shape, float(kind), dtype)
    if dtype.kind == "f":
        mean, deviation = (float(rest[1]), float(rest[2])) if kind else (0, 1)
        return (random.standard_normal(shape) * deviation + mean).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


def time_runs(session, feed, seconds):
    """The median of at least three runs, in milliseconds."""
    times, begin = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        session.run(None, feed)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def file_name(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def on_weft(options, path, feed, outputs):
    """The outputs and the median time in milliseconds; an error's text instead."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [*options.weft.split(), "run", "--device", options.device, path, "--top", "0", "-o", str(folder / "out")]
        command += ["--repeat", str(options.repeat)]
        for i, (name, value) in enumerate(feed.items()):
            numpy.save(folder / f"{i}.npy", value)
            command += ["-i", f"{name}={folder / f'{i}.npy'}"]
        run = subprocess.run(command, capture_output=True, text=True)
        median = re.search(r"median ([0-9.]+) ms", run.stderr)
        if run.returncode or not median:
            return (run.stderr or run.stdout).strip()[-300:]
        return [numpy.load(folder / "out" / f"{file_name(name)}.npy") for name in outputs], float(median[1])


def difference(given, expected):
    """The largest difference, relative to the largest value."""
    if given.shape != expected.shape or given.dtype != expected.dtype:
        return f"{given.dtype} {list(given.shape)} for {expected.dtype} {list(expected.shape)}"
    if not expected.size:
        return 0.0
    wide = expected.astype(numpy.float64)
    apart = numpy.abs(given.astype(numpy.float64) - wide)
    apart[(numpy.isnan(wide) & numpy.isnan(given)) | (wide == given)] = 0
    return float(apart.max() / max(1e-6, numpy.abs(wide[numpy.isfinite(wide)]).max(initial=0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="CASE")
    parser.add_argument("--weft", default="build/release/apps/weft", help="the program, with what runs it in front")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="of ONNX Runtime; 0: one a core")
    parser.add_argument("--repeat", type=int, default=12, help="runs of weft")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long ONNX Runtime runs at least")
    parser.add_argument("--exact", action="store_true", help="ONNX Runtime without changes to the model")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    rows = []
    for case in options.cases:
        path, _, query = case.partition("?")
        specs = dict(part.split("=", 1) for part in query.split("&") if part)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        settings.log_severity_level = 3
        if options.exact:
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        random = numpy.random.default_rng(0)
        unknown = set(specs) - {port.name for port in session.get_inputs()}
        if unknown:
            sys.exit(f"onnx_peers: {path} has no input {', '.join(sorted(unknown))}")
        feed = {port.name: made(port, specs.get(port.name), random) for port in session.get_inputs()}
        names = [port.name for port in session.get_outputs()]
        expected = session.run(None, feed)
        peer = time_runs(session, feed, options.seconds)
        row = {"model": pathlib.Path(path).name, "inputs": {k: list(v.shape) for k, v in feed.items()}, "ort_ms": peer}
        made_by_weft = on_weft(options, path, feed, names)
        if isinstance(made_by_weft, str):
            row["error"] = made_by_weft
        else:
            outputs, row["weft_ms"] = made_by_weft
            differences = [difference(y, e) for y, e in zip(outputs, expected)]
            texts = [d for d in differences if isinstance(d, str)]
            row["difference"] = texts[0] if texts else max(differences)
            row["ratio"] = row["weft_ms"] / peer
        rows.append(row)
        sizes = " ".join("x".join(map(str, v.shape)) or "[]" for v in feed.values())
        if "error" in row:
            print(f"{row['model']:36} {sizes:24} {row['error']}", flush=True)
        else:
            apart = row["difference"] if isinstance(row["difference"], str) else f"{row['difference']:.1e}"
            print(f"{row['model']:36} {sizes:24} weft {row['weft_ms']:9.2f} ms   ORT {peer:9.2f} ms   "
                  f"ratio {row['ratio']:5.2f}   apart {apart}", flush=True)
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        print(f"median ratio {statistics.median(ratios):.2f} of {len(ratios)}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
