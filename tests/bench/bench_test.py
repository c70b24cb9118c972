#!/usr/bin/env python3
"""The benchmark's files and messages, on a few small cases.  bench_test.py WEFT_BENCH"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BENCH = None


class Bench(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def run_bench(self, *arguments, only="copy u8"):
        environment = {**os.environ, "WEFT_CACHE_DIR": str(self.folder / "cache")}
        environment.pop("WEFT_MODEL_DIR", None)
        command = [BENCH, *(["kernels", "--only", only] if only else []), "--device", "cpu", "--mebibytes", "1",
                   "--seconds", "0.01", *map(str, arguments)]
        if not only:
            command = [BENCH, *map(str, arguments)]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True,
                              timeout=300, check=False)

    def assert_fails(self, process, *words):
        self.assertNotEqual(process.returncode, 0)
        for word in words:
            self.assertIn(word, process.stderr)

    def test_results_are_written_compared_and_drawn(self):
        first, second, plot = self.folder / "1.jsonl", self.folder / "2.jsonl", self.folder / "p.svg"
        process = self.run_bench("--json", "--output", first)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stdout, first.read_text())
        results = [json.loads(line) for line in first.read_text().splitlines()]
        copies = [r for r in results if r["name"].startswith("copy u8")]
        self.assertEqual(len(copies), 1, results)
        copy = copies[0]
        self.assertGreater(copy["value"], 0)
        self.assertEqual((copy["unit"], copy["right"]), ("GB/s", True))
        # Compared with half of the values, and drawn as a picture.
        first.write_text(json.dumps({**copy, "value": copy["value"] / 2}) + "\n")
        process = self.run_bench("--json", "--output", second, "--compare", first, "--plot", plot)
        self.assertEqual(process.returncode, 0, process.stderr)
        again = json.loads(second.read_text().splitlines()[0])
        self.assertAlmostEqual(again["before"], copy["value"] / 2)
        self.assertAlmostEqual(again["ratio"], again["value"] / again["before"])
        root = xml.etree.ElementTree.parse(plot).getroot()
        texts = ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn(copy["name"], texts)
        self.assertEqual(len([r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("class") == "p"]), 1)

    def test_what_is_wrong_is_told_before_the_work(self):
        self.assert_fails(self.run_bench("--output", self.folder / "no" / "o.jsonl"), "o.jsonl")
        self.assert_fails(self.run_bench("--plot", self.folder / "no" / "p.svg"), "p.svg")
        self.assert_fails(self.run_bench("--compare", self.folder / "nothing"), "nothing")
        bad = self.folder / "bad.jsonl"
        bad.write_text('a line of text\n{"name": "copy", "value": "fast"}\n')
        self.assert_fails(self.run_bench("--compare", bad), "bad.jsonl", "line 2")
        self.assert_fails(self.run_bench("encoder", only=None), "--model")
        self.assert_fails(self.run_bench("kernles", only=None), "kernles")
        self.assert_fails(self.run_bench("kernels", "--device", "quantum", only=None), "quantum")
        for option, value in (("--mebibytes", "0"), ("--mebibytes", "-1"), ("--mebibytes", "99999999"), ("--seconds", "-1"),
                              ("--warm-up", "-0.5"), ("--seconds", "soon")):
            process = self.run_bench("kernels", "--device", "cpu", option, value, only=None)
            self.assert_fails(process, option, value)
            self.assertEqual(process.returncode, 2, process.stderr)

    def test_families_are_chosen(self):
        process = self.run_bench("--families", "copy,rows", "--warm-up", "0.01", "--json", only="bf16 [")
        self.assertEqual(process.returncode, 0, process.stderr)
        results = [json.loads(line) for line in process.stdout.splitlines()]
        names = {r["name"].split(" bf16")[0] for r in results if "right" in r}
        lines = {f"{what} of {where}" for what in ("sum", "mean", "max", "argmax") for where in ("rows", "columns")}
        norms = {f"{what} norm" for what in ("layer", "rms", "group", "instance", "batch")}
        self.assertEqual(names, {"copy", "transpose", "softmax", "log softmax", "softmax of columns"} | norms | lines)
        self.assert_fails(self.run_bench("--families", "copy,columns"), "columns", "rows")

    def test_the_hosts_time_of_calls(self):
        self.assert_fails(self.run_bench("host", "--device", "cpu", only=None), "host", "--device")
        self.assert_fails(self.run_bench("host", "--calls", "0", only=None), "--calls")
        process = self.run_bench("host", "--device", "llvmpipe", "--seconds", "0.01", "--calls", "16", "--json",
                                 "--only", "softmax", only=None)
        if "no device is called" in process.stderr or "adapters here" in process.stderr:
            self.skipTest(process.stderr)
        self.assertEqual(process.returncode, 0, process.stderr)
        results = [json.loads(line) for line in process.stdout.splitlines()]
        self.assertEqual([r["name"].split(", ")[-1] for r in results],
                         ["buffers seen before", "new buffers", "new sizes"])
        for r in results:
            self.assertTrue(r["right"])
            self.assertGreater(r["bare_us"], 0)
            self.assertAlmostEqual(r["times_bare"], r["value"] / r["bare_us"])

    def test_compiling(self):
        process = self.run_bench("compile", "--device", "cpu", "--seconds", "0.01", "--json", only=None)
        self.assertEqual(process.returncode, 0, process.stderr)
        results = [json.loads(line) for line in process.stdout.splitlines()]
        self.assertEqual([r["steps"] for r in results], [1, 20, 48])
        for r in results:
            self.assertGreater(r["value"], 0)
            self.assertAlmostEqual(r["passes_us"] + r["schedule_us"] + r["plans_us"] + r["memory_plan_us"] +
                                   r["rest_us"], r["value"], places=3)

    def test_no_such_case(self):
        self.assert_fails(self.run_bench(only="no such kernel"), "no case", "no such kernel")


if __name__ == "__main__":
    BENCH = sys.argv.pop(1)
    unittest.main()
