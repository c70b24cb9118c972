#!/usr/bin/env python3
"""Writes the generated pages of docs/ from the code: accuracy.md, kernels.md, ops.md and settings.md.

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
        "mark and attributes with a default may be omitted.\n\n"
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

    def names(row):
        others = ", ".join(f"`{n}`" for n in row["other_names"])
        return f"`{row['name']}`" + (f" ({others})" if others else "")

    def operands(listed):
        mark = {"one": "", "optional": "?", "repeated": "..."}
        text = " ".join(o["name"] + mark[o["arity"]] for o in listed)
        return f"`{text}`" if text else ""

    for family in dict.fromkeys(row["family"] for row in rows):
        text += f"\n## {family} ([`weft/kernels/{family}.h`](../include/weft/kernels/{family}.h))\n\n"
        if family == "elementwise":
            text += ("Special values (NaN, zeros, overflow) are described in "
                     "[`weft/expression.h`](../include/weft/expression.h).\n\n")
        text += table(["kernel", "inputs", "outputs", "types", "attributes", "what it computes"],
                      [[names(r), operands(r["inputs"]), operands(r["outputs"]), r["types"],
                        ", ".join(f"`{a['text']}`" for a in r["attributes"]), r["summary"]]
                       for r in rows if r["family"] == family])
    return text


def ops(_):
    header = (ROOT / "include/weft/graph.h").read_text()
    header = header[header.index("// ---- Elementwise"):]
    text = MARK.format("include/weft/graph.h") + (
        "# Operations of a graph\n\nFunctions that add a node to the graph of their operands, or several nodes that the compiler fuses. "
        "Types and shapes are inferred at once; operands that do not fit throw InvalidArgument.\n")
    comment, rows, section = [], [], []

    def flush():
        nonlocal rows, text
        if rows:
            text += "\n" + table(["operation", "notes"], rows)
        rows = []

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
        if line.startswith("// ----"):
            flush()
            section, comment = [line.removeprefix("// ----").strip()], []
        elif line.startswith("//"):
            comment.append(line[2:].strip())
        elif not line.strip():
            comment = []
        else:
            declaration += " " + line.strip()
            if not (";" in declaration or declaration.rstrip().endswith("}")):
                continue
            code, _, tail = declaration.strip().partition("//")
            code = code.replace("const Tensor& ", "Tensor ").replace("const TensorLike& ", "TensorLike ")
            match = re.match(r"(?:inline )?((?:std::\w+<[^>]*>|Tensor|\w+)) ([\w]+|operator.{1,2})\((.*)\)", code)
            if match and "Tensor" in code and not code.startswith(("class", "enum", "}")):
                arguments = re.sub(r"\)\s*\{.*", "", match[3])
                rows.append([f"`{match[2]}({arguments})`", " ".join(comment + ([tail.strip()] if tail else []))])
                comment = []
            declaration = ""
    flush()
    return text


def settings(weft):
    usage = run(weft, "--help")
    text = MARK.format("the table in src/core/flags.cc") + (
        "# Settings\n\nEach has one name: a flag of every command of `weft`, an environment variable, and in a program `set_flag` "
        "(`weft/flags.h`) or an option (`gpu::DeviceOptions`, `CompileOptions`). The option takes precedence over the flag, the flag "
        "over the variable, the variable over the default.\n\n")
    rows = []
    for match in re.finditer(r"^ +(--[\w-]+) ([\w|]+)\s+(.*?) ?\[(WEFT_\w+)\]", re.sub(r"\n {30,}", " ", usage), re.MULTILINE):
        rows.append([f"`{match[1]}`", f"`{match[4]}`", f"`{match[2]}`", re.sub(r"\s+", " ", match[3].strip())])
    if not rows:
        sys.exit("generate.py: weft --help shows no settings")
    return text + table(["flag", "variable", "value", "what it does"], rows)


def accuracy(_):
    text = MARK.format("docs/data/accuracy-*.json, which bench/scalar_accuracy.cc writes") + (
        "# Accuracy of scalar functions\n\nThe largest error found, in units in the last place of f32, and its argument. The "
        "reference is the CPU's function in f64. Arguments are bit patterns of f32 at equal distances: all exponents, both signs, "
        "infinities and NaN. Denormal arguments and results, which WGSL lets a GPU flush, are not counted. 0 is correctly rounded "
        "everywhere.\n\n"
        "Where terms cancel the unit is that of the largest of them: for `logaddexp` (its two terms), `hardsigmoid` (½), and `lgamma` and "
        "`digamma` of negative arguments (at least 1), whose zeros f32 cannot represent closely. An empty cell was not measured since "
        "the function changed. Numbers of arguments are minima; functions that were measured again separately had more.\n\n"
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


PAGES = {"accuracy.md": accuracy, "kernels.md": kernels, "ops.md": ops, "settings.md": settings}


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
