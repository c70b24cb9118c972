#!/usr/bin/env python3
"""Models of ONNX on Weft beside ONNX Runtime: outputs compared, and the time of a run.

  bench/onnx_peers.py [OPTIONS] CASE...

A case is a model's path, and behind `?` what its inputs are like, separated by `&`:

  encoder.onnx?input_ids=3x40:0..30000&attention_mask=3x40:1
  detector.onnx?images=1x3x416x416:normal:100:50

NAME=SIZES gives the sizes; behind `:` are A..B (whole numbers from A to B - 1), one number that every element has, or
normal:MEAN:DEVIATION. Inputs that are not named have size 1 where the model leaves it open, floats of the normal
distribution and whole numbers 0 and 1. The same inputs go to both. Beside the medians stand the processors' times, which a
busy machine changes less: user and system time of a run, of all threads. Outputs are compared with those of ONNX Runtime's
CPU provider.

--provider webgpu times ONNX Runtime's WebGPU provider, on the first GPU that it finds, a software one included, and tells
how many nodes it leaves to the CPU. With --device llvmpipe and VK_DRIVER_FILES naming Mesa's lavapipe alone both run on that:

  bench/onnx_peers.py --provider webgpu --device llvmpipe --rounds 2 $(tests/onnx/real_models.py --cases --first)

--nodes instead runs each node of the models on what ONNX Runtime, without changes to the model, has for its operands, and
tells which results differ. So also models can be compared whose results change as a whole when one rounding does.

Needs numpy and onnxruntime, --nodes onnx too, --provider webgpu onnxruntime-ep-webgpu (bench/requirements.txt); weft is run
as a program.
"""
import argparse
import collections
import functools
import json
import os
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


def run_weft(options, path, feed, outputs, *arguments):
    """The outputs and what weft says of the run; an error's text instead."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [*options.weft.split(), "run", "--device", options.device, path, "--top", "0", "-o", str(folder / "out")]
        for i, (name, value) in enumerate(feed.items()):
            numpy.save(folder / f"{i}.npy", value)
            command += ["-i", f"{name}={folder / f'{i}.npy'}"]
        run = subprocess.run([*command, *arguments], capture_output=True, text=True)
        if run.returncode:
            return (run.stderr or run.stdout).strip()[-300:] or f"weft ended with {run.returncode}"
        return [numpy.load(folder / "out" / f"{file_name(name)}.npy") for name in outputs], run.stderr


def on_weft(options, path, feed, outputs, runs):
    """The outputs, the median time and the processors' time of a run in milliseconds; an error's text instead."""
    used = []
    # The first process on a GPU compiles shaders, which the driver keeps for the others.
    for repeat in ((2,) if options.device != "cpu" else ()) + (2, 2 + runs):
        before = cpu_seconds(resource.RUSAGE_CHILDREN)
        made_by_weft = run_weft(options, path, feed, outputs, "--repeat", str(repeat))
        used.append(cpu_seconds(resource.RUSAGE_CHILDREN) - before)
        if isinstance(made_by_weft, str):
            return made_by_weft
    values, said = made_by_weft
    return values, float(re.search(r"median ([0-9.]+)", said)[1]), (used[-1] - used[-2]) / runs * 1e3


def difference(given, expected, least=1e-6):
    """The largest difference, relative to the largest value, or to the least."""
    if given.shape != expected.shape or given.dtype != expected.dtype:
        return f"{given.dtype} {list(given.shape)} for {expected.dtype} {list(expected.shape)}"
    if not expected.size:
        return 0.0
    wide = expected.astype(numpy.float64)
    same = (numpy.isnan(wide) & numpy.isnan(given)) | (wide == given)
    apart = numpy.where(same, 0, numpy.abs(given.astype(numpy.float64) - wide))
    return float(apart.max() / max(least, numpy.abs(wide[numpy.isfinite(wide)]).max(initial=0)))


class NodeComparison:
    """Results of single nodes: how many there are of both, which differ (as texts), and by how much the others at most.

    Operators with bounds of their own are in worst_of."""

    def __init__(self, nodes, results):
        self.nodes, self.results, self.worst, self.worst_of, self.differing = nodes, results, 0.0, {}, []
        self.error, self.said = None, ""  # what weft says of the run

    def __str__(self):
        if self.error:
            return self.error
        return (f"{self.nodes} nodes, {len(self.differing)} of {self.results} results differ, others by up to "
                f"{self.worst:.1e}")


def compare_nodes(options, path, feed, *arguments, bound=2e-5, bounds=None):
    """Results of nodes that differ by more than the bound of the largest number, or integers by more than one.

    An operator in bounds has its own."""
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
        made_by_weft = run_weft(options, str(alone), {new: values[name] for name, new in inputs.items()}, list(results),
                                *arguments)
    compared = NodeComparison(len(nodes), len(results))
    if isinstance(made_by_weft, str):
        compared.error = made_by_weft
        return compared
    compared.said = made_by_weft[1]
    for (name, node), given in zip(results.values(), made_by_weft[0]):
        expected = values[name]
        if expected.dtype.kind in "iub" and given.shape == expected.shape:
            apart = int(numpy.abs(given.astype(numpy.int64) - expected.astype(numpy.int64)).max(initial=0))
            differs = apart > 1
        else:
            apart = difference(given, expected)
            own = (bounds or {}).get(node.op_type)
            differs = isinstance(apart, str) or apart > (own or bound)
            if own and not differs:
                compared.worst_of[node.op_type] = max(compared.worst_of.get(node.op_type, 0.0), apart)
            elif not differs:
                compared.worst = max(compared.worst, apart)
        if differs:
            compared.differing.append(f"{node.op_type} '{node.name}' {list(expected.shape)}: {apart}")
    return compared


def split_case(case):
    """A case's path, and what it says of each input."""
    path, _, query = case.partition("?")
    return path, dict(part.split("=", 1) for part in query.split("&") if part)


def make_feed(session, specs, seed):
    """The inputs of a model as a case says them."""
    unknown = set(specs) - {port.name for port in session.get_inputs()}
    if unknown:
        sys.exit(f"onnx_peers: the model has no input {', '.join(sorted(unknown))}")
    random = numpy.random.default_rng(seed)
    return {port.name: made(port, specs.get(port.name), random) for port in session.get_inputs()}


def sizes_of(feed):
    return " ".join("x".join(map(str, v.shape)) or "[]" for v in feed.values())


def session_of(path, provider="cpu", threads=0, exact=False, profile=None):
    """A session of ONNX Runtime; exact: without changes to the model; profile: where it writes what ran."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 3
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")  # which is no work
    if exact:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if profile:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(profile)
    if provider == "cpu":
        return onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    settings.add_provider_for_devices([webgpu_device()], {})
    return onnxruntime.InferenceSession(path, settings)


@functools.cache
def webgpu_device():
    """The device of ONNX Runtime's WebGPU provider."""
    # Without a hardware GPU the provider is available only if a software adapter is allowed explicitly.
    os.environ.setdefault("ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER", "1")
    import onnxruntime_ep_webgpu  # noqa: PLC0415: only --provider webgpu needs it

    onnxruntime.register_execution_provider_library("webgpu", onnxruntime_ep_webgpu.get_library_path())
    name = onnxruntime_ep_webgpu.get_ep_name()
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == name]
    if not devices:
        sys.exit("onnx_peers: ONNX Runtime's WebGPU provider finds no device")
    return devices[0]


def nodes_by_provider(path, provider, feed):
    """How many nodes of a run each provider has, as operators with their counts: {"CPUExecutionProvider": {"Gather": 2}}."""
    with tempfile.TemporaryDirectory() as folder:
        session = session_of(path, provider, profile=pathlib.Path(folder) / "profile")
        session.run(None, feed)
        events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    nodes = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            nodes[(event["name"], event["args"].get("node_index"))] = (event["args"]["provider"], event["args"]["op_name"])
    counted = collections.defaultdict(collections.Counter)
    for name, operator in nodes.values():
        counted[name][operator] += 1
    return {name: dict(counter) for name, counter in counted.items()}


def measure(options, case):
    """A row: what Weft and the provider take for the case, in turn, and how far their outputs are from the CPU provider's."""
    path, specs = split_case(case)
    reference = session_of(path, threads=options.threads, exact=options.exact)
    feed = make_feed(reference, specs, 0)
    names = [port.name for port in reference.get_outputs()]
    expected = reference.run(None, feed)
    row = {"model": pathlib.Path(path).name, "inputs": {k: list(v.shape) for k, v in feed.items()}, "sizes": sizes_of(feed)}
    try:
        session = reference
        if options.provider != "cpu":
            session = session_of(path, options.provider, options.threads, options.exact)
            row["ort_difference"] = largest_difference(session.run(None, feed), expected)
            nodes = nodes_by_provider(path, options.provider, feed)
            row["on_cpu"] = nodes.pop("CPUExecutionProvider", {})
            row["on_gpu"] = sum(sum(operators.values()) for operators in nodes.values())
    except Exception as error:  # what the provider cannot run
        row["ort_error"] = str(error)[:300]
        session = None
    peer, weft = [], []
    for _ in range(options.rounds):
        if session:
            peer.append(time_runs(session, feed, options.seconds))
        runs = max(options.repeat, min(3000, int(options.seconds * 800 / peer[0][0]))) if peer else options.repeat
        made_by_weft = on_weft(options, path, feed, names, runs)
        if isinstance(made_by_weft, str):
            row["error"] = made_by_weft
            return row
        weft.append(made_by_weft[1:])
        row["difference"] = largest_difference(made_by_weft[0], expected)
    row["weft_ms"], row["weft_cpu_ms"] = (statistics.median(times) for times in zip(*weft))
    if peer:
        row["ort_ms"], row["ort_cpu_ms"] = (statistics.median(times) for times in zip(*peer))
        row["ratio"], row["cpu_ratio"] = row["weft_ms"] / row["ort_ms"], row["weft_cpu_ms"] / row["ort_cpu_ms"]
    return row


def largest_difference(outputs, expected, least=1e-6):
    """The largest of all outputs, or what is wrong with their types or shapes."""
    differences = [difference(y, e, least) for y, e in zip(outputs, expected)]
    wrong = [d for d in differences if isinstance(d, str)]
    return wrong[0] if wrong else max(differences, default=0.0)


def line_of(row):
    """A row as a line."""
    def apart(value):
        return value if isinstance(value, str) else f"{value:.1e}"

    start = f"{row['model']:36} {row['sizes']:24} "
    if "error" in row:
        return start + row["error"]
    text = f"weft {row['weft_ms']:8.2f} ms"
    if "ort_ms" in row:
        text += (f", ORT {row['ort_ms']:8.2f} ms: {row['ratio']:5.2f}   processors {row['weft_cpu_ms']:8.2f} ms, "
                 f"{row['ort_cpu_ms']:8.2f} ms: {row['cpu_ratio']:5.2f}")
    text += f"   apart {apart(row['difference'])}"
    if "ort_difference" in row:
        text += f", ORT {apart(row['ort_difference'])}"
    if "ort_error" in row:
        text += f"   ORT: {row['ort_error']}"
    elif "on_cpu" in row:
        operators = ", ".join(f"{count} {name}" for name, count in sorted(row["on_cpu"].items()))
        text += f"   {sum(row['on_cpu'].values())} of {row['on_gpu'] + sum(row['on_cpu'].values())} nodes on its CPU" + (
            f" ({operators})" if operators else "")
    return start + text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="CASE")
    parser.add_argument("--weft", default="build/release/apps/weft", help="the program, with what runs it in front")
    parser.add_argument("--device", default="cpu", help="of weft")
    parser.add_argument("--provider", choices=["cpu", "webgpu"], default="cpu", help="of ONNX Runtime")
    parser.add_argument("--threads", type=int, default=0, help="of ONNX Runtime; 0: one a core")
    parser.add_argument("--repeat", type=int, default=12, help="runs of weft at least")
    parser.add_argument("--rounds", type=int, default=1, help="how often both are timed in turn; the median counts")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long ONNX Runtime runs at least")
    parser.add_argument("--exact", action="store_true", help="ONNX Runtime without changes to the model")
    parser.add_argument("--nodes", action="store_true", help="each node on ONNX Runtime's operands")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    rows, failed = [], 0
    for case in options.cases:
        if options.nodes:
            path, specs = split_case(case)
            compared = compare_nodes(options, path, make_feed(session_of(path), specs, 0))
            print("\n".join([*compared.differing, f"{pathlib.Path(path).name}: {compared}"]), flush=True)
            failed += bool(compared.error or compared.differing)
            continue
        row = measure(options, case)
        failed += "error" in row
        rows.append(row)
        print(line_of(row), flush=True)
        if options.json:  # at once: what was measured is kept if a later case is stopped
            pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    groups = {"": rows}
    if options.provider != "cpu":
        groups[", of models with all nodes on the GPU:"] = [row for row in rows if "ratio" in row and not row["on_cpu"]]
    for group, members in groups.items():
        for name, key in (("", "ratio"), (" of processors", "cpu_ratio")):
            ratios = [row[key] for row in members if key in row]
            if ratios:
                print(f"median ratio{name}{group} {statistics.median(ratios):.2f} of {len(ratios)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
