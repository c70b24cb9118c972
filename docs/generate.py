#!/usr/bin/env python3
"""Writes the generated pages of docs/ from the code: accuracy.md, kernels.md, ops.md, settings.md and
webnn-operations.md; and the tables of operators in onnx.md.

  generate.py WEFT            WEFT is the command line program (build/release/apps/weft)
  generate.py WEFT --check    writes nothing; fails if a page is not what it should be
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "<!-- Made by docs/generate.py from {}; change that, not this page. -->\n"


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def table(head, rows):
    cell = lambda text: str(text).replace("|", "\\|")  # noqa: E731
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cell(c) for c in row) + " |" for row in rows]) + "\n"


def kernels(weft):
    text = MARK.format("the schemas in src/kernels/*/*_rows.cc") + (
        "# Kernels\n\nAll kernels of the library, as `weft kernels` lists them. Each is a function of its family's header, which "
        "specifies it completely, and can be called by its name or an alias (`weft/kernels/table.h`). Operands with a question "
        "mark and parameters with a default may be omitted. Behind an operand is its shape; \"any\" is any shape.\n\n"
        "In formulas an index i stands for all axes unless said otherwise, i… for several of them; Σ and max without an index "
        "are over the axes that a kernel combines.\n\n"
        "Types are those that a kernel supports on the CPU, with attributes at their defaults. \"floats\", \"integers\", \"signed\" "
        "and \"unsigned\" are all types of that kind (`weft/dtype.h`), with the packed ones among the integers; \"numbers\" are "
        "floats and integers; \"as x\" is the type of x. Combinations are separated by \"or\". A GPU throws Unsupported "
        "for what it cannot do: it moves f64, but does not compute with it.\n\n"
        "The size of a binding is limited (`weft devices` shows the limit). Kernels process larger tensors in chunks; chunks of rows, "
        "of operands of `matmul` along k, and of the keys or values of one head of `attention` exchange partial results through "
        "scratch. The following are Unsupported, with a message that names the tensor, its bytes and the limit: elements of one "
        "query, key or value of `attention`, or adjacent elements along the axis of `sort` and `top_k`, whose distance exceeds a "
        "binding; masks of `compress` and similar kernels that need more than 1,024 chunks; chunks of packed types that would begin "
        "inside a byte; larger operands of custom kernels; and more than 2^32 elements that one dispatch counts.\n")
    rows = json.loads(run(weft, "kernels", "--json"))
    for family in dict.fromkeys(row["family"] for row in rows):
        text += f"\n## {family} ([`weft/kernels/{family}.h`](../include/weft/kernels/{family}.h))\n\n"
        members = [row for row in rows if row["family"] == family]
        if family == "elementwise":
            text += ("y has the shape to which the operands broadcast. Special values (NaN, zeros, overflow) are described in "
                     "[`weft/expression.h`](../include/weft/expression.h).\n\n")
            text += table(["kernel", "formula", "what it computes", "types"],
                          [[names(r), f"`{r['formula']}`", sentence(r["summary"]), r["types"]] for r in members])
        else:
            text += table(["kernel", "inputs", "outputs", "formula", "what it computes", "types"],
                          [[names(r), operands(r["inputs"]), operands(r["outputs"]), f"`{r['formula']}`",
                            sentence(r["summary"]), r["types"]] for r in members])
        text += parameters(members)
    return text


def sentence(text):
    """With a capital, unless it begins with the name of an operand, and a full stop."""
    first = re.match(r"\w*", text)[0]
    text = text if len(first) == 1 and first in "xyqkvbtn" else text[0].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def names(row):
    others = ", ".join(f"`{n}`" for n in row["other_names"])
    return f"`{row['name']}`" + (f" ({others})" if others else "")


def operands(listed):
    mark = {"one": "", "optional": "?", "repeated": "..."}
    return "<br>".join(f"`{o['name']}{mark[o['arity']]}`: {o['shape']}" for o in listed)


def parameters(rows):
    """A table of the rows' attributes; those that are the same for several kernels have one line."""
    kernels_of = {}
    for row in rows:
        for a in row["attributes"]:
            kernels_of.setdefault((a["name"], a["text"].partition(": ")[2], a["meaning"]), []).append(row["name"])
    listed = [[f"`{name}`", f"`{kind}`", "all" if len(of) == len(rows) > 1 else ", ".join(f"`{k}`" for k in of), sentence(meaning)]
              for (name, kind, meaning), of in kernels_of.items()]
    return "\n" + table(["parameter", "kind and default", "of", "what it sets"], listed) if listed else ""


class Functions:
    """What the functions of the headers compute and give, by the schemas that the command line lists."""

    def __init__(self, weft):
        ops = json.loads(run(weft, "ops", "--json"))
        kernel_rows = json.loads(run(weft, "kernels", "--json"))
        # Functions of their own first, then ops, then kernels.
        listed = sorted(ops, key=lambda row: row["family"] != "function") + kernel_rows
        self.by_name = {}
        for name, row in [(row["name"], row) for row in listed] + [(n, row) for row in listed for n in row["other_names"]]:
            self.by_name.setdefault(name, row)

    def find(self, name, body):
        """The schema of the function, or of the one that its body calls."""
        if name == "operator+":  # of one operand
            name = "positive"
        called = re.search(r"(?:ScalarOp|ScanKind|ReduceKind)::(\w+)", body)
        return self.by_name.get(name) or (self.by_name.get(called[1]) if called else None)

    def type(self, row, arguments, returns):
        """The type of the result, or the types of several."""
        if returns == "TopK" or returns in NETWORKS or (returns == "PooledMax" and row["family"] != "function"):
            return "; ".join(f"{o['name']}: {self.type_of(row, o, arguments)}" for o in row["outputs"])
        return self.type_of(row, row["outputs"][0], arguments)

    def type_of(self, row, result, arguments):
        if "type" in result:
            return result["type"]
        if "DType dtype" in arguments:
            return "dtype"
        # The first signature that fits counts; later ones are for a type that is asked for.
        signature = row["signatures"][0]
        first, y = next(iter(signature.items())), signature[result["name"]]
        if isinstance(y, dict):
            return f"the {y['as']}' type" if y["as"].endswith("s") else f"{y['as']}'s type"
        return f"{first[0]}'s type" if len(y) > 1 and set(first[1]) <= set(y) else y[0]


NETWORKS = ("LstmResult", "RecurrentResult")  # whose results have shapes of their own
HEADERS = ["graph.h", "distributions.h", "convolution.h", "pooling.h", "resampling.h", "recurrent.h", "losses.h", "fft.h", "signal.h", "rotary_embedding.h", "linalg.h", "quantization.h",
           "quantized_weights.h"]


def ops(weft):
    functions = Functions(weft)
    header = ""
    for name in HEADERS:
        own = (ROOT / "include/weft" / name).read_text()
        begin = own.index("// ---- Elementwise" if name == "graph.h" else "// ----")
        header += "\n" + own[begin:own.rindex("}  // namespace weft")]
    text = MARK.format("the headers of functions in include/weft and the rows of functions and operations in src/functions, src/ops, src/transform, src/tensor and src/kernels") + (
        "# Operations of a graph\n\nFunctions that add a node to the graph of their operands, or several nodes that the compiler fuses. "
        "Types and shapes are inferred at once; operands that do not fit throw InvalidArgument. What parameters mean is in "
        "[kernels.md](kernels.md), under the kernel of the same name. \"The common type\" is what result_type() gives for the "
        "operands.\n")
    comment, rows, section, seen = [], [], [], set()

    def flush():
        nonlocal rows, text
        if rows:
            text += "\n" + table(["operation", "shape of the result", "its type", "what it computes"], rows)
        rows = []

    def add(name, arguments, row, comment="", tail="", result=""):
        # A list in braces and a span are one operation.
        alike = (name, re.sub(r"std::(initializer_list<|span<const )", "list<", arguments))
        if alike in seen:
            return
        seen.add(alike)
        call = f"`{name}({arguments})`"
        if row is None:
            rows.append([call, "", f"`{result}`", sentence(comment)])
            return
        what = comment or sentence(row["summary"]) + (" " + sentence(tail) if tail else "")
        formula = f"`{row['formula']}`<br>" if row["formula"] else ""
        shape = "; ".join(f"{o['name']}: {o['shape']}" for o in row["outputs"]) if result in NETWORKS else row["outputs"][0]["shape"]
        rows.append([call, shape, functions.type(row, arguments, result), formula + what])

    declaration = ""
    for line in header.splitlines():
        # A section's own comment goes on until something else begins.
        if section and line.startswith("// ") and not line.startswith("// ----"):
            section.append(line[2:].strip())
            continue
        if section:
            title, _, note = " ".join(section).partition(". ")
            text += f"\n## {title.rstrip('.')}\n" + (f"\n{note}\n" if note else "")
            section = []
        operator = re.match(r"WEFT_BINARY_OPERATOR\((\S+), (\w+)\)", line)
        if operator:
            add(f"operator{operator[1]}", "a, b", functions.by_name[operator[2]])
        elif line.startswith("// ----"):
            flush()
            section, comment = [line.removeprefix("// ----").strip()], []
        elif line.startswith("//"):
            comment.append(line[2:].strip())
        elif not line.strip() or line.startswith("#undef"):
            comment = []
        else:
            declaration += " " + line.strip()
            if not (";" in declaration or declaration.rstrip().endswith("}")):
                continue
            code, _, tail = declaration.strip().partition("//")
            declaration = ""
            code = re.sub(r"const (\w+)& ", r"\1 ", code)
            match = re.match(r"(?:inline )?((?:std::\w+<[^>]*>|Tensor|\w+)) ([\w]+|operator.{1,2})\((.*)\)", code)
            if match and re.search("Tensor|Operand", code) and not code.startswith(("class", "enum", "}")):
                arguments = re.sub(r"\)\s*\{.*", "", match[3])
                row = functions.find(match[2], code)
                if row is None and match[1].startswith(("Tensor", "std::vector<Tensor>")):
                    sys.exit(f"generate.py: {match[2]} of the headers is no op, no kernel, and has no row in function_schemas()")
                add(match[2], arguments, row, " ".join(comment), tail.strip(), match[1])
                comment = []
    flush()
    return text


def settings(weft):
    usage = run(weft, "--help-all")
    text = MARK.format("the tables in src/core/flags.cc") + (
        "# Settings\n\nEach setting can be given in three ways, of which the first counts:\n\n"
        "1. in a program, as an option (`gpu::DeviceOptions`, `CompileOptions`);\n"
        "2. as a flag of any command of `weft`, such as `weft embed --precision f16 …`, or in a program by `set_flag` "
        "(`weft/flags.h`);\n"
        "3. as an environment variable, such as `WEFT_PRECISION=f16`, which any program that uses Weft reads.\n\n"
        "Otherwise the default applies. `on` may also be written 1, true or yes, and `off` 0, false or no; BYTES and COUNT may end "
        "in K, M, G or T. Opening a device checks all of them, needed or not, and warns of variables WEFT_… that are in neither "
        "table.\n\n")
    defaults = dict(re.findall(r'"(WEFT_\w+)",\s*"([^"]*)"', (ROOT / "src/core/flags.cc").read_text()))
    rows = []
    for match in re.finditer(r"^ +(--[\w-]+) ([\w|]+)\s+(.*?) ?\[(WEFT_\w+)\]", re.sub(r"\n {30,}", " ", usage), re.MULTILINE):
        default = defaults[match[4]]
        rows.append([f"`{match[1]}`", f"`{match[4]}`", f"`{match[2]}`", f"`{default}`" if default else "",
                     re.sub(r"\s+", " ", match[3].strip())])
    if not rows:
        sys.exit("generate.py: weft --help-all shows no settings")
    text += table(["flag", "variable", "value", "default", "what it does"], rows)
    others = re.findall(r"^ +(WEFT_\w+) +(.*)$", usage, re.MULTILINE)
    check_variables({row[1].strip("`") for row in rows} | {name for name, _ in others})
    return text + "\nOnly `./dev`, the tests and the benchmarks read these:\n\n" + table(
        ["variable", "what it does"], [[f"`{name}`", what] for name, what in others])


def check_variables(known):
    """Fails if something reads a variable that the tables do not have, of which programs would then warn."""
    reads = re.compile(r"""getenv\("(WEFT_\w+)|environ(?:\.get\(|\[)"(WEFT_\w+)|from_environment\("(WEFT_\w+)|\$\{(WEFT_\w+):-""")
    for folder in ("src", "apps", "tests", "bench", "examples", "fuzz", "cmake/environment"):
        for path in sorted((ROOT / folder).rglob("*")) + [ROOT / "dev"]:
            if not path.is_file() or path.suffix not in (".cc", ".h", ".py", ".sh", ""):
                continue
            for match in reads.finditer(path.read_text(errors="replace")):
                name = next(filter(None, match.groups()))
                if name not in known:
                    sys.exit(f"generate.py: {path.relative_to(ROOT)} reads {name}, which src/core/flags.cc does not have")


def accuracy(_):
    text = MARK.format("docs/data/accuracy-*.json, which bench/scalar_accuracy.cc writes") + (
        "# Accuracy of scalar functions\n\nThe largest error found, in units in the last place of f32, and its argument. The "
        "reference is the CPU's function in f64. Arguments are bit patterns of f32 at equal distances: all exponents, both signs, "
        "infinities and NaN. Denormal arguments and results, which WGSL lets a GPU flush, are not counted. 0 is correctly rounded "
        "everywhere.\n\n"
        "Where terms cancel the unit is that of the largest of them: for `logaddexp` (its two terms), `hardsigmoid` (½), `lgamma` and "
        "`digamma` of negative arguments (at least 1), whose zeros f32 cannot represent closely, and `j0`, `j1`, `y0` and `y1` (the "
        "amplitude, √(2/(πx)), but at most 1). That of `gammainc`, `gammaincc` and "
        "`betainc`, whose arguments are parameters from 2^-12 to 2^12 and quantiles about the mean, is at least that of 2^-100: "
        "factors of smaller results may be 0. The inverses of these have parameters from ¼ to 2^12. An empty cell was not measured since the function changed. Numbers of arguments are minima; functions that were measured again separately had more.\n\n"
        "Functions of f16, bf16 and 8-bit floats compute in f32, by shorter forms if a device's own exp2, log2 and roots pass a "
        "self-test: within 2^-14 of the result (2^-12 for bf16) before it is rounded. A test covers all 16-bit numbers.\n\n")
    devices = [json.loads(path.read_text()) for path in sorted((ROOT / "docs/data").glob("accuracy-*.json"))]
    names = dict.fromkeys(name for d in devices for name in d["functions"])

    def cell(entry):
        if entry is None:
            return ""
        if entry["ulp"] is None:
            return f"wrong at {entry['at']}"
        return f"{entry['ulp']:.2f} at {entry['at']}" if entry["ulp"] else "0"

    return text + table(["function"] + [f"{d['device']}, 2^{d['samples_log2']} arguments" for d in devices],
                        [[f"`{name}`"] + [cell(d["functions"].get(name)) for d in devices] for name in names])


def webnn(weft):
    rows = json.loads(run(weft, "ops", "--webnn", "--json"))
    text = MARK.format("the rows in src/webnn/*_rows.cc") + (
        f"# Operations of WebNN\n\nAll {len(rows)} operations of `weft/webnn.h`, as `weft ops --webnn` lists them, with what "
        "`Context::op_support_limits()` tells of them; every device has the same. Names are the specification's: in C++ `averagePool2d` "
        "is `average_pool2d` and its `outputSizes` are `output_sizes`. [webnn.md](webnn.md) is the guide.\n\n"
        "Arguments in bold are required; the others are members of the options. \"as input\" is the data type of the operand input; "
        "without a rank, any rank up to 8.\n\n")

    def types(a):
        listed = f"as {a['same_as']}" if "same_as" in a else ", ".join(a["types"])
        if len(a["types"]) >= 8 and "same_as" not in a:
            listed = "any" if len(a["types"]) == 8 else "any, int4, uint4"
        low, high = a["min_rank"], a["max_rank"]
        rank = "" if (low, high) == (0, 8) else f", rank {low}" if low == high else f", rank {low} to {high}"
        return listed + rank

    def argument(a):
        name = f"**{a['name']}**" if a["required"] else a["name"]
        if "types" in a:
            return f"{name}: {types(a)}"
        what = " \\| ".join(a["choices"]) if "choices" in a else a["kind"]
        return f"{name}: {what}" + (f" = {a['default']}" if "default" in a and "choices" not in a else "")

    return text + table(["operation", "arguments", "results"], [
        [f"[`{r['name']}`](https://www.w3.org/TR/webnn/{r['section']})",
         "<br>".join(argument(a).replace("\\|", "|") for a in r["arguments"]),
         "<br>".join(f"{a['name']}: {types(a)}" for a in r["outputs"])] for r in rows])


def onnx(weft):
    """The page as it is, with its tables made anew."""
    rows = json.loads(run(weft, "ops", "--onnx", "--json"))
    page = (ROOT / "docs/onnx.md").read_text()
    begin = MARK.format("the rows in src/onnx/*_rows.cc and control.cc").replace("change that, not this page", "change these, not the tables")
    end = "<!-- The end of what docs/generate.py makes. -->\n"
    if page.count(begin) != 1 or page.count(end) != 1:
        sys.exit("generate.py: docs/onnx.md has no place for the tables of operators")
    where = {"ai.onnx": "https://onnx.ai/onnx/operators/onnx__{}.html",
             "com.microsoft": "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.{}"}
    undefined = {("ai.onnx", "SimplifiedLayerNormalization")}  # which ONNX Runtime alone has
    text = (f"\nAll {len(rows)}, as `weft ops --onnx` lists them. A number is the version of the domain from which an operator is as its "
            "row has it: a model that imports an older one does not find it, and of several rows that of the latest version counts. "
            "What changed between versions without a row of its own is told apart inside of it. Notes say what a row lacks, or what "
            "it costs.\n")
    for domain in dict.fromkeys(row["domain"] for row in rows):
        text += f"\n### {domain}\n\n" + table(["operator", "from version", "note"], [
            [f"[`{row['name']}`]({where[domain].format(row['name'])})" if (domain, row["name"]) not in undefined else f"`{row['name']}`",
             ", ".join(str(form["since"]) for form in row["forms"]), "; ".join(notes(row["forms"]))]
            for row in rows if row["domain"] == domain])
    return page[:page.index(begin)] + begin + text + "\n" + page[page.index(end):]


def notes(forms):
    """What the forms of an operator lack; with the version, if there are others."""
    for form in forms:
        if form["note"]:
            yield form["note"] if len(forms) == 1 else f"from {form['since']}: {form['note']}"


PAGES = {"accuracy.md": accuracy, "kernels.md": kernels, "onnx.md": onnx, "ops.md": ops, "settings.md": settings,
         "webnn-operations.md": webnn}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    stale = []
    for name, make in PAGES.items():
        page, text = ROOT / "docs" / name, make(args.weft)
        if args.check:
            if not page.exists() or page.read_text() != text:
                stale.append(name)
        else:
            page.write_text(text)
    # Each function of the kernels' headers has a row of the table.
    rows = json.loads(run(args.weft, "kernels", "--json"))
    named, families = {row["name"] for row in rows}, {row["family"] for row in rows}
    for header in sorted((ROOT / "include/weft/kernels").glob("*.h")):
        if header.stem == "table":
            continue
        functions = re.findall(r"^void (\w+)\(Stream& ", header.read_text(), re.MULTILINE)
        for name in functions:
            prefixed = any(n.startswith(name + "_") or n.startswith(name) or name.startswith(n + "_") for n in named)
            if name not in named and not prefixed and name not in ("map", "unary", "binary", "ternary", "elementwise", "arg_reduce"):
                sys.exit(f"generate.py: {header.name}: {name} has no row in src/kernels/*/*_rows.cc")
        if functions and header.stem not in families:
            sys.exit(f"generate.py: no row of src/kernels/*/*_rows.cc is of the family {header.stem}")
    if stale:
        sys.exit(f"generate.py: stale: {', '.join(stale)}; run docs/generate.py {args.weft}")


if __name__ == "__main__":
    main()
