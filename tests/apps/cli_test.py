#!/usr/bin/env python3
"""Runs the command line as a user would, on a tiny generated model, with valid and invalid input.

  cli_test.py PATH_OF_WEFT
Every failure must be a message of a line or two on standard error, an exit code of 1 (2 for usage), and leave nothing
half-written behind.
"""
import array
import json
import os
import pathlib
import pty
import random
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

WEFT = None
HIDDEN, INNER, HEADS, POSITIONS = 16, 32, 2, 32
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "a", "b", "##c", "."]


def write_graph_file(path, operand=1):
    """A graph as save(path, graph) writes it: y = x weights + rate."""
    f32 = lambda *shape: [{"dtype": "f32", "shape": list(shape)}]  # noqa: E731
    graph = {"format": "weft graph", "version": 1, "nodes": [
        {"op": "input", "name": "x", "results": f32(2, 3)},
        {"op": "constant", "name": "weights", "tensor": "w", "results": f32(3, 4)},
        {"op": "number", "name": "rate", "results": f32()},
        {"op": "matmul", "inputs": [[0, 0], [operand, 0]], "attributes": {}, "results": f32(2, 4), "label": "layers.0"},
        {"op": "map", "inputs": [[3, 0], [2, 0]], "attributes": {"y": "(x0:f32, x1:f32) add(x0, x1)"}, "results": f32(2, 4)},
    ], "outputs": [{"name": "y", "value": [4, 0]}]}
    header = json.dumps({"__metadata__": {"weft.graph": json.dumps(graph)},
                         "w": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + array.array("f", range(12)).tobytes())


def weights(intermediate=INNER):
    """Name to (shape, values) of a one-layer BERT."""
    rng = random.Random(3)
    shapes = {
        "embeddings.word_embeddings.weight": [len(WORDS), HIDDEN],
        "embeddings.position_embeddings.weight": [POSITIONS, HIDDEN],
        "embeddings.token_type_embeddings.weight": [2, HIDDEN],
        "embeddings.LayerNorm.weight": [HIDDEN],
        "embeddings.LayerNorm.bias": [HIDDEN],
    }
    layer = "encoder.layer.0."
    for name, (out, inner) in {
        "attention.self.query": (HIDDEN, HIDDEN), "attention.self.key": (HIDDEN, HIDDEN),
        "attention.self.value": (HIDDEN, HIDDEN), "attention.output.dense": (HIDDEN, HIDDEN),
        "intermediate.dense": (intermediate, HIDDEN), "output.dense": (HIDDEN, intermediate),
    }.items():
        shapes[layer + name + ".weight"] = [out, inner]
        shapes[layer + name + ".bias"] = [out]
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        shapes[layer + name + ".weight"] = [HIDDEN]
        shapes[layer + name + ".bias"] = [HIDDEN]
    result = {}
    for name, shape in shapes.items():
        count = 1
        for size in shape:
            count *= size
        result[name] = (shape, [rng.uniform(-0.5, 0.5) for _ in range(count)])
    return result


def write_safetensors(path, tensors, dtype="F32"):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = array.array("f", values).tobytes()
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


CONFIG = {
    "model_type": "bert", "vocab_size": len(WORDS), "hidden_size": HIDDEN, "intermediate_size": INNER,
    "num_hidden_layers": 1, "num_attention_heads": HEADS, "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
    "hidden_act": "gelu", "layer_norm_eps": 1e-12,
}


def make_model(folder, intermediate=INNER):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**CONFIG, "intermediate_size": intermediate}))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, "model_max_length": POSITIONS}))
    write_safetensors(folder / "model.safetensors", weights(intermediate))
    return folder


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.model = make_model(self.folder / "model")
        self.output = self.folder / "out"
        self.output.mkdir()

    def tearDown(self):
        self.scratch.cleanup()

    def run_weft(self, *arguments, stdin=b"hello world\n", env=None, stdout=subprocess.PIPE):
        return subprocess.run([WEFT, *map(str, arguments)], input=stdin, stdout=stdout, stderr=subprocess.PIPE,
                              env={**os.environ, **(env or {})}, timeout=120, check=False)

    def embed(self, *arguments, **options):
        return self.run_weft("embed", "--quiet", "--device", "cpu", "--model", self.model, *arguments, **options)

    def assert_fails(self, process, *words, code=1):
        message = process.stderr.decode()
        self.assertEqual(process.returncode, code, message)
        self.assertTrue(message.startswith("weft: "), message)
        self.assertLessEqual(len(message.strip().splitlines()), 2, message)
        for word in words:
            self.assertIn(word, message)
        self.assertEqual(list(self.output.iterdir()), [], "something half-written is left")

    def vectors(self, text):
        return [json.loads(line)["embedding"] for line in text.decode().splitlines()]

    # ---- Valid input

    def test_embed_is_in_order_and_streams_equal_files(self):
        lines = b"hello world\na\n\nhello hello hello b .\na"  # an empty sentence; no newline at the end
        vectors = self.vectors(self.embed("-", stdin=lines).stdout)
        self.assertEqual(len(vectors), 5)
        self.assertEqual(len(vectors[0]), HIDDEN)
        for a, b in zip(vectors[1], vectors[4]):
            self.assertAlmostEqual(a, b, places=5)
        path = self.folder / "s.txt"
        path.write_bytes(lines)
        self.assertEqual(self.vectors(self.embed(path).stdout), vectors)
        jsonl = self.folder / "s.jsonl"
        jsonl.write_text('"hello world"\n{"text": "a"}\n""\n"hello hello hello b ."\n"a"\n')
        self.assertEqual(self.vectors(self.embed(jsonl).stdout), vectors)
        one_by_one = self.vectors(self.embed("--batch", 1, path).stdout)
        for a, b in zip(sum(one_by_one, []), sum(vectors, [])):
            self.assertAlmostEqual(a, b, places=5)

    def test_npy_holds_the_same_vectors(self):
        target = self.output / "v.npy"
        process = self.embed("--output", target, "-", stdin=b"a\nb\nhello\n")
        self.assertEqual(process.returncode, 0, process.stderr)
        data = target.read_bytes()
        self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
        self.assertIn(f"'shape': (3, {HIDDEN})".encode(), data[:128])
        values = list(array.array("f", data[128:]))
        self.assertEqual(len(values), 3 * HIDDEN)
        self.assertEqual([p.name for p in self.output.iterdir()], ["v.npy"])
        expected = sum(self.vectors(self.embed("-", stdin=b"a\nb\nhello\n").stdout), [])
        for got, want in zip(values, expected):
            self.assertAlmostEqual(got, want, places=6)

    def test_f16_stays_close_and_auto_says_why(self):
        plain = self.vectors(self.embed("-").stdout)[0]
        for precision in ("f16", "auto"):
            process = self.embed("--precision", precision, "-", env={"WEFT_LOG": "precision"})
            got = self.vectors(process.stdout)[0]
            self.assertNotEqual(got, plain)
            for a, b in zip(got, plain):
                self.assertAlmostEqual(a, b, delta=5e-3)
            said = process.stderr.decode()
            self.assertRegex(said, r"precision: layers\.0\.intermediate f32 \[16, 32\] f16: ")
            self.assertNotRegex(said, r"\] f32: ")
        # Adjacent weights cancel: the product stays f32, and so does everything before it.
        tensors = weights()
        name = "encoder.layer.0.output.dense.weight"
        shape, values = tensors[name]
        tensors[name] = (shape, [2.001 if i % 2 else -2.001 for i in range(len(values))])
        write_safetensors(self.model / "model.safetensors", tensors)
        said = self.embed("--precision", "auto", "-", env={"WEFT_LOG": "precision"}).stderr.decode()
        self.assertRegex(said, r"precision: layers\.0\.output f32 \[32, 16\] f32: error .*, the bound is")
        self.assertRegex(said, r"precision: layers\.0\.intermediate f32 \[16, 32\] f32: .*exact")
        self.assert_fails(self.embed("--precision", "half", "-"), "--precision", "strict|f16|auto", code=2)
        # The flag and the variable have the same effect, and the flag takes precedence, also before the command.
        for arguments, env in ((("--precision", "f16"), {}), ((), {"WEFT_PRECISION": "f16"})):
            said = self.embed(*arguments, "-", env={"WEFT_LOG": "precision", **env}).stderr.decode()
            self.assertRegex(said, r"precision: layers\.0\.output f32 \[32, 16\] f16: ")
        said = self.embed("--precision", "strict", "-", env={"WEFT_LOG": "precision", "WEFT_PRECISION": "f16"}).stderr.decode()
        self.assertNotIn("precision:", said)
        process = self.run_weft("--precision", "f16", "--device", "cpu", "embed", "--model", self.model, "-",
                                env={"WEFT_LOG": "precision"})
        self.assertIn("f16: ", process.stderr.decode())
        self.assert_fails(self.embed("-", env={"WEFT_PRECISION": "half"}), "strict|f16|auto")

    def test_no_sentence_gives_no_vector(self):
        process = self.embed("-", stdin=b"")
        self.assertEqual((process.returncode, process.stdout), (0, b""))

    def test_tokenize(self):
        process = self.run_weft("tokenize", "--model", self.model, "-", stdin=b"Hello bc .\n")
        self.assertEqual(json.loads(process.stdout), {"ids": [2, 5, 8, 9, 10, 3]}, process.stderr)
        long = self.run_weft("tokenize", "--model", self.model, "-", stdin=b"a " * 500)
        self.assertEqual(len(json.loads(long.stdout)["ids"]), POSITIONS)

    def test_help_teaches(self):
        for command in ([], ["embed"], ["tokenize"], ["devices"], ["graph"], ["kernels"], ["profile", "embed"],
                        ["profile", "graph"]):
            process = self.run_weft(*command, "--help")
            self.assertEqual(process.returncode, 0)
            self.assertIn(" ".join(["weft", *(command or ["embed"])]), process.stdout.decode(), "an example of it")
        short, whole = (self.run_weft(flag).stdout.decode() for flag in ("--help", "--help-all"))
        for text in (short, whole):
            self.assertLess(text.index("\n  embed "), text.index("\n  -h,"), "commands first")
        self.assertNotIn("--memory-limit", short)
        for text in (whole, self.run_weft("embed", "--help-all").stdout.decode()):
            self.assertRegex(text, r"(?m)^ +--memory-limit BYTES")
            self.assertIn("WEFT_MEMORY_LIMIT", text)
            self.assertIn("WEFT_TEST_DEVICES", text)
        embed = self.run_weft("embed", "--help").stdout.decode()
        self.assertIn("WEFT_DEVICE", embed)
        self.assertNotIn("--memory-limit", embed)
        self.assertRegex(self.run_weft("--version").stdout.decode(), r"^weft \d+\.\d+\.\d+\n$")

    def test_devices(self):
        listing = json.loads(self.run_weft("devices", "--json").stdout)
        self.assertGreaterEqual(listing["cpu"]["cores"], 1)
        for adapter in listing["adapters"]:
            self.assertTrue({"name", "backend", "features", "limits"} <= adapter.keys())

        only = json.loads(self.run_weft("devices", "--json", "--device", "cpu").stdout)
        self.assertEqual(only["adapters"], [])
        for backend in {adapter["backend"] for adapter in listing["adapters"]}:
            some = json.loads(self.run_weft("devices", "--json", "--backend", backend).stdout)["adapters"]
            self.assertEqual(some, [a for a in listing["adapters"] if a["backend"] == backend])
        self.assert_fails(self.run_weft("devices", "--backend", "glide"), "glide", "vulkan|metal", code=2)
        self.assert_fails(self.run_weft("devices", "--device", "quantum"), "quantum", "and cpu", code=2)
        for command in ("devices", "ops", "kernels"):  # also as a setting in front of a command, and of one that needs none
            self.assert_fails(self.run_weft("--device", "quantum", command), "quantum", "and cpu", code=2)
        self.assertEqual(len(self.run_weft("--device", "cpu", "devices").stdout.decode().splitlines()), 1)
        lines = self.run_weft("devices").stdout.decode().splitlines()
        self.assertEqual([line.split()[0] for line in lines if not line.startswith(("No GPU", "  "))],
                         [str(a["index"]) for a in listing["adapters"]] + ["cpu"], "a line a device")
        verbose = self.run_weft("devices", "--verbose").stdout.decode()
        for adapter in listing["adapters"]:
            self.assertIn(adapter["name"], verbose)
            self.assertIn(adapter["driver"], verbose)
        self.assertEqual(len(self.run_weft("devices", "--device", "cpu", "-v").stdout.decode().splitlines()), 1)

    def test_kernels(self):
        listing = json.loads(self.run_weft("kernels", "--json").stdout)
        self.assertGreater(len(listing), 150)
        self.assertEqual(len(listing), len({kernel["name"] for kernel in listing}))
        some = self.run_weft("kernels", "softmax").stdout.decode()
        self.assertRegex(some, r"(?m)^softmax$")
        self.assertRegex(some, r"(?m)^  log_softmax +x +-> y +the logarithm")
        self.assertNotIn("matmul", some)
        types = {kernel["name"]: kernel["types"] for kernel in listing}
        self.assertEqual(types["softmax"], "x, y: floats")
        self.assertEqual(types["neg"], "x: numbers, c64; y: as x")
        self.assertEqual(types["less"], "a: numbers, bool; b: as a; y: bool")
        self.assertEqual(types["select"], "condition: bool; a: any; b, y: as a")
        self.assertEqual(types["gcd"], "a: integers; b, y: as a")
        self.assertEqual(types["abs"], "x: numbers; y: as x or x: c64; y: f32")
        pad = next(kernel for kernel in listing if kernel["name"] == "pad")
        self.assertEqual(pad["inputs"], [{"name": "x", "arity": "one", "min_rank": 0, "max_rank": 8, "shape": "any"}])
        self.assertEqual(pad["formula"], "y[i] = x[i - before]")
        self.assertEqual(pad["signatures"][0]["y"], {"as": "x"})
        self.assertIn({"name": "value", "type": "number", "default": 0, "text": "value: number = 0",
                       "meaning": "the number in the border of mode constant"}, pad["attributes"])
        self.assertEqual(pad["attributes"][1]["choices"], ["constant", "edge", "reflect", "symmetric", "wrap"])
        self.assertRegex(self.run_weft("kernels", "where").stdout.decode(), r"(?m)^  select .*\n +y = a if condition.*\n +condition: bool; .*\n +also where$")
        for arguments in (["zzz"], ["zzz", "--json"]):
            process = self.run_weft("kernels", *arguments)
            self.assert_fails(process, "zzz", "'weft kernels' lists all")
            self.assertEqual(process.stdout, b"")
        self.assert_fails(self.run_weft("kernels", "sofmax"), "the nearest name is 'softmax'")

    def test_ops(self):
        listing = json.loads(self.run_weft("ops", "--json").stdout)
        self.assertEqual(len(listing), len({op["name"] for op in listing}))
        ops = {op["name"]: op for op in listing}
        self.assertEqual(ops["slice"]["attributes"][3], {"name": "step", "type": "integer", "default": 1, "text": "step: integer = 1", "meaning": "the distance of elements"})
        self.assertEqual([o["name"] for o in ops["matmul"]["inputs"]], ["a", "b"])
        views = self.run_weft("ops", "view").stdout.decode()
        self.assertRegex(views, r"(?m)^view\n(?:.*\n)*?  reshape +x +-> y +the same elements in another shape\n +y's elements.*\n +shape: integers: the new shape.*\n +kept: integers = \[\]: .*\n +x: any; y: as x$")
        self.assertNotIn("matmul", views)
        families = re.findall(r"(?m)^(\w+)$", self.run_weft("ops", "").stdout.decode())
        self.assertEqual(families, sorted(set(families)))
        self.assertEqual(ops["exp"]["outputs"][0]["type"], "x's type; integers and bool: f32")
        functions = self.run_weft("ops", "squeeze").stdout.decode()
        self.assertRegex(functions, r"(?m)^function\n  squeeze .*axes whose size is 1\n +y\[i")
        self.assert_fails(self.run_weft("ops", "zzz"), "no op's name holds 'zzz'", "'weft ops' lists all")

    def test_ops_of_onnx(self):
        listing = json.loads(self.run_weft("ops", "--onnx", "--json").stdout)
        forms = {(o["domain"], o["name"]): o["forms"] for o in listing}
        self.assertEqual(len(forms), len(listing))
        self.assertEqual([f["since"] for f in forms["ai.onnx", "Softmax"]], [1, 13])
        self.assertEqual(forms["ai.onnx", "SequenceMap"], [{"since": 17, "note": ""}])
        self.assertIn(("com.microsoft", "MatMulNBits"), forms)
        text = self.run_weft("ops", "--onnx", "Softmax").stdout.decode()
        self.assertRegex(text, r"(?s)^ai\.onnx\n.*  Softmax +from 1; from 13\n.*\ncom\.microsoft\n  QLinearSoftmax +from 1\n")
        own = self.run_weft("ops", "--onnx", "com.microsoft").stdout.decode()
        self.assertTrue(own.startswith("com.microsoft\n") and "ai.onnx" not in own)
        self.assert_fails(self.run_weft("ops", "--onnx", "Convv"), "no name of an operator of ONNX holds 'Convv'", "the nearest name is 'Conv'")
        self.assertEqual(self.run_weft("ops", "--onnx", "--webnn").returncode, 2)

    def test_graph(self):
        target = self.output / "g.dot"
        process = self.run_weft("graph", self.model, "--compiled", "--output", target)
        self.assertEqual(process.returncode, 0, process.stderr)
        dot = target.read_text()
        self.assertTrue(dot.startswith("digraph"))
        self.assertIn("· query+key+value f32", dot, "constants have names")
        self.assertIn('label="layers.0"', dot, "layers are frames")
        self.assertNotIn("strided", dot, "views are words on the edges")
        self.assertIn("a constant that the box reads", dot, "a legend")
        target.unlink()
        closed = self.run_weft("graph", self.model, "--compiled", "--depth", 0, "--output", "-").stdout.decode()
        self.assertIn("shape=folder", closed)
        self.assertNotIn("subgraph", closed)
        self.assertLess(closed.count("\n"), dot.count("\n"))
        target = self.output / "g.html"
        process = self.run_weft("graph", self.model, "--compiled", "--depth", 0, "--output", target)
        self.assertEqual(process.returncode, 0, process.stderr)
        html = target.read_text()
        self.assertTrue(html.startswith("<!doctype html>") and html.rstrip().endswith("</html>"))
        for outside in ("http://", "https://", "src=", "/*DATA*/"):
            self.assertNotIn(outside, html, "the page stands alone")
        data = json.loads(re.search(r"const G = (.*);\n", html)[1])
        self.assertEqual(data["depth"], 0)
        self.assertIn("layers.0", [group["name"] for group in data["groups"]])
        self.assertTrue(data["title"].endswith("1 × 32 tokens, compiled"), data["title"])
        self.assertTrue({"matmul", "attention", "norm"} <= {box["family"] for box in data["boxes"]})
        target.unlink()
        target = self.output / "g.dot"
        help_text = self.run_weft("graph", "--help").stdout.decode()
        for word in ("--depth", ".html", "words on the arrows", "Examples"):
            self.assertIn(word, help_text)
        self.assert_fails(self.run_weft("graph", self.model, "--depth", -1, "--output", target), "--depth", code=2)
        self.assert_fails(self.run_weft("graph", self.model, "--output", self.output / "g.png"), ".html", ".svg", code=2)
        self.assert_fails(self.run_weft("graph", self.model, "--length", POSITIONS + 1, "--output", target),
                          str(POSITIONS + 1), f"1 to {POSITIONS} tokens")

    def test_graph_files(self):
        file, target = self.folder / "step.safetensors", self.output / "g.dot"
        write_graph_file(file)
        process = self.run_weft("graph", file, "--output", target)
        self.assertEqual(process.returncode, 0, process.stderr)
        for word in ("matmul", "weights", "layers.0"):
            self.assertIn(word, target.read_text())
        target.unlink()
        target = self.output / "g.html"
        process = self.run_weft("graph", file, "--compiled", "--device", "cpu", "--output", target)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn('"title":"step.safetensors, compiled"', target.read_text().replace('": "', '":"'))
        target.unlink()
        cache = {"WEFT_CACHE_DIR": str(self.folder / "cache")}
        process = self.run_weft("profile", "graph", file, "--device", "cpu", "--runs", 2, "--json", env=cache)
        self.assertEqual(process.returncode, 0, process.stderr)
        report = json.loads(process.stdout)
        self.assertEqual(report["title"], "step.safetensors")
        self.assertIn("matmul", {row["kernel"] for row in report["rows"]})
        for command in (["graph"], ["profile", "graph"]):
            self.assertIn("save(", self.run_weft(*command, "--help").stdout.decode())
            self.assert_fails(self.run_weft(*command, file, "--batch", 2), "--batch", "--shape", code=2)
            # What is not there is a file or a directory, by its name.
            self.assert_fails(self.run_weft(*command, self.folder / "none.safetensors", "--device", "cpu"),
                              "none.safetensors", "no such file")
            self.assert_fails(self.run_weft(*command, self.folder / "none", "--device", "cpu"), "none",
                              "no such file or directory", "a model is a directory")
            self.assert_fails(self.run_weft(*command, pathlib.Path("/dev/null"), "--device", "cpu"), "not a directory")
        broken = self.folder / "broken.safetensors"
        write_graph_file(broken, operand=7)
        self.assert_fails(self.run_weft("graph", broken, "--output", target), "broken.safetensors", "node 7 is not before it")
        broken.write_bytes(file.read_bytes()[:100])
        self.assert_fails(self.run_weft("profile", "graph", broken, "--device", "cpu"), "broken.safetensors", "cut off")

    def test_profile(self):
        cache = {"WEFT_CACHE_DIR": str(self.folder / "cache")}
        trace, page = self.output / "t.json", self.output / "p.html"
        process = self.run_weft("profile", "graph", self.model, "--device", "cpu", "--batch", 2, "--length", 8, "--runs", 2,
                                "--json", "--trace", trace, "--html", page, env=cache)
        self.assertEqual(process.returncode, 0, process.stderr)
        report = json.loads(process.stdout)
        self.assertGreater(report["kernel_seconds"], 0)
        self.assertLessEqual(report["kernel_seconds"], report["seconds"])
        memory = report["planned_memory"]
        self.assertGreaterEqual(memory["intermediates"], memory["alive_at_once"])
        self.assertGreater(memory["constants"], 4 * len(WORDS) * HIDDEN)
        self.assertAlmostEqual(sum(row["share"] for row in report["rows"]), 1, places=3)
        for kernel, computes in (("matmul", True), ("attention", True), ("layer_norm", True), ("gather", False)):
            rows = [row for row in report["rows"] if row["kernel"] == kernel]
            self.assertTrue(rows and all((row["flops"] > 0) == computes for row in rows), kernel)
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertTrue({"kernel", "host"} <= {event.get("cat") for event in events})
        html = page.read_text()
        self.assertTrue(html.startswith("<!doctype html>") and html.rstrip().endswith("</html>"))
        for outside in ("http://", "https://", "src=", "/*DATA*/"):
            self.assertNotIn(outside, html, "the page stands alone")
        self.assertIn("hollow", html, "where steps without FLOPs stand in the roofline")
        data = json.loads(re.search(r"const P = (.*);\n", html)[1])
        self.assertEqual(len(data["windows"]), 2, "a window for each run")
        self.assertIn(data["shown_run"], (0, 1))
        for row in data["rows"]:
            self.assertTrue(row["variant"], row)
            self.assertTrue(row["why"], row)
            self.assertIn(row["family"], data["families"])
        self.assertEqual(data["constant_bytes"], memory["constants"], "the weights are part of the memory")
        process = self.run_weft("profile", "embed", "--model", self.model, "--device", "cpu", "--runs", 2, "-", env=cache)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn(b"GFLOP/s", process.stdout)
        self.assertIn(b"memory: constants", process.stdout)
        trace.unlink()
        page.unlink()
        narrow = self.run_weft("profile", "graph", self.model, "--device", "cpu", "--length", 8, "--runs", 1, "--json",
                               "--precision", "f16", env=cache)
        moved = lambda text: sum(row["bytes"] / row["calls"] for row in json.loads(text)["rows"])  # noqa: E731
        wide = self.run_weft("profile", "graph", self.model, "--device", "cpu", "--length", 8, "--runs", 1, "--json",
                             "--precision", "strict", env=cache)
        self.assertLess(moved(narrow.stdout), moved(wide.stdout))
        # Any program that uses Weft, here this one. Its arguments are its own.
        trace, page = self.output / "t.json", self.output / "p.html"
        embed = [WEFT, "embed", "--quiet", "--device", "cpu", "--model", self.model, "-"]
        process = self.run_weft("profile", "run", "--trace", trace, "--html", page, "--json", "--", *embed, env=cache)
        self.assertEqual(process.returncode, 0, process.stderr)
        vectors, _, report = process.stdout.decode().partition("\n{")
        self.assertEqual(len(json.loads(vectors)["embedding"]), HIDDEN, "what the program writes is left alone")
        report = json.loads("{" + report)
        self.assertTrue(report["title"].endswith(" -"), report["title"])
        self.assertEqual(report["device"], "cpu")
        self.assertTrue({"matmul", "attention"} <= {row["kernel"] for row in report["rows"]})
        self.assertIn("the program", {event["name"] for event in json.loads(trace.read_text())["traceEvents"]})
        trace.unlink()
        page.unlink()
        process = self.run_weft("profile", "--", *embed, env=cache)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn(b"GFLOP/s", process.stdout)
        self.assert_fails(self.run_weft("profile", "--", "true"), "true", "opened no device")
        self.assert_fails(self.run_weft("profile", "--", "sh", "-c", "exit 3"), "status 3", "opened no device")
        self.assert_fails(self.run_weft("profile", "--", "/no/such/program"), "/no/such/program")
        self.assert_fails(self.run_weft("profile", "run"), "PROGRAM", code=2)
        # A page that cannot be written is reported before the work.
        process = self.run_weft("profile", "graph", self.model, "--device", "cpu", "--html", self.output / "no" / "p.html")
        self.assert_fails(process, "p.html")
        self.assertEqual(process.stdout, b"")

    def test_devices_calibrate(self):
        cache = {"WEFT_CACHE_DIR": str(self.folder / "cache"), "WEFT_DEVICE": "cpu"}
        listing = json.loads(self.run_weft("devices", "--calibrate", "--json", "--device", "cpu", env=cache).stdout)
        self.assertGreater(listing["cpu"]["calibration"]["copy_bandwidth"], 1e8)
        again = json.loads(self.run_weft("devices", "--calibrate", "--json", "--device", "cpu", env=cache).stdout)
        self.assertEqual(listing["cpu"]["calibration"], again["cpu"]["calibration"], "measured once")
        anew = self.run_weft("devices", "--calibrate", "--again", "--json", "--device", "cpu", env=cache)
        self.assertNotEqual(listing["cpu"]["calibration"], json.loads(anew.stdout)["cpu"]["calibration"])
        self.assert_fails(self.run_weft("devices", "--again", env=cache), "--calibrate", code=2)

    def test_devices_rank(self):
        cache = {"WEFT_CACHE_DIR": str(self.folder / "cache")}
        rank = ["devices", "--rank", self.model, "--batch", 2, "--length", 8]
        report = json.loads(self.run_weft(*rank, "--json", env=cache).stdout)
        ranking = report["ranking"]
        self.assertEqual(len(ranking), 1 + len(json.loads(self.run_weft("devices", "--json").stdout)["adapters"]))
        seconds = [entry["seconds"] for entry in ranking]
        self.assertEqual(seconds, sorted(seconds))
        self.assertGreater(seconds[0], 0)
        self.assertEqual(ranking[0]["backend"], "cpu", "a tiny graph")
        text = self.run_weft(*rank, "--device", "cpu", env=cache).stdout.decode()
        self.assertRegex(text, r"^2 × 8 tokens, .*\n +[\d.]+ ms, +[\d.]+ ms to +[\d.]+ ms  cpu \(cpu\)\n"
                               r"While they were measured, other programs used \d+ % of the processors")
        digits = [n.replace(".", "").lstrip("0") for n in re.findall(r"([\d.]+) m?s", text)]
        self.assertEqual([n for n in digits if len(n.rstrip("0")) > 2], [], "two digits")
        for entry in ranking:
            self.assertTrue(entry["low_seconds"] < entry["seconds"] < entry["high_seconds"], entry)
            self.assertTrue(0 <= entry["others_used"] <= 1, entry)
        self.assert_fails(self.run_weft("devices", "--batch", 2), "--rank", code=2)
        self.assert_fails(self.run_weft("devices", "--rank", self.folder / "nowhere"), "nowhere")

    def test_a_page_holds_any_name(self):
        page = self.output / "p.html"
        odd = self.folder / "<!--<script> & 'model'"
        self.model.rename(odd)
        process = self.run_weft("profile", "graph", odd, "--device", "cpu", "--length", 8, "--runs", 1, "--html", page,
                                env={"WEFT_CACHE_DIR": str(self.folder / "cache")})
        self.assertEqual(process.returncode, 0, process.stderr)
        html = page.read_text()
        self.assertEqual((html.count("<script"), html.count("<!--")), (1, 0))
        data = re.search(r"const P = (.*);\n", html)[1]
        self.assertTrue(json.loads(data)["title"].startswith(odd.name))

    def test_switches(self):
        base = ["graph", self.model, "--device", "cpu", "--batch", 1, "--length", 8, "--runs", 1]
        reported = self.run_weft("profile", *base, "--dispatch-report", "on").stderr.decode()
        self.assertIn("dispatches on cpu", reported)
        dumped = self.embed("--dump-values", "on", "-").stderr.decode()
        self.assertIn("largest |value|", dumped)
        # Nothing is read back: for benchmarks, not for results.
        self.assertEqual(self.run_weft("profile", *base, "--dispatch-only", "on").returncode, 0)
        self.assert_fails(self.embed("--dispatch-only", "on", "-"), "--dispatch-only", "zeros")
        self.assert_fails(self.embed("--output", self.output / "v.npy", "-", env={"WEFT_DISPATCH_ONLY": "on"}),
                          "WEFT_DISPATCH_ONLY", "zeros")

        unknown = self.run_weft("devices", "--device", "cpu", "--log", "info,shedule")
        self.assertEqual(unknown.returncode, 0)
        self.assertIn(b"there is no topic 'shedule'; the nearest name is 'schedule'", unknown.stderr)

    # ---- Invalid input

    def test_usage(self):
        self.assert_fails(self.run_weft("embed"), "--model", "--help", code=2)
        self.assert_fails(self.run_weft("embbed"), "'embbed'", "embed, tokenize", code=2)
        self.assert_fails(self.run_weft("--embbed"), "no option --embbed", code=2)
        self.assert_fails(self.run_weft("embbed"), "the nearest name is 'embed'", code=2)
        for words in (["embed", "--modle", "x", "s.txt"], ["embed", "--modle=x"], ["tokenize", "--modle", "x"],
                      ["profile", "embed", "--modle", "x"]):
            self.assert_fails(self.run_weft(*words), "no option --modle; the nearest name is '--model'", code=2)
        self.assert_fails(self.embed("--preccision", "f16"), "'weft embed'", "the nearest name is '--precision'", code=2)
        self.assert_fails(self.embed("--memory_limit", "1G"), "the nearest name is '--memory-limit'", code=2)
        self.assert_fails(self.run_weft("graph", self.model, "again"), "'weft graph'", "no place for 'again'", code=2)
        self.assert_fails(self.run_weft("profile", "grpah"), "the nearest name is 'graph'", code=2)
        self.assert_fails(self.run_weft(), "needs a command", "embed, tokenize", code=2)
        self.assert_fails(self.run_weft("profile"), "'weft profile' needs a command: embed, graph", code=2)
        self.assert_fails(self.run_weft("profile", "grpah"), "'grpah'", "'weft profile'", "embed, graph", code=2)
        self.assert_fails(self.run_weft("profile", "graph"), "MODEL", "'weft profile graph --help'", code=2)
        for words in (["profile", "--"], ["profile", "run", "--"], ["profile", "--json", "--"], ["--device", "cpu", "profile", "--"]):
            process = self.run_weft(*words)
            self.assert_fails(process, "PROGRAM", "'weft profile run --help'", code=2)
            self.assertNotIn(b"no option", process.stderr)
        # Each count says what it takes: words, fractions and what no integer holds are no whole numbers in a range.
        sentences, graph = ["--model", self.model], [self.model]
        for command, option, least, most in [
                (["embed", *sentences], "--batch", 1, 65536), (["graph", *graph], "--batch", 1, 65536),
                (["graph", *graph], "--length", 1, 65536), (["graph", *graph], "--depth", 0, 1000),
                (["profile", "embed", *sentences], "--batch", 1, 65536), (["profile", "embed", *sentences], "--runs", 1, 10000),
                (["profile", "graph", *graph], "--batch", 1, 65536), (["profile", "graph", *graph], "--length", 1, 65536),
                (["profile", "graph", *graph], "--runs", 1, 10000), (["devices", "--rank", self.model], "--batch", 1, 65536),
                (["devices", "--rank", self.model], "--length", 1, 65536)]:
            with self.subTest([*command, option]):
                for value in ("abc", "1.5", "0x10", "1e3", "4 "):
                    self.assert_fails(self.run_weft(*command, option, value), option,
                                      f"'{value}' is no whole number, expected {least} to {most}", code=2)
                for value in (least - 1, most + 1, 10 ** 30, -10 ** 30):
                    self.assert_fails(self.run_weft(*command, f"{option}={value}"), option,
                                      f"{value} is not in {least} to {most}", code=2)
                words = [word for word in command if isinstance(word, str) and not word.startswith("-")]
                self.assertIn(f"INT in [{least} - {most}]", self.run_weft(*words, "--help").stdout.decode())
        # The value of a setting is part of the command line too.
        self.assert_fails(self.run_weft("--fusion", "perhaps", "devices"), "--fusion", "on or off", code=2)
        self.assert_fails(self.run_weft("--f16-error-bound", "-1", "devices"), "--f16-error-bound", code=2)

    # As of a variable of a script that is not set: an empty name is neither standard output nor this directory.
    def test_an_empty_name_of_a_file(self):
        model = self.model
        for arguments, option in [
                (["embed", "--model", model, "-o", ""], "--output"), (["embed", "--model", model, "--output=", "-"], "--output"),
                (["embed", "--model", model, "--cache-dir=", "-"], "--cache-dir"),
                (["embed", "--model", "", "-"], "--model"), (["embed", "--model", model, ""], "FILE"),
                (["tokenize", "--model", "", "-"], "--model"), (["tokenize", "--model", model, ""], "FILE"),
                (["graph", ""], "MODEL"), (["graph", model, "-o", ""], "--output"),
                (["profile", "graph", ""], "MODEL"), (["profile", "graph", model, "--html", ""], "--html"),
                (["profile", "embed", "--model", model, "--trace", "", "-"], "--trace"),
                (["profile", "embed", "--model", "", "-"], "--model"), (["profile", "embed", "--model", model, ""], "FILE"),
                (["profile", "run", "--html", "", "--", "true"], "--html"),
                (["check", "webnn", ""], "FILE|DIR"), (["check", "webnn", "--json", "", self.folder], "--json"),
                (["devices", "--rank", ""], "--rank"),
                *[([command, "--" + setting, ""], "--" + setting) for command in ("devices", "kernels")
                  for setting in ("cache-dir", "dump-wgsl", "profile-to")]]:
            with self.subTest(arguments):
                process = self.run_weft(*arguments)
                self.assert_fails(process, option, "empty", code=2)
                self.assertEqual(process.stdout, b"")

    # What documents say of help: the settings are in --help-all alone.
    def test_documents_name_the_help_that_lists_settings(self):
        self.assertNotIn(b"--cache-dir", self.run_weft("--help").stdout)
        self.assertIn(b"--cache-dir", self.run_weft("--help-all").stdout)
        root = pathlib.Path(__file__).resolve().parents[2]
        for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
            for sentence in re.split(r"[.;]\s", page.read_text(encoding="utf-8")):
                if re.search(r"`weft --help`", sentence):
                    self.assertNotRegex(sentence, r"setting|switch|flag", page.name)

    def test_padding_on_the_left_is_told(self):
        plain = self.embed("-")
        config = {"do_lower_case": True, "model_max_length": POSITIONS, "padding_side": "left"}
        (self.model / "tokenizer_config.json").write_text(json.dumps(config))
        process = self.embed("-")
        self.assertEqual((process.returncode, process.stdout), (0, plain.stdout))
        self.assertEqual(plain.stderr, b"")
        self.assertIn(b"padding on the left is not used", process.stderr)
        self.assertEqual(len(process.stderr.splitlines()), 1)

    def test_missing_model(self):
        self.model = self.folder / "nowhere"
        self.assert_fails(self.embed("-"), "nowhere")

    def test_missing_input(self):
        self.assert_fails(self.embed(self.folder / "no.txt"), "no.txt")
        self.assert_fails(self.embed(self.folder), str(self.folder))

    def test_broken_config(self):
        (self.model / "config.json").write_text('{"model_type": ')
        self.assert_fails(self.embed("-"), "config.json")

    def test_unknown_architecture(self):
        (self.model / "config.json").write_text(json.dumps({**CONFIG, "model_type": "roberta"}))
        self.assert_fails(self.embed("-"), "roberta", "distilbert")

    def test_config_of_the_wrong_type(self):
        (self.model / "config.json").write_text(json.dumps({**CONFIG, "hidden_size": "wide"}))
        self.assert_fails(self.embed("-"), "hidden_size", "integer")

    def test_weights(self):
        path = self.model / "model.safetensors"
        whole = path.read_bytes()
        tensors = weights()
        cases = {
            "missing file": lambda: path.unlink(),
            "empty file": lambda: path.write_bytes(b""),
            "truncated": lambda: path.write_bytes(whole[:-10]),
            "header length lies": lambda: path.write_bytes(struct.pack("<Q", 1 << 60) + whole[8:]),
            "header is no JSON": lambda: path.write_bytes(struct.pack("<Q", 8) + b"notjson!" + whole[8:]),
            "a weight is missing": lambda: write_safetensors(path, {k: v for k, v in tensors.items() if "query" not in k}),
            "wrong type": lambda: write_safetensors(path, tensors, "I32"),
            "wrong shape": lambda: write_safetensors(
                path, {**tensors, "embeddings.LayerNorm.bias": ([HIDDEN // 2], [0.0] * (HIDDEN // 2))}),
        }
        for name, spoil in cases.items():
            with self.subTest(name):
                path.write_bytes(whole)
                spoil()
                self.assert_fails(self.embed("--output", self.output / "v.npy", "-"), "model")

    def test_invalid_utf8(self):
        path = self.folder / "s.txt"
        path.write_bytes(b"hello\nworld \xff\xfe\n")
        self.assert_fails(self.embed("--output", self.output / "v.jsonl", path), "s.txt", "2")

    def test_broken_jsonl(self):
        path = self.folder / "s.jsonl"
        path.write_text('"hello"\n{"text": 3}\n')
        self.assert_fails(self.embed("--output", self.output / "v.jsonl", path), "s.jsonl", "2")

    def test_unknown_device(self):
        process = self.run_weft("embed", "--model", self.model, "--device", "quantum", "-")
        self.assert_fails(process, "quantum", "(--device)", "and cpu", "weft embed --help", code=2)
        process = self.run_weft("embed", "--model", self.model, "--device", "cpuu", "-")
        self.assert_fails(process, "'cpuu'", "the nearest name is 'cpu'", code=2)
        process = self.run_weft("embed", "--model", self.model, "-", env={"WEFT_DEVICE": "cpuu"})
        self.assert_fails(process, "'cpuu' (WEFT_DEVICE)", "the nearest name is 'cpu'")

    def test_the_device_of_the_variable(self):
        process = self.run_weft("embed", "--model", self.model, "-", env={"WEFT_DEVICE": "cpu"})
        self.assertIn("weft: cpu: WEFT_DEVICE asks for it\n", process.stderr.decode())
        process = self.run_weft("embed", "--model", self.model, "--device", "cpu", "-", env={"WEFT_DEVICE": "quantum"})
        self.assertIn("weft: cpu: --device asks for it\n", process.stderr.decode())

    def test_variables(self):
        # A value that means nothing is told whatever the command and the device.
        for command in (["devices", "--device", "cpu"], ["kernels"], ["tokenize", "--model", self.model, "-"],
                        ["embed", "--model", self.model, "--device", "cpu", "-"]):
            self.assert_fails(self.run_weft(*command, env={"WEFT_F16": "maybe"}), "WEFT_F16", "on or off")
        # An unknown one is named once, and the work is done.
        process = self.embed("-", env={"WEFT_FUSON": "off"})
        self.assertEqual(process.returncode, 0)
        self.assertEqual(process.stderr.decode().count("WEFT_FUSON has no meaning; the nearest name is WEFT_FUSION"), 1)
        self.assertEqual(self.embed("-", env={"WEFT_MODEL_DIR": "/", "WEFT_TEST_DEVICES": "cpu"}).stderr, b"")

    def test_no_adapter(self):
        nothing = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent", "LIBGL_DRIVERS_PATH": "/nonexistent",
                   "__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent"}
        process = self.run_weft("embed", "--model", self.model, "--device", "vulkan", "-", env=nothing)
        self.assert_fails(process, "adapter")

    def test_out_of_memory(self):
        if not any(a["software"] for a in json.loads(self.run_weft("devices", "--json").stdout)["adapters"]):
            self.skipTest("no software adapter here")
        process = self.run_weft("embed", "-q", "--model", self.model, "--device", "llvmpipe", "--memory-limit", "1K", "-",
                                "--output", self.output / "v.npy")
        self.assert_fails(process, "memory")

    def test_full_disk(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("no /dev/full here")
        self.assert_fails(self.embed("--output", "/dev/full", "-"), "space")
        with open("/dev/full", "wb") as full:
            process = self.embed("-", stdout=full)
            self.assert_fails(process, "standard output", "space")
            self.assertNotIn(b"left behind", process.stderr, "there is no file")
            for command in (["--help"], ["--help-all"], ["--version"], ["embed", "--help"]):
                self.assert_fails(self.run_weft(*command, stdout=full), "standard output")
            for command in (["kernels"], ["devices", "--device", "cpu"], ["devices", "--json", "--device", "cpu"]):
                self.assert_fails(self.run_weft(*command, stdout=full), "standard output")

    def test_no_such_directory(self):
        self.assert_fails(self.embed("--output", self.output / "no" / "v.npy", "-"), "v.npy")

    # ---- What outputs lead to

    def embedded(self, *arguments, **options):
        """Its process, which must succeed, and the vectors that standard output has."""
        process = self.embed(*arguments, stdin=b"a\nhello\n", **options)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def test_standard_output_by_its_name(self):
        """As `-`, whatever it is: a pipe, a socket, a file, of which what is in it already stays."""
        expected = self.embedded("-").stdout
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            if not os.path.lexists(os.path.dirname(name)):
                continue
            self.assertEqual(self.embedded("--output", name).stdout, expected, name)
            before = os.lstat("/dev/stdout")
            for mode in ("wb", "ab"):
                with open(self.folder / "out.txt", mode) as file:
                    file.write(b"before\n")
                    file.flush()
                    self.embedded("--output", name, stdout=file)
                    file.write(b"after\n")
            self.assertEqual((self.folder / "out.txt").read_bytes(), 2 * (b"before\n" + expected + b"after\n"))
            (self.folder / "out.txt").unlink()
            self.assertEqual(os.lstat("/dev/stdout"), before, "the link is as it was")
            ours, theirs = socket.socketpair()
            with ours, theirs:
                self.embedded("--output", name, stdout=theirs.fileno())
                theirs.shutdown(socket.SHUT_RDWR)
                self.assertEqual(ours.makefile("rb").read(), expected)
        reader, writer = os.pipe()
        os.close(reader)
        process = self.embed("--output", "/dev/stdout", "-", stdout=writer)
        os.close(writer)
        self.assertEqual((process.returncode, process.stderr), (128 + signal.SIGPIPE, b""))

    def test_a_descriptor_by_its_number(self):
        expected = self.embedded("-").stdout
        with open(self.folder / "three", "wb") as file:
            process = subprocess.run([WEFT, "embed", "-q", "--device", "cpu", "--model", self.model, "--output",
                                      f"/dev/fd/{file.fileno()}", "-"], input=b"a\nhello\n", pass_fds=[file.fileno()],
                                     capture_output=True, timeout=120, check=False)
        self.assertEqual((process.returncode, process.stdout, process.stderr), (0, b"", b""))
        self.assertEqual((self.folder / "three").read_bytes(), expected)
        self.assert_fails(self.embed("--output", "/dev/fd/99", "-"), "/dev/fd/99", "Bad file descriptor")
        if os.path.isdir("/proc/self/fd"):  # of another process: ours
            with open(self.folder / "ours", "wb") as file:
                file.write(b"before\n")
                file.flush()
                self.embedded("--output", f"/proc/{os.getpid()}/fd/{file.fileno()}")
            self.assertEqual((self.folder / "ours").read_bytes(), b"before\n" + expected)
        for command in (["profile", "graph", self.model, "--device", "cpu", "--runs", 1, "--length", 8, "--trace"],
                        ["graph", self.model, "--output"]):
            target = self.folder / "redirected"
            cache = {"WEFT_CACHE_DIR": str(self.folder / "cache")}
            with open(target, "wb") as file:
                process = self.run_weft(*command, "/dev/stdout", stdout=file, env=cache)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn(b"traceEvents" if command[0] == "profile" else b"digraph", target.read_bytes())

    def test_pipes_and_devices(self):
        self.embedded("--output", "/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))
        formats = {"plain": self.embedded("-").stdout}
        for name in ("v.npy", "v.safetensors"):  # whose beginning is known at the end
            self.embedded("--output", self.folder / name)
            formats[name] = (self.folder / name).read_bytes()
            (self.folder / name).unlink()
        for name, expected in formats.items():
            pipe = self.folder / name
            os.mkfifo(pipe)
            with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
                self.embedded("--output", pipe)
                self.assertEqual(reader.stdout.read(), expected, name)
            self.assertTrue(pipe.is_fifo(), name)

    def test_links_and_modes(self):
        """The file that links lead to is replaced, and keeps its mode; links stay."""
        expected = self.embedded("-").stdout
        inner = self.output / "inner"
        inner.mkdir()
        target = inner / "v.jsonl"
        target.write_text("old")
        target.chmod(0o640)
        (self.output / "one").symlink_to("inner/v.jsonl")
        (self.output / "two").symlink_to(self.output / "one")
        (self.output / "new").symlink_to("inner/new.jsonl")
        for name in ("two", "new", "inner/v.jsonl"):
            self.embedded("--output", self.output / name)
        self.assertEqual(target.read_bytes(), expected)
        self.assertEqual(target.stat().st_mode & 0o7777, 0o640)
        self.assertEqual((inner / "new.jsonl").read_bytes(), expected)
        self.assertTrue(all((self.output / name).is_symlink() for name in ("one", "two", "new")))
        self.assertEqual(sorted(p.name for p in inner.iterdir()), ["new.jsonl", "v.jsonl"])
        if os.geteuid() == 0:
            os.chown(target, 1234, 4321)
            self.embedded("--output", target)
            self.assertEqual((target.stat().st_uid, target.stat().st_gid), (1234, 4321), "and its owner")

    def test_read_only_files_stay(self):
        target = self.folder / "v.jsonl"
        target.write_text("old")
        target.chmod(0o444)
        for name in (target, self.folder / "link"):
            if name != target:
                name.symlink_to(target)
            self.assert_fails(self.embed("--output", name, "-"), name.name, "read-only")
        self.assertEqual(target.read_text(), "old")
        self.assert_fails(self.embed("--output", self.folder, "-"), "a directory")

    def test_names_of_any_length(self):
        for length in (242, 243, 251, 255):
            name = "n" * (length - 4) + ".npy"
            self.embedded("--output", self.output / name)
            self.assertEqual([p.name for p in self.output.iterdir()], [name])
            (self.output / name).unlink()
        self.assert_fails(self.embed("--output", self.output / ("n" * 256), "-"), "File name too long")

    def test_the_case_of_a_name_does_not_matter(self):
        self.embedded("--output", self.output / "v.NPY")
        self.assertTrue((self.output / "v.NPY").read_bytes().startswith(b"\x93NUMPY"))
        self.embedded("--output", self.output / "v.SafeTensors")
        self.assertIn(b"embeddings", (self.output / "v.SafeTensors").read_bytes()[:32])
        jsonl = self.folder / "s.JSONL"
        jsonl.write_text('"hello world"\n')
        self.assertEqual(self.embed(jsonl).stdout, self.embed("-").stdout)

    def test_a_file_too_large(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        process = subprocess.run([WEFT, "embed", "-q", "--device", "cpu", "--model", self.model, "--output",
                                  self.output / "v.npy", "-"], input=b"a\nb\n" * 50, capture_output=True, preexec_fn=limit,
                                 timeout=120, check=False)
        self.assert_fails(process, "v.npy", "File too large")

    def test_closed_pipe(self):
        """As with `| head -1`: the end, as of a program that SIGPIPE ends, and no word."""
        for command in (["embed", "-q", "--device", "cpu", "--model", self.model, "-"], ["kernels"], ["--help"],
                        ["devices", "--device", "cpu"], ["tokenize", "--model", self.model, "-"]):
            reader, writer = os.pipe()
            os.close(reader)
            try:
                process = self.run_weft(*command, stdout=writer)
            finally:
                os.close(writer)
            self.assertEqual((process.returncode, process.stderr), (128 + signal.SIGPIPE, b""), command)

    # ---- Signals and terminals

    def test_signals_leave_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            process = subprocess.Popen([WEFT, "embed", "-q", "--device", "cpu", "--model", self.model, "--output",
                                        self.output / "v.npy", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdin.write(b"hello world\n" * 2000)
            process.stdin.flush()
            deadline = time.monotonic() + 60
            while not list(self.output.iterdir()) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual([p.suffix for p in self.output.iterdir()], [".part"])
            process.send_signal(number)
            process.stdin.close()
            self.assertEqual(process.wait(60), 128 + number)
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()
            self.assertEqual(list(self.output.iterdir()), [], "what was half-written is gone")

    def on_terminal(self, *arguments, stdin=None):
        """Starts it with standard error, and without `stdin` also standard input, on a terminal: the process, and our
        end of the terminal."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([WEFT, *map(str, arguments)], stdin=theirs if stdin is None else stdin,
                                   stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        return process, ours

    def read_until(self, terminal, text):
        shown = b""
        while text not in shown:
            ready = select.select([terminal], [], [], 60)[0]
            self.assertTrue(ready, f"{text} does not come after {shown}")
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the other side is closed
                self.fail(f"{text} is not in {shown}")
        return shown

    def read_rest(self, terminal):
        rest = b""
        try:
            while part := os.read(terminal, 4096):
                rest += part
        except OSError:  # the other side is closed
            pass
        return rest

    def test_says_that_it_waits(self):
        process, terminal = self.on_terminal("embed", "--device", "cpu", "--model", self.model)
        shown = self.read_until(terminal, b"asks for it")
        self.assertIn(b"waiting for sentences on standard input", shown)
        os.write(terminal, b"hello world\n\x04")
        self.assertEqual(len(self.vectors(process.stdout.read())), 1)
        self.assertEqual(process.wait(60), 0)
        process.stdout.close()
        os.close(terminal)

    def test_progress_counts_what_is_done(self):
        lines = self.folder / "lines.txt"
        lines.write_text("hello world\n" * 1000)
        process, terminal = self.on_terminal("embed", "--device", "cpu", "--model", self.model, lines, stdin=subprocess.DEVNULL)
        shown = self.read_until(terminal, b"  0 %")
        self.assertTrue(shown.startswith(b"\r\x1b[Kembed: opening the device and the model"), "at once")
        self.assertIn(b"weft: cpu: --device asks for it\r\n", shown)
        self.assertEqual(len(process.stdout.read().splitlines()), 1000)
        self.assertEqual(process.wait(60), 0)
        shown += self.read_rest(terminal)
        counts = [int(n) for n in re.findall(r"% · (\d+) ·", shown.decode())]
        self.assertEqual(counts, sorted(counts))
        self.assertTrue(all(n % 32 == 0 or n == 1000 for n in counts), counts)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "the line is gone at the end")
        process.stdout.close()
        os.close(terminal)

    # ---- Models

    def test_prompts(self):
        lines = b"a\nhello world\n"
        said = b"hello a\nhello hello world\n"
        plain, expected = (self.vectors(self.embed("-", stdin=text).stdout) for text in (lines, said))
        (self.model / "config_sentence_transformers.json").write_text(json.dumps(
            {"prompts": {"greeting": "hello ", "nothing": ""}, "default_prompt_name": "greeting"}))
        for arguments, vectors in (([], expected), (["--prompt", "greeting"], expected), (["--prompt", "none"], plain),
                                   (["--prompt", "nothing"], plain), (["--prompt", "query"], plain)):
            self.assertEqual(self.vectors(self.embed(*arguments, "-", stdin=lines).stdout), vectors, arguments)
        process = self.run_weft("embed", "--device", "cpu", "--model", self.model, "-")
        self.assertIn(b'weft: "hello " comes before each sentence', process.stderr)
        ids = lambda *arguments, stdin: self.run_weft("tokenize", "--model", self.model, *arguments, "-", stdin=stdin).stdout
        self.assertEqual(ids(stdin=lines), ids("--prompt", "none", stdin=said))
        self.assertNotEqual(ids("--prompt", "none", stdin=lines), ids(stdin=lines))
        self.assert_fails(self.embed("--prompt", "nobody", "-"), "nobody", "greeting", "none")
        self.assertIn(b"--prompt NAME|none", self.run_weft("embed", "--help").stdout)

    def test_a_graph_needs_no_tokenizer(self):
        (self.model / "vocab.txt").unlink()
        cache = {"WEFT_CACHE_DIR": str(self.folder / "cache")}
        process = self.run_weft("graph", self.model, "--output", "-")
        self.assertEqual(process.returncode, 0, process.stderr)
        process = self.run_weft("profile", "graph", self.model, "--device", "cpu", "--runs", 1, "--length", 8, env=cache)
        self.assertEqual(process.returncode, 0, process.stderr)
        process = self.run_weft("devices", "--rank", self.model, "--device", "cpu", env=cache)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assert_fails(self.embed("-"), "neither tokenizer.json nor vocab.txt")

    # ---- Memory and time

    def measured(self, *arguments, lines):
        """Seconds of the processor and MiB at the most that it takes, from a file; it must succeed."""
        program = pathlib.Path(WEFT).read_bytes()
        if b"__asan_init" in program or b"__tsan_init" in program:
            self.skipTest("sanitizers take memory of their own")
        path = self.folder / "lines.txt"
        with open(path, "wb") as file:
            for line in lines:
                file.write(line)
        with open(os.devnull, "wb") as nowhere:
            child = subprocess.Popen([WEFT, *map(str, arguments), "--model", self.model, path], stdout=nowhere)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024

    def test_a_word_of_many_marks(self):
        """Linear time, and little more memory than the text takes: marks that are dropped, and that are ordered."""
        mib = 1 << 20
        small = self.measured("tokenize", lines=[b"a"])[1]
        for mark in ("\u0301", "\u0f76", "\u302e", "\u0344"):
            text = mark.encode()
            seconds, memory = self.measured("tokenize", lines=[b"a", text * (60 * mib // len(text))])
            self.assertLess(memory - small, 60 * 4, mark)
            self.assertLess(seconds, 10, mark)

    def test_a_batch_of_any_size_takes_bounded_memory(self):
        self.model = make_model(self.folder / "wide", intermediate=4096)  # 128 KiB a sentence of eight tokens
        (self.model / "config.json").write_text(json.dumps({**CONFIG, "intermediate_size": 4096, "hidden_act": "relu"}))
        lines = [b"hello world a b\n" * 8000]
        self.assertLess(self.measured("embed", "-q", "--device", "cpu", "--batch", 65536, lines=lines)[1], 600)

    # ---- Results that would be wrong in silence

    def test_cut_sentences_are_counted(self):
        long = b"hello " * 1000
        for command in (["embed", "--device", "cpu"], ["tokenize"]):
            process = self.run_weft(*command, "--model", self.model, "-", stdin=b"a\n" + long + b"\n" + long)
            self.assertEqual(process.returncode, 0)
            self.assertIn(f"weft: 2 of 3 sentences had more than the model's {POSITIONS} tokens and were cut there\n",
                          process.stderr.decode())
        exact = b"hello " * (POSITIONS - 2)
        self.assertNotIn(b"cut", self.run_weft("tokenize", "--model", self.model, "-", stdin=exact).stderr)
        self.assertEqual(self.embed("-", stdin=long).stderr, b"", "--quiet")

    def test_json_is_not_taken_for_text(self):
        jsonl = b'{"text": "hello world"}\n{"text": "a"}\n'
        expected = self.vectors(self.embed("-", stdin=b"hello world\na\n").stdout)
        self.assert_fails(self.embed("--output", self.output / "v.npy", "-", stdin=jsonl), "JSON", "--format jsonl")
        self.assertEqual(self.vectors(self.embed("--format", "jsonl", "-", stdin=jsonl).stdout), expected)
        as_text = self.embed("--format", "text", "-", stdin=jsonl)
        self.assertEqual(len(self.vectors(as_text.stdout)), 2)
        self.assertNotEqual(self.vectors(as_text.stdout), expected)
        path = self.folder / "s.json"
        path.write_bytes(jsonl)
        self.assert_fails(self.embed(path), "s.json", "--format")
        self.assertEqual(self.vectors(self.embed("--format", "jsonl", path).stdout), expected)
        process = self.run_weft("tokenize", "--model", self.model, "-", stdin=b'a\n{"text": "a"}\n"b"\n')
        self.assertIn(b"2 of 3 sentences looked like JSON and were taken as text; --format jsonl", process.stderr)
        self.assert_fails(self.embed("--format", "csv", "-"), "--format", code=2)

    def test_the_name_of_the_output_tells_its_form(self):
        self.assert_fails(self.embed("--output", self.output / "v.npz", "-"), "v.npz", ".npy", code=2)
        target = self.output / "v.safetensors"
        self.assertEqual(self.embed("--output", target, "-", stdin=b"a\nb\nhello\n").returncode, 0)
        data = target.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        entry = json.loads(data[8:8 + size])["embeddings"]
        self.assertEqual(entry, {"dtype": "F32", "shape": [3, HIDDEN], "data_offsets": [0, 3 * HIDDEN * 4]})
        expected = sum(self.vectors(self.embed("-", stdin=b"a\nb\nhello\n").stdout), [])
        for got, want in zip(array.array("f", data[8 + size:]), expected):
            self.assertAlmostEqual(got, want, places=6)

    def test_weights_and_modules_that_do_not_fit(self):
        path = self.model / "model.safetensors"
        extra = {name.replace("layer.0", "layer.1"): value for name, value in weights().items()}
        write_safetensors(path, {**weights(), **extra})
        self.assert_fails(self.embed("-"), "encoder.layer.1.", "config.json")
        write_safetensors(path, {**weights(), "adapter.weight": ([1], [0.0]), "pooler.dense.bias": ([1], [0.0])})
        process = self.embed("-")
        self.assertEqual(process.returncode, 0)
        self.assertIn(b'1 weight is not used: "adapter.weight"', process.stderr)
        path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 90868376\n")
        self.assert_fails(self.embed("-"), "Git LFS pointer", "90868376")
        write_safetensors(path, weights())
        (self.model / "1_Pooling").mkdir()
        self.assert_fails(self.embed("-"), "1_Pooling", "modules.json")


if __name__ == "__main__":
    WEFT = sys.argv.pop(1)
    unittest.main()
