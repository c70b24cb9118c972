#!/usr/bin/env python3
"""Models of ONNX on Weft beside ONNX Runtime's CPU provider: outputs compared, and the time of a run.

  bench/onnx_peers.py [OPTIONS] CASE...

A case is a model's path, and behind `?` what its inputs are like, separated by `&`:

  encoder.onnx?input_ids=3x40:0..30000&attention_mask=3x40:1
  detector.onnx?images=1x3x416x416:normal:100:50

NAME=SIZES gives the sizes; behind `:` are A..B (whole numbers from A to B - 1), one number that every element has, or
normal:MEAN:DEVIATION. Inputs that are not named have size 1 where the model leaves it open, floats of the normal
distribution and whole numbers 0 and 1. The same inputs go to both. Beside the medians stand the processors' times, which a
busy machine changes less: user and system time of a run, of all threads.

--nodes instead runs each node of the models on what ONNX Runtime, without changes to the model, has for its operands, and
tells which results differ. So also models can be compared whose results change as a whole when one rounding does.

Needs numpy and onnxruntime, --nodes onnx too; weft is run as a program.
"""
import argparse
import json
import pathlib
import re
import resource
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


def cpu_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def time_runs(session, feed, seconds):
    """The median of at least three runs, and the processors' time of one, in milliseconds."""
    times, begin, used = [], time.perf_counter(), cpu_seconds(resource.RUSAGE_SELF)
    while len(times) < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        session.run(None, feed)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times), (cpu_seconds(resource.RUSAGE_SELF) - used) / len(times) * 1e3


def file_name(name):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def on_weft(options, path, feed, outputs, runs):
    """The outputs, the median time and the processors' time of a run in milliseconds; an error's text instead."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [*options.weft.split(), "run", "--device", options.device, path, "--top", "0", "-o", str(folder / "out")]
        for i, (name, value) in enumerate(feed.items()):
            numpy.save(folder / f"{i}.npy", value)
            command += ["-i", f"{name}={folder / f'{i}.npy'}"]
        used = []
        for repeat in (2, 2 + runs):
            before = cpu_seconds(resource.RUSAGE_CHILDREN)
            run = subprocess.run([*command, "--repeat", str(repeat)], capture_output=True, text=True)
            used.append(cpu_seconds(resource.RUSAGE_CHILDREN) - before)
            if run.returncode:
                return (run.stderr or run.stdout).strip()[-300:]
        median = float(re.search(r"median ([0-9.]+) ms", run.stderr)[1])
        values = [numpy.load(folder / "out" / f"{file_name(name)}.npy") for name in outputs]
        return values, median, (used[1] - used[0]) / runs * 1e3


def difference(given, expected):
    """The largest difference, relative to the largest value."""
    if given.shape != expected.shape or given.dtype != expected.dtype:
        return f"{given.dtype} {list(given.shape)} for {expected.dtype} {list(expected.shape)}"
    if not expected.size:
        return 0.0
    wide = expected.astype(numpy.float64)
    same = (numpy.isnan(wide) & numpy.isnan(given)) | (wide == given)
    apart = numpy.where(same, 0, numpy.abs(given.astype(numpy.float64) - wide))
    return float(apart.max() / max(1e-6, numpy.abs(wide[numpy.isfinite(wide)]).max(initial=0)))


def compare_nodes(options, path, feed):
    """Prints the results of nodes that differ by more than 2e-5 of the largest number, or integers by more than 1."""
    import onnx  # noqa: PLC0415: nothing else needs it

    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    wanted = {port.name for port in model.graph.output}
    made_by = [name for node in model.graph.node for name in node.output if name]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in made_by if name not in wanted)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    values = dict(zip(made_by, session.run(made_by, feed)))
    # What few integers say of shapes stays as the model makes it.
    made_in_graph = {k for k, v in values.items() if v.dtype in (numpy.int64, numpy.int32, numpy.bool_) and v.size <= 64}
    values |= feed
    inputs, results, nodes = {}, {}, []
    for node in model.graph.node:
        alone = onnx.NodeProto()
        alone.CopyFrom(node)
        for i, name in enumerate(node.input):
            if name in values and name not in weights and name not in made_in_graph:
                alone.input[i] = inputs.setdefault(name, f"i{len(inputs)}")
        for i, name in enumerate(node.output):
            if name and name not in made_in_graph:
                alone.output[i] = f"o{len(results)}"
                results[alone.output[i]] = (name, node)
        nodes.append(alone)

    def port(name, value):
        return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    graph = onnx.helper.make_graph(nodes, "nodes", [port(new, values[name]) for name, new in inputs.items()],
                                   [onnx.helper.make_empty_tensor_value_info(name) for name in results],
                                   list(model.graph.initializer))
    with tempfile.TemporaryDirectory() as folder:
        alone = pathlib.Path(folder) / "nodes.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version), alone)
        made_by_weft = on_weft(options, str(alone), {new: values[name] for name, new in inputs.items()}, list(results), 1)
    if isinstance(made_by_weft, str):
        print(f"{pathlib.Path(path).name}: {made_by_weft}")
        return 1
    worst, count = 0.0, 0
    for (name, node), given in zip(results.values(), made_by_weft[0]):
        expected = values[name]
        if expected.dtype.kind in "iub" and given.shape == expected.shape:
            apart = int(numpy.abs(given.astype(numpy.int64) - expected.astype(numpy.int64)).max(initial=0))
            differs = apart > 1
        else:
            apart = difference(given, expected)
            differs = isinstance(apart, str) or apart > 2e-5
            worst = worst if isinstance(apart, str) else max(worst, apart)
        count += differs
        if differs:
            print(f"{node.op_type} '{node.name}' {list(expected.shape)}: {apart}")
    print(f"{pathlib.Path(path).name}: {len(nodes)} nodes, {count} of {len(results)} results differ, others by up to {worst:.1e}")
    return 1 if count else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="CASE")
    parser.add_argument("--weft", default="build/release/apps/weft", help="the program, with what runs it in front")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="of ONNX Runtime; 0: one a core")
    parser.add_argument("--repeat", type=int, default=12, help="runs of weft at least")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long ONNX Runtime runs at least")
    parser.add_argument("--exact", action="store_true", help="ONNX Runtime without changes to the model")
    parser.add_argument("--nodes", action="store_true", help="each node on ONNX Runtime's operands")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    rows, failed = [], 0
    for case in options.cases:
        path, _, query = case.partition("?")
        specs = dict(part.split("=", 1) for part in query.split("&") if part)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        settings.log_severity_level = 3
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")  # which is no work
        if options.exact:
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        random = numpy.random.default_rng(0)
        unknown = set(specs) - {port.name for port in session.get_inputs()}
        if unknown:
            sys.exit(f"onnx_peers: {path} has no input {', '.join(sorted(unknown))}")
        feed = {port.name: made(port, specs.get(port.name), random) for port in session.get_inputs()}
        if options.nodes:
            failed += compare_nodes(options, path, feed)
            continue
        names = [port.name for port in session.get_outputs()]
        expected = session.run(None, feed)
        peer, peer_cpu = time_runs(session, feed, options.seconds)
        row = {"model": pathlib.Path(path).name, "inputs": {k: list(v.shape) for k, v in feed.items()}, "ort_ms": peer,
               "ort_cpu_ms": peer_cpu}
        made_by_weft = on_weft(options, path, feed, names, max(options.repeat, min(3000, int(400 / peer))))
        if isinstance(made_by_weft, str):
            row["error"] = made_by_weft
        else:
            outputs, row["weft_ms"], row["weft_cpu_ms"] = made_by_weft
            differences = [difference(y, e) for y, e in zip(outputs, expected)]
            texts = [d for d in differences if isinstance(d, str)]
            row["difference"] = texts[0] if texts else max(differences)
            row["ratio"], row["cpu_ratio"] = row["weft_ms"] / peer, row["weft_cpu_ms"] / peer_cpu
        rows.append(row)
        sizes = " ".join("x".join(map(str, v.shape)) or "[]" for v in feed.values())
        if "error" in row:
            print(f"{row['model']:36} {sizes:24} {row['error']}", flush=True)
        else:
            apart = row["difference"] if isinstance(row["difference"], str) else f"{row['difference']:.1e}"
            print(f"{row['model']:36} {sizes:24} weft {row['weft_ms']:8.2f} ms, ORT {peer:8.2f} ms: {row['ratio']:5.2f}   "
                  f"processors {row['weft_cpu_ms']:8.2f} ms, {peer_cpu:8.2f} ms: {row['cpu_ratio']:5.2f}   apart {apart}",
                  flush=True)
    for name, key in (("", "ratio"), (" of processors", "cpu_ratio")):
        ratios = [row[key] for row in rows if key in row]
        if ratios:
            print(f"median ratio{name} {statistics.median(ratios):.2f} of {len(ratios)}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if failed or any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
