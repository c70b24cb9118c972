#!/usr/bin/env python3
"""Runs `weft check` on small files of conformance data, good, wrong and malformed.

  check_test.py PATH_OF_WEFT
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

WEFT = None
NAN, INFINITY, MINUS_ZERO = {"special": "NaN"}, {"special": "Infinity"}, {"special": "-0"}


def tensor(data, data_type="float32", shape=None, **more):
    if shape is None:
        shape = [len(data)] if isinstance(data, list) else []
    return {"data": data, "descriptor": {"dataType": data_type, "shape": shape}, **more}


def case(name, a, b, expected, metric="ULP", value=0):
    """A data case of a + b."""
    return {
        "name": name,
        "graph": {
            "inputs": {"a": a, "b": b},
            "operators": [{"name": "add", "arguments": [{"a": "a"}, {"b": "b"}], "outputs": "sum"}],
            "expectedOutputs": {"sum": expected},
        },
        "tolerance": {"metricType": metric, "value": value},
    }


def added(name, a, b, expected, data_type="float32", **more):
    return case(name, tensor(a, data_type), tensor(b, data_type), tensor(expected, data_type), **more)


def program(name, *steps):
    start = [
        {"do": "createContext", "args": [{"deviceType": "cpu"}], "unknownMembers": ["deviceType"], "out": "c"},
        {"do": "await", "of": "c", "expect": "ok"},
    ]
    return {"file": "made.js", "name": name, "steps": start + list(steps)}


def step(what, on=None, *args, out=None, expect="ok", **more):
    result = {"do": what, "args": list(args), **more}
    if on:
        result["on"] = on
    if out:
        result["out"] = out
    if expect:
        result["expect"] = expect
    return result


def ref(name):
    return {"ref": name}


def promised(what, on, *args, out, expect="ok", **more):
    return [step(what, on, *args, out=out, expect=None, **more), {"do": "await", "of": out, "expect": expect}]


VECTOR = {"dataType": "float32", "shape": [2]}
BUILDER = step("createBuilder", None, ref("c"), out="b")


def floats(*values, **more):
    return {"buffer": "Float32Array", "byteLength": 4 * len(values), "data": list(values), **more}


def graph_of_a_sum():
    return [
        BUILDER,
        step("input", "b", "x", VECTOR, out="x"),
        step("constant", "b", VECTOR, floats(10, 20), out="k"),
        step("add", "b", ref("x"), ref("k"), {"label": "the sum"}, out="y"),
        *promised("build", "b", {"y": ref("y")}, out="g"),
        *promised("createTensor", "c", {**VECTOR, "writable": True, "readable": True}, out="in"),
        *promised("createTensor", "c", {**VECTOR, "readable": True}, out="out"),
        step("writeTensor", "c", ref("in"), floats(1, 2)),
    ]


class Check(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.data = self.folder / "data"
        self.data.mkdir()

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, name, content):
        path = self.data / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def check(self, *arguments, device="cpu"):
        process = subprocess.run([WEFT, "check", "webnn", "--device", device, *map(str, arguments)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        return process.returncode, process.stdout.decode(), process.stderr.decode()

    def assert_passes(self, tests, count=None):
        code, out, err = self.check(self.write("t.json", tests))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(out.splitlines()[-1], f"{count or len(tests)} passed, 0 failed")
        self.assertEqual(err, "")

    def assert_fails(self, tests, *words):
        """Every one of the tests fails, the first with these words."""
        code, out, err = self.check(self.write("t.json", tests))
        self.assertEqual(code, 1, out + err)
        self.assertEqual(err, "")
        lines = out.splitlines()
        self.assertEqual(lines[-1], f"0 passed, {len(tests)} failed", out)
        self.assertIn(tests[0]["name"], lines[1])
        for word in words:
            self.assertIn(word, lines[2])

    def assert_refused(self, content, *words):
        """A line on standard error, and no crash."""
        code, out, err = self.check(self.write("t.json", content))
        self.assertEqual(code, 1, out + err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("t.json", err)
        for word in words:
            self.assertIn(word, err)

    # ---- Data cases

    def test_good_data_cases_pass(self):
        self.assert_passes([
            added("floats", [1, 2.5], [3, 4], [4, 6.5]),
            added("special values", [NAN, INFINITY, MINUS_ZERO], [1, 1, MINUS_ZERO], [NAN, INFINITY, 0]),
            added("float16 rounds to even", [2049, 2051], [0, 0], [2048, 2052], "float16"),
            added("past a double", [{"bigint": "9007199254740993"}, "-9223372036854775808"], [0, 0],
                  [{"bigint": "9007199254740993"}, "-9223372036854775808"], "int64"),
            added("unsigned 64", ["18446744073709551615"], [0], [{"bigint": "18446744073709551615"}], "uint64"),
            added("typed arrays wrap", [257, -1], [0, 0], [1, 255], "uint8"),
            case("a scalar fills", tensor(1.5, shape=[2, 600]), tensor(2), tensor(3.5, shape=[2, 600])),
            case("constants", tensor([1], constant=True), tensor([2], constant=True), tensor([3])),
            added("no tolerance", [1], [2], [3]) | {"tolerance": None},
            {**added("old names by their places", [1], [2], [3]), "graph": {
                **added("", [1], [2], [3])["graph"], "operators": [
                    {"name": "add", "arguments": [{"lhs": "a"}, {"rhs": "b"}, {"options": {"label": "x"}}],
                     "outputs": ["sum"]}]}},
        ])

    def test_tolerances_end_where_they_say(self):
        one_up = 1.00000011920928955  # the float after 1
        two_up = 1.0000002384185791
        self.assert_passes([
            added("ULP", [one_up], [0], [1], value=1),
            added("ULP across zero", [1e-45], [0], [-1e-45], value=2),
            added("float16 ULP", [1.0009765625], [0], [1], "float16", value=1),
            added("integers", [5, 250], [0, 0], [7, 248], "uint8", value=2),
            added("64 bits", ["-9223372036854775808"], [0], ["-9223372036854775807"], "int64", value=1),
            added("absolute", [1.25], [0], [1], metric="ATOL", value=0.25),
            added("relative", [8.5], [0], [8], metric="RELATIVE", value=0.0625),
        ])
        for failing, words in [
                (added("ULP", [two_up], [0], [1], value=1), ["sum [0] is 1.0000002, expected 1: 2 ULP apart, 1 allowed"]),
                (added("ULP across zero", [1e-45], [0], [-1e-45], value=1), ["2 ULP apart, 1 allowed"]),
                (added("float16 ULP", [1.001953125], [0], [1], "float16", value=1), ["2 ULP apart"]),
                (added("integers", [5], [0], [8], "uint8", value=2), ["is 5, expected 8: 3 apart, 2 allowed"]),
                (added("as they are", [255], [0], [-1], "uint8"), ["is 255, expected -1: 256 apart"]),
                (added("64 bits", ["9007199254740993"], [0], ["9007199254740992"], "int64"), ["1 apart, 0 allowed"]),
                (added("absolute", [1.5], [0], [1], metric="ATOL", value=0.25), ["0.5 apart, 0.25 allowed"]),
                (added("relative", [8.75], [0], [8], metric="RELATIVE", value=0.0625), ["0.75 apart, 0.5 allowed"]),
                (added("NaN", [NAN], [0], [0], value=1e9), ["is nan, expected 0"]),
                (added("infinity", [INFINITY], [0], [0], metric="ATOL", value=1e9), ["is inf, expected 0"])]:
            with self.subTest(failing["name"]):
                self.assert_fails([failing], *words)

    def test_four_bits_an_element(self):
        def quantised(name, op, data, data_type, zero, zero_type, expected, expected_type):
            return {"name": name, "graph": {
                "inputs": {"x": tensor(data, data_type), "scale": tensor([2] * 3, constant=True),
                           "zero": tensor(zero, zero_type, constant=True)},
                "operators": [{"name": op, "arguments": [{"input": "x"}, {"scale": "scale"}, {"zeroPoint": "zero"}],
                               "outputs": "y"}],
                "expectedOutputs": {"y": tensor(expected, expected_type)}}}

        packed = quantised("packed", "quantizeLinear", [2, -4, 100], "float32", [1, -6, 0], "int4", [2, -8, 7], "int4")
        self.assert_passes([
            packed,
            quantised("masked", "dequantizeLinear", [12, -1, 3], "int4", [0, 0, 17], "int4", [-8, -2, 4], "float32"),
            quantised("unsigned", "dequantizeLinear", [31, -2, 3], "uint4", [0, 0, 1], "uint4", [30, 28, 4], "float32"),
        ])
        packed["graph"]["expectedOutputs"]["y"]["data"] = [2, 8, 7]
        self.assert_fails([packed], "y [1] is -8, expected 8: 16 apart, 0 allowed")

    def test_where_the_first_mismatch_is(self):
        wrong = case("c", tensor([[0] * 6][0], shape=[2, 3]), tensor(0), tensor([0, 0, 0, 0, 1, 1], shape=[2, 3]))
        self.assert_fails([wrong], "sum [1, 1] is 0, expected 1", "(2 of 6 elements)")

    def test_only_the_first_elements_of_a_fill_are_compared(self):
        late = case("late", tensor([0] * 1000 + [1]), tensor(0), tensor(0, shape=[1001]))
        self.assert_passes([late])
        self.assert_fails([case("soon", tensor([0] * 999 + [1, 0]), tensor(0), tensor(0, shape=[1001]))],
                          "sum [999] is 1, expected 0", "(1 of 1000 elements)")

    def test_shapes_types_and_errors_fail_a_case(self):
        self.assert_fails([case("shape", tensor([1]), tensor([1]), tensor([2], shape=[1, 1]))],
                          "sum is float32 [1], expected float32 [1, 1]")
        self.assert_fails([case("type", tensor([1]), tensor([1]), tensor([2], "int32"))],
                          "sum is float32 [1], expected int32 [1]")
        self.assert_fails([case("refused", tensor([1, 2]), tensor([1, 2, 3]), tensor([2]))], "TypeError: add: ")
        unknown = added("unknown", [1], [1], [2])
        unknown["graph"]["operators"][0]["name"] = "frobnicate"
        self.assert_fails([unknown], "there is no operation 'frobnicate'")

    def test_a_malformed_case_fails_with_its_path(self):
        def changed(change):
            test = json.loads(json.dumps(added("malformed", [1], [1], [2])))
            change(test["graph"], test)
            return [test]

        for change, words in [
                (lambda g, t: g["inputs"]["a"].update(data=[1, 2]), ['"[0].graph.inputs.a.data"', "2 elements, expected 1"]),
                (lambda g, t: g["inputs"]["a"].update(data=["one"]), ['"[0].graph.inputs.a.data[0]"', "a number"]),
                (lambda g, t: g["inputs"]["a"].pop("data"), ["[0].graph.inputs.a.data", "missing"]),
                (lambda g, t: g["inputs"]["a"]["descriptor"].update(dataType="float12"), ["float12"]),
                (lambda g, t: g["inputs"]["a"]["descriptor"].update(shape=[1e30]), ["shape"]),
                (lambda g, t: g["inputs"]["a"].update(tensor(1, shape=[60000, 60000])), ["more than"]),
                (lambda g, t: g["operators"][0]["arguments"].append({"b": "b"}), ["b is given twice"]),
                (lambda g, t: g["operators"][0]["arguments"].__setitem__(0, {"a": "c"}), ["the name of an input"]),
                (lambda g, t: g["operators"][0].update(outputs=["sum", "more"]), ["has 1 outputs, expected 2"]),
                (lambda g, t: g["operators"][0].update(arguments=3), ["an array"]),
                (lambda g, t: g["expectedOutputs"].update(other=tensor([1])), ["an output of one of the operators"]),
                (lambda g, t: g["expectedOutputs"]["sum"].update(data=[{"special": "Inf"}]), ["-Infinity or -0"]),
                (lambda g, t: t["tolerance"].update(metricType="FEET"), ["ULP, ATOL or RELATIVE"]),
                (lambda g, t: t["tolerance"].update(value=NAN), ["a number from 0 on"])]:
            with self.subTest(words):
                self.assert_fails(changed(change), *words)

    # ---- Programs

    def test_good_programs_pass(self):
        self.assert_passes([
            program("a graph runs", *graph_of_a_sum(),
                    {"do": "expect", "what": "shape", "of": "y", "equals": [2]},
                    {"do": "expect", "what": "dataType", "of": "y", "equals": "float32"},
                    step("dispatch", "c", ref("g"), {"x": ref("in")}, {"y": ref("out")}),
                    *promised("readTensor", "c", ref("out"), out="r"),
                    {"do": "expect", "what": "data", "of": "r", "index": 1, "equals": [22]},
                    {"do": "expect", "what": "data", "of": "r", "byteOffset": 0, "as": "Float32Array", "equals": [11, 22]},
                    *promised("readTensor", "c", ref("out"), {"buffer": "ArrayBuffer", "byteLength": 12, "fill": 9}, out="s"),
                    {"do": "expect", "what": "data", "of": "s", "byteOffset": 8, "as": "Uint8Array", "fill": 9, "count": 4},
                    {"do": "expect", "what": "untouched", "of": "s", "byteOffset": 8},
                    step("destroy", "out"), step("destroy", "out"), step("destroy", "g"),
                    step("dispatch", "c", ref("g"), {"x": ref("in")}, {"y": ref("out")}, expect="InvalidStateError")),
            program("errors are told", BUILDER,
                    step("input", "b", "x", VECTOR, out="x"),
                    step("input", "b", "", VECTOR, expect="TypeError"),
                    step("input", "b", "y", {"shape": [2]}, expect="TypeError"),
                    step("input", "b", "y", {"dataType": "float32", "shape": [2.5, 2]}, out="y"),
                    {"do": "expect", "what": "shape", "of": "y", "equals": [2, 2]},
                    step("input", "b", "z", {"dataType": "float32", "shape": [NAN]}, expect="TypeError"),
                    step("input", "b", "z", {"dataType": "int8", "shape": [
                        {"limit": "maxTensorByteLength", "add": 1, "divide": 1}]}, expect="TypeError"),
                    step("constant", "b", VECTOR, floats(1), expect="TypeError"),
                    step("constant", "b", VECTOR, floats(1, 2, detached=True), expect="TypeError"),
                    step("constant", "b", VECTOR, {"buffer": "Int32Array", "byteLength": 8, "fill": 0}, expect="TypeError"),
                    step("constant", "b", "float32", 1.5, out="k"),
                    step("add", "b", ref("x"), 3, expect="TypeError"),
                    step("add", "b", ref("x"), expect="TypeError"),
                    step("add", "b", ref("x"), {"undefined": True}, expect="TypeError"),
                    step("add", "b", ref("x"), ref("b"), expect="TypeError"),
                    step("add", "b", ref("x"), ref("x"), 3, expect="TypeError"),
                    step("add", "b", ref("x"), ref("k"), {"undefined": True}, out="s"),
                    step("add", "b", ref("x"), ref("k"), {"nonsense": 1}, unknownMembers=["nonsense"]),
                    step("input", "b", "three", {"dataType": "float32", "shape": [3]}, out="three"),
                    step("add", "b", ref("x"), ref("three"), {"label": "a*b"}, expect="TypeError",
                         labelInMessage="\\[a\\*b\\]"),
                    *promised("build", "b", {}, out="g", expect="TypeError"),
                    *promised("build", "b", {"s": ref("x")}, out="g", expect="TypeError"),
                    *promised("build", "b", {"s": ref("s")}, out="g"),
                    *promised("build", "b", {"s": ref("s")}, out="h", expect="InvalidStateError")),
            program("tensors", *promised("createTensor", "c", {**VECTOR, "readable": True}, out="t"),
                    step("writeTensor", "c", ref("t"), floats(1, 2), expect="TypeError"),
                    *promised("readTensor", "c", ref("t"), floats(5), out="r", expect="TypeError"),
                    {"do": "expect", "what": "untouched", "of": "r"},
                    *promised("readTensor", "c", ref("t"), out="z"),
                    {"do": "expect", "what": "data", "of": "z", "as": "Int32Array", "byteOffset": 0, "fill": 0, "count": 2},
                    *promised("createConstantTensor", "c", VECTOR, floats(3, 4), out="k"), BUILDER,
                    step("constant", "b", ref("k"), out="o"),
                    step("constant", "b", ref("t"), expect="TypeError")),
            program("int4 is packed",
                    *promised("createTensor", "c", {"dataType": "int4", "shape": [3], "readable": True, "writable": True},
                              out="t"),
                    step("writeTensor", "c", ref("t"), {"buffer": "Uint8Array", "byteLength": 2, "data": [33, 3]}),
                    *promised("readTensor", "c", ref("t"), out="r"),
                    {"do": "expect", "what": "data", "of": "r", "as": "Uint8Array", "byteOffset": 0, "equals": [33, 3]}),
            program("a context is lost", BUILDER, step("destroy", "c"), {"do": "awaitLost", "on": "c", "expect": "ok"},
                    step("createBuilder", None, ref("c"), expect="InvalidStateError"),
                    *promised("createTensor", "c", VECTOR, out="t", expect="InvalidStateError")),
            program("options of a context", *promised("createContext", None, {"powerPreference": "low-power"}, out="d"),
                    *promised("createContext", None, {"powerPreference": "most"}, out="e", expect="TypeError")),
        ])

    def test_what_is_not_as_a_program_says_fails(self):
        run = [*graph_of_a_sum(), step("dispatch", "c", ref("g"), {"x": ref("in")}, {"y": ref("out")}),
               *promised("readTensor", "c", ref("out"), out="r")]
        wrong = step("add", "b", ref("x"), {"label": "l"})
        for steps, words in [
                ([BUILDER, step("input", "b", "x", VECTOR, expect="TypeError")], ["step 4, input: succeeded, expected TypeError"]),
                ([BUILDER, step("input", "b", "", VECTOR)], ["step 4, input: TypeError: ", "; expected ok"]),
                ([BUILDER, step("input", "b", "", VECTOR, expect="InvalidStateError")], ["TypeError", "expected InvalidStateError"]),
                ([BUILDER, step("input", "b", "", VECTOR, expect="TypeError", labelInMessage="\\[x\\]")], ["does not match"]),
                ([BUILDER, step("frobnicate", "b", expect="TypeError")], ["step 4, frobnicate: there is no method"]),
                (promised("createTensor", "c", VECTOR, out="t", expect="TypeError"), ["step 4, await: succeeded, expected TypeError"]),
                (promised("createTensor", "c", {}, out="t"), ["step 4, await: TypeError"]),
                ([step("createTensor", "c", {}, out="t", expect=None), step("destroy", "t")], ["step 4, destroy: ", "t, which failed"]),
                ([*run, {"do": "expect", "what": "shape", "of": "y", "equals": [3]}], ["the shape is [2], expected [3]"]),
                ([*run, {"do": "expect", "what": "dataType", "of": "y", "equals": "int8"}], ["is float32, expected int8"]),
                ([*run, {"do": "expect", "what": "data", "of": "r", "equals": [11, 23]}], ["element [1] is 22, expected 23"]),
                ([*run, {"do": "expect", "what": "data", "of": "r", "fill": 11, "count": 2}], ["element [1] is 22, expected 11"]),
                ([*run, {"do": "expect", "what": "data", "of": "r", "index": 1, "equals": [22, 0]}], ["there are 8 bytes"]),
                ([*graph_of_a_sum(), *promised("readTensor", "c", ref("in"), floats(0, 0), out="r"),
                  {"do": "expect", "what": "untouched", "of": "r"}], ["the buffer was written to"]),
                ([{"do": "expect", "what": "shape", "of": "c", "equals": []}], ["the name of a tensor (it is a context)"]),
                ([{"do": "await", "of": "nothing", "expect": "ok"}], ["the name of an earlier result"]),
                ([BUILDER, {**wrong, "on": "c"}], ["a graph builder"]),
                ([BUILDER, step("input", "b", "", VECTOR, expect="TypeError", labelInMessage="(")], ["a regular expression"]),
                ([BUILDER, step("constant", "b", VECTOR, {"buffer": "Blob", "byteLength": 8})], ["a kind of buffer"]),
                ([BUILDER, step("constant", "b", VECTOR, {"buffer": "ArrayBuffer", "byteLength": 1e18})], ["byteLength"]),
                ([BUILDER, step("constant", "b", VECTOR, {"buffer": "Float32Array", "byteLength": 7})], ["a multiple"])]:
            with self.subTest(words):
                self.assert_fails([program("wrong", *steps)], *words)

    # ---- Files, options and output

    def test_malformed_files_are_errors(self):
        self.assert_refused("[{", "broken JSON")
        self.assert_refused("", "broken JSON")
        self.assert_refused({"name": "x"}, "an array")
        self.assert_refused([3], '"[0]"', 'a test case, with a "graph" or "steps"')
        self.assert_refused([{"name": "x"}], '"[0]"')
        self.assert_refused([{"graph": {}}], "name")
        code, _, err = self.check(self.folder / "absent.json")
        self.assertEqual(code, 1)
        self.assertIn("absent.json", err)
        (self.folder / "empty").mkdir()
        code, _, err = self.check(self.folder / "empty")
        self.assertIn("no *.json file", err)
        self.assertEqual(code, 1)

    def test_nothing_checked_is_a_failure(self):
        path = self.write("t.json", [])
        code, out, err = self.check(path)
        self.assertEqual((code, out), (1, "0 passed, 0 failed\n"))
        self.assertIn("no case in these files", err)
        self.write("t.json", [added("one", [1], [1], [2])])
        code, out, err = self.check("--filter", "two", path)
        self.assertEqual(code, 1)
        self.assertIn("no case's name holds 'two'", err)

    def test_directories_filters_and_json(self):
        self.write("b.json", [added("good", [1], [1], [2]), added("bad", [1], [1], [3])])
        self.write("a.json", [program("good program"), {**program("other"), "variant": "gpu"}])
        self.write("ignored.txt", "no JSON")
        results = self.folder / "results.txt"
        code, out, _ = self.check("--json", results, self.data)
        self.assertEqual(code, 1)
        lines = out.splitlines()
        self.assertEqual([line.split("/")[-1] for line in lines if ".json: " in line],
                         ["a.json: 2 passed, 0 failed", "b.json: 1 passed, 1 failed"])
        self.assertEqual(lines[-1], "3 passed, 1 failed")
        report = json.loads(results.read_text())
        self.assertEqual((report["device"], report["passed"], report["failed"]), ("cpu", 3, 1))
        self.assertEqual([c["name"] for c in report["files"][0]["cases"]], ["good program", "other [gpu]"])
        self.assertEqual(report["files"][1]["cases"][0], {"name": "good", "passed": True})
        self.assertIn("expected 3", report["files"][1]["cases"][1]["failure"])
        code, out, _ = self.check("--json", "-", self.data / "b.json")
        self.assertEqual((code, json.loads(out)["failed"]), (1, 1))
        code, out, _ = self.check("--filter", "good", self.folder / "data" / "..")
        self.assertEqual((code, out.splitlines()[-1]), (0, "2 passed, 0 failed"))
        self.write("b.json", [added("bad", [1], [1], [3]), added("good", [1], [1], [2])])
        code, out, _ = self.check("--fail-fast", self.data / "b.json")
        self.assertEqual((code, out.splitlines()[-1]), (1, "0 passed, 1 failed"))

    def test_results_go_where_standard_output_goes(self):
        cases = self.write("b.json", [added("good", [1], [1], [2])])
        target = self.folder / "out.txt"
        with open(target, "wb") as file:
            process = subprocess.run([WEFT, "check", "webnn", "--device", "cpu", "--json", "/dev/stdout", cases], stdout=file,
                                     stderr=subprocess.PIPE, timeout=120, check=False)
        self.assertEqual((process.returncode, process.stderr), (0, b""))
        text, results = target.read_text().split("1 passed, 0 failed\n{", 1)
        self.assertIn("b.json: ", text)
        self.assertEqual(json.loads("{" + results)["passed"], 1)
        code, out, err = self.check("--json", self.folder, cases)
        self.assertEqual((code, out), (1, ""), "nothing is computed")
        self.assertIn("a directory", err)

    def test_hostile_data_gives_errors_and_no_crash(self):
        """Parts of good tests are replaced by anything."""
        rng = random.Random(7)
        good = [added("sum", [1, 2], [3, 4], [4, 6]), program("p", *graph_of_a_sum())]
        odd = [None, True, -1, 0, 1e300, -0.5, 2**63, 2**64 - 1, "", "x", "float32", "\u202e\x00", [], {}, [[]], [None],
               {"special": 3}, {"bigint": ""}, {"ref": "b"}, {"ref": 3}, {"limit": "x"}, {"undefined": True},
               {"buffer": "Float32Array", "byteLength": -4}, [1] * 40, {"label": {}}, NAN, {"bigint": "9" * 400}]

        def places(value, path=()):
            yield path
            for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
                yield from places(child, path + (key,))

        tests = []
        for i in range(400):
            test = json.loads(json.dumps(good[i % 2]))
            path = rng.choice([p for p in places(test) if len(p) > 1])
            target = test
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = rng.choice(odd)
            tests.append(test)
        code, out, err = self.check(self.write("t.json", tests))
        self.assertIn(code, (0, 1), err)
        self.assertRegex(out.splitlines()[-1], r"^\d+ passed, \d+ failed$")
        self.assertNotIn("\u202e", out)
        text = json.dumps(good)
        for _ in range(60):
            at = rng.randrange(len(text))
            cut = text[:at] + rng.choice(["", "{", "]", '"', "9", "\x00", "null"]) + text[at + rng.randrange(4):]
            code, _, err = self.check(self.write("t.json", cut))
            self.assertIn(code, (0, 1), err)
        code, _, err = self.check(self.write("t.json", "[" * 200000))
        self.assertEqual(code, 1)
        self.assertIn("broken JSON", err)

    def test_help_teaches(self):
        process = subprocess.run([WEFT, "check", "webnn", "--help"], stdout=subprocess.PIPE, check=True, env=os.environ)
        for word in (b"FILE|DIR", b"--filter", b"--json", b"--fail-fast", b"--device", b"Examples"):
            self.assertIn(word, process.stdout)
        process = subprocess.run([WEFT, "check"], stderr=subprocess.PIPE, check=False)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"'weft check' needs a command: webnn", process.stderr)


if __name__ == "__main__":
    WEFT = sys.argv.pop(1)
    unittest.main()
