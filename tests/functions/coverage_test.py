#!/usr/bin/env python3
"""Every public function of tensors is called by its name: it has a row (ops/function_row.h), or is an op of that name.

  coverage_test.py WEFT PROJECT_DIR     reads include/weft/*.h and what WEFT ops --json lists

A function of tensors is one of the namespace weft or weft::random that returns a Tensor, a list of them or a struct of
them, and has parameters. Templates (map_tensors, flatten_tensors and their kin, which take any tree; vmap, scan, …) and
operators are none, nor is what takes a function.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "docs"))
from comments_test import blanked, declarations, function_name  # noqa: E402

# What a call by name cannot give, by the functions that take it.
WITHOUT = {
    "what is called": "call",
    "a kernel of the caller's": "custom",
    "indices in brackets": "at_set at_add at_max at_min",
    "values of the host": "tensor from_numbers from_list",
    "a buffer, a device, a file": "from_buffer to load",
}
EXCEPT = {name for names in WITHOUT.values() for name in names.split()}


def own_declarations(text):
    """The heads of functions outside of classes, and their namespace."""
    for _, _, head, scopes in declarations(text):
        names = [s[1] for s in scopes if s[1]]
        if scopes[-1][0] != "namespace" or names not in (["weft"], ["weft", "random"], ["weft::random"]):
            continue
        head = re.sub(r"\s+", " ", head).strip()
        if not re.match(r"template\b|friend\b|WEFT_", head):
            yield head, "random::" if "random" in names[-1] else ""


def structs_of_tensors(text):
    """The names of structs all of whose members are tensors."""
    for match in re.finditer(r"\bstruct (\w+)[^{};()]*\{([^{}]*)\}", text):
        members = [m.strip() for m in re.sub(r"\s+", " ", match[2]).split(";") if m.strip()]
        if members and all(re.fullmatch(r"(std::vector<Tensor>|Tensor) [\w, ]+", m) for m in members):
            yield match[1]


def functions(root):
    """The functions of tensors, each with the header that declares it."""
    texts = {path.name: blanked(path.read_text(encoding="utf-8"))[0] for path in sorted((root / "include/weft").glob("*.h"))}
    results = {"Tensor", "std::vector<Tensor>"} | {s for text in texts.values() for s in structs_of_tensors(text)}
    found = {}
    for header, text in texts.items():
        for head, namespace in own_declarations(text):
            name = function_name(head)
            if not name or name.startswith("operator"):
                continue
            match = re.match(rf"(?:inline )?([\w:<> ]+) {name}\s*\((.*)", head)
            if match and match[1] in results and not match[2].startswith(")") and "std::function" not in match[2]:
                found.setdefault(namespace + name, header)
    return found


def main():
    weft, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    listed = subprocess.run([weft, "ops", "--json"], check=True, capture_output=True, text=True).stdout
    # What is documentation only has no types of operands; leaves and custom kernels are not called by their names.
    named = {row["name"] for row in json.loads(listed) if row["signatures"] and row["family"] not in ("leaf", "custom")}
    declared = functions(root)
    failures = [f"include/weft/{header}: {name} has no row of a function, and is no op"
                for name, header in declared.items() if name not in named and name not in EXCEPT]
    failures += [f"{name} is listed as one without a row, and the headers have no such function" for name in EXCEPT - set(declared)]
    failures += [f"{name} is listed as one without a row, and has one" for name in EXCEPT & named]
    # A change of how headers are written must not leave the test without functions.
    if len(declared) < 300:
        failures.append(f"only {len(declared)} functions of tensors were found in include/weft")
    print("\n".join(sorted(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
