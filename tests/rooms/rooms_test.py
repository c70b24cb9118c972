#!/usr/bin/env python3
"""The rooms of src/ know only those below them: no include goes up, or sideways.

  rooms_test.py SOURCE_DIR                    reads the includes of src/, include/weft/ and apps/, and cmake/targets.cmake
                                              (a second)
  rooms_test.py SOURCE_DIR --objects BUILD    also reads what the objects of a build use of each other, with nm
  rooms_test.py SOURCE_DIR --draw [--kernels] [--mermaid]
                                              prints the rooms, or the families of kernels, with the number of includes
                                              between them: for Graphviz (… | dot -Tsvg -o rooms.svg), or as a block of Mermaid

A room may include the files of the rooms that ROOMS names for it, and the public headers of these and of all rooms
that these may know. docs/architecture.md says what the rooms are for. Each room of the library is in one of CMake's targets,
and these link the targets of all rooms that it may know. A function that a room uses is defined in a room that it may know,
wherever it is declared: that is what --objects adds. Within the room kernels FAMILIES says what may include what.
"""
import argparse
import collections
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys

# From the bottom up: the room, a folder of src/; the rooms whose files it may include; its public headers, in
# include/weft/ (a name that ends with / is a folder of them). *: all rooms.
ROOMS = [
    ("core", "", "attributes axes dtype element error flags future interruption label log number number_range process schema shape"
                 " small_float tensor_data tensor_type version work"),
    ("files", "core", "safetensors"),
    ("text", "core", "text"),
    ("memory", "core", "memory_figures stream view"),
    ("gpu", "core memory", "gpu"),
    ("cpu", "core memory", "cpu"),
    ("device", "core memory gpu cpu", "device devices memory profile"),
    ("kernels", "core memory gpu cpu device", "custom_kernel expression expressions kernels kernels/"),
    ("graph", "core kernels", "graph tensor tensor_tree"),
    ("ops", "core cpu kernels graph", "array call convolution creation custom_op distributions indexing inspection"
                                      " linalg pooling quantization quantized_weights resampling"),
    ("transform", "core kernels graph ops", "recurrent"),
    ("compiler", "core gpu cpu device kernels graph ops transform", "calibration compile"),
    ("tensor", "core gpu cpu device files kernels graph ops transform compiler", "control_flow derivatives"
                                                                                 " dynamic_executable evaluate files"
                                                                                 " graph_file print random traced"),
    ("functions", "core cpu kernels graph ops tensor", "fft losses numeric rotary_embedding segments sets signal special"
                                                       " statistics"),
    ("reports", "core kernels graph", "draw"),
    ("profile", "core kernels compiler", "profile_report"),
    ("models", "core cpu files text graph compiler tensor", "models"),
    ("webnn", "core graph ops compiler tensor functions", "webnn webnn/"),
    ("onnx", "core graph ops compiler tensor functions", "onnx"),
    ("apps", "*", "weft"),
]

# The parts of src/kernels that others may include, from the bottom up; each may include those above it in this list. Which
# files they are, below src/kernels: the first pattern that fits counts. What is in a family's folder cpu/ is as if it were
# beside it. Other families, each a folder, may include all of these and none of each other, and need no line here.
FAMILIES = [
    ("shader", "accessors.* library.* options.* shader_head.* source.* template.*"),
    ("loops", "cpu_loops.h common/instruction_sets.h common/lanes.h common/scratch_cpu.h"),
    ("expressions", "elementwise/[!e]* elementwise/expression*"),
    ("calls", "*.h *.cc common/memory.*"),
    ("common", "common/*"),
    ("elementwise", "elementwise/*"),
    ("copy", "copy/*"),
    ("index", "index/*"),
    ("matmul", "matmul/*"),
    ("quantize", "quantize/*"),
    ("norm", "norm/*"),
]
# The files that may include WebGPU's headers: buffers and views, and with them graphs and tensors, are those of any device.
WEBGPU = ("include/weft/gpu.h include/weft/webnn/context.h src/gpu/* src/device/* src/webnn/* src/memory/buffer.cc"
          " src/tensor/creation.cc src/kernels/common/memory.cc").split()
TARGET = re.compile(r'^ *"(\w+) +\| ([^|]*)\| ([^|]*)\|[^|"]*"', re.MULTILINE)
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
WEBGPU_INCLUDE = re.compile(r"^\s*#\s*include\s+<webgpu/", re.MULTILINE)
SYMBOL = re.compile(r"(.*\.(?:o|obj)):.* ([A-Za-z]) (\S+)$")  # of nm -A


class Rooms:
    def __init__(self, rows):
        self.files, self.known, self.headers, self.folders = {}, {}, {}, {}
        for room, below, headers in rows:
            below = list(self.files) if below == "*" else below.split()
            self.files[room] = {room, *below}
            unknown = self.files[room] - {room} - set(self.known)
            if unknown:
                raise ValueError(f"{room} is listed below {', '.join(sorted(unknown))}, which it may include")
            self.known[room] = self.files[room].union(*(self.known[b] for b in below))
            for header in headers.split():
                (self.folders if header.endswith("/") else self.headers)[header] = room

    def of_header(self, name):
        """The room of include/weft/NAME.h; None if it has none."""
        return self.headers.get(name) or self.folders.get(name.split("/")[0] + "/" if "/" in name else "")

    def of_file(self, path):
        """The room of a file by its path in the project."""
        first, rest = path.split("/", 1)
        if first == "include":
            return self.of_header(rest.removeprefix("weft/").removesuffix(".h"))
        return "apps" if first == "apps" else rest.split("/")[0]

    def complaint(self, room, included):
        """What is wrong with an include in a file of that room; None if nothing is."""
        if included.startswith("weft/"):
            target, allowed = self.of_header(included.removeprefix("weft/").removesuffix(".h")), self.known[room]
        else:
            target, allowed = included.split("/")[0] if "/" in included else room, self.files[room]
            if room == "apps" and target not in self.files:
                target = room
        if target not in self.files:
            return f'"{included}" is in no room of the table in tests/rooms/rooms_test.py'
        if target in allowed:
            return None
        return f'"{included}": {room} may not include {target}'


class Families:
    def __init__(self, rows):
        self.rows = [(name, patterns.split()) for name, patterns in rows]
        self.order = [name for name, _ in rows]

    def of_file(self, name):
        """The family of a file by its path below src/kernels."""
        name = name.replace("/cpu/", "/")
        for family, patterns in self.rows:
            # (A star is also a slash to fnmatch.)
            if any(fnmatch.fnmatchcase(name, p) and p.count("/") == name.count("/") for p in patterns):
                return family
        return name.split("/")[0]

    def may_include(self, family, target):
        if family == target:
            return True
        if target not in self.order:
            return False
        return family not in self.order or self.order.index(target) < self.order.index(family)

    def complaint(self, name, included):
        """What is wrong with an include in that file below src/kernels; None if nothing is."""
        family, target = self.of_file(name), self.of_file(included.removeprefix("kernels/"))
        if not included.startswith("kernels/") or self.may_include(family, target):
            return None
        return f'"{included}": the family {family} may not include {target} (FAMILIES in tests/rooms/rooms_test.py)'


def includes(source):
    """Of src/, include/weft/ and apps/: path in the project, line, what it includes in quotes; and each file as line 0."""
    for folder in ("include/weft", "src", "apps"):
        for path in sorted((source / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            name = path.relative_to(source).as_posix()
            yield name, 0, None
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if match := INCLUDE.match(line):
                    yield name, number, match[1]


def complaints(rooms, families, source):
    for name, number, included in includes(source):
        room = rooms.of_file(name)
        if room not in rooms.files:
            if number == 0:
                yield f"{name}:1: it is in no room of the table in tests/rooms/rooms_test.py"
        elif included and (wrong := rooms.complaint(room, included)):
            yield f"{name}:{number}: {wrong}"
        elif included and name.startswith("src/kernels/"):
            if wrong := families.complaint(name.removeprefix("src/kernels/"), included):
                yield f"{name}:{number}: {wrong}"


def webgpu_complaints(source):
    for folder in ("include/weft", "src"):
        for path in sorted((source / folder).rglob("*")):
            name = path.relative_to(source).as_posix()
            if path.suffix not in (".h", ".cc") or any(fnmatch.fnmatchcase(name, p) for p in WEBGPU):
                continue
            if WEBGPU_INCLUDE.search(path.read_text(encoding="utf-8")):
                yield f"{name}: it may not include WebGPU's headers (WEBGPU in tests/rooms/rooms_test.py)"


def object_complaints(rooms, source, build, nm):
    """Functions and variables that an object of a room uses, and one of a room defines that it may not know. What the build
    itself collects from all rooms (cmake/generated) belongs to none."""
    defined, used, objects = {}, [], {}
    for path in sorted((build / "CMakeFiles").glob("weft_*.dir/src/**/*.o*")):
        name = "src/" + path.relative_to(build).as_posix().split(".dir/src/", 1)[1].removesuffix(path.suffix)
        # (Others were built before their source went elsewhere.)
        if path.suffix in (".o", ".obj") and (source / name).is_file():
            objects[str(path)] = name
    paths = list(objects)
    for some in (paths[i:i + 50] for i in range(0, len(paths), 50)):
        for line in subprocess.run([nm, "-A", *some], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
            match = SYMBOL.match(line)
            if match and match[2] in "TDBR":
                defined[match[3]] = objects[match[1]]
            elif match and match[2] == "U":
                used.append((objects[match[1]], match[3]))
    if not defined:
        yield f"{build}: it has no objects of the library"
    wrong = collections.defaultdict(set)
    for name, symbol in used:
        target = defined.get(symbol)
        if target and rooms.of_file(target) not in rooms.known.get(rooms.of_file(name), ()):
            wrong[name, target].add(symbol)
    for (name, target), symbols in sorted(wrong.items()):
        names = "\n".join(sorted(symbols))
        if shutil.which("c++filt"):
            names = subprocess.run(["c++filt"], input=names, stdout=subprocess.PIPE, text=True, check=True).stdout
        for symbol in names.splitlines():
            yield f"{name}:1: {symbol} is defined in {target}: {rooms.of_file(name)} may not know {rooms.of_file(target)}"


def edges_between(rooms, families, source, of_kernels):
    """How many includes there are from one room, or family of kernels, to another."""
    count = collections.Counter()
    for name, number, included in includes(source):
        if number == 0:
            continue
        if of_kernels:
            if not name.startswith("src/kernels/") or not included.startswith("kernels/"):
                continue
            ends = families.of_file(name.removeprefix("src/kernels/")), families.of_file(included.removeprefix("kernels/"))
        elif included.startswith("weft/"):
            ends = rooms.of_file(name), rooms.of_header(included.removeprefix("weft/").removesuffix(".h"))
        else:
            target = included.split("/")[0]
            ends = rooms.of_file(name), target if "/" in included and target in rooms.files else rooms.of_file(name)
        if ends[0] != ends[1]:
            count[ends] += 1
    return count


def drawing(edges, bottom_up, allowed, mermaid):
    """The text of a graph, from the top down. Arrows that may not be are red; those to what all others include, the lowest of
    all, are left out."""
    names = [n for n in bottom_up if any(n in e for e in edges)]
    names += sorted({n for e in edges for n in e} - set(names))
    lowest = {n for n in names if sum(e[1] == n for e in edges) >= 0.8 * (len(names) - 1)}
    lines = ["flowchart TD"] if mermaid else [
        "digraph rooms {", "  rankdir=TB;", '  node [shape=box, style="rounded,filled", fillcolor="#eef3f8", fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=9, color="#777777"];']
    for name in reversed(names):
        note = " (included by almost all)" if name in lowest else ""
        lines.append(f'  {name}["{name}{note}"]' if mermaid else f'  {name} [label="{name}{note}"];')
    index, shown = {n: i for i, n in enumerate(names)}, 0
    for (name, target), n in sorted(edges.items(), key=lambda e: (-index[e[0][0]], -index[e[0][1]])):
        wrong = not allowed(name, target)
        if target in lowest and not wrong:
            continue
        if mermaid:
            lines.append(f"  {name} -->|{n}| {target}")
            if wrong:
                lines.append(f"  linkStyle {shown} stroke:red")
        else:
            lines.append(f'  {name} -> {target} [label="{n}"{", color=red" if wrong else ""}];')
        shown += 1
    return "```mermaid\n" + "\n".join(lines) + "\n```" if mermaid else "\n".join([*lines, "}"])


def target_complaints(rooms, table):
    """What is wrong with the targets that the text of cmake/targets.cmake lists."""
    target_of, below = {}, {}
    for target, own, links in TARGET.findall(table.split("set(WEFT_PACKAGES")[0]):
        # What is below it in the list, so that there are no cycles.
        for link in [link for link in links.split() if link not in below]:
            yield f"target {target}: {link} is not above it in the list"
        below[target] = {target}.union(*(below.get(link, set()) for link in links.split()))
        for room in own.split():
            if room in target_of:
                yield f"room {room} is in target {target_of[room]} and in target {target}"
            target_of[room] = target
    for room in sorted(set(rooms.known) - {"apps"} - set(target_of)):
        yield f"room {room} is in no target"
    for room in sorted(set(target_of) - set(rooms.known)):
        yield f"target {target_of[room]}: {room} is in no row of the table in tests/rooms/rooms_test.py"
    for room, target in target_of.items():
        for known in sorted(rooms.known.get(room, set())):
            if known in target_of and target_of[known] not in below[target]:
                yield f"target {target}: room {room} may know {known}, whose target {target_of[known]} it does not link"


def check_itself():
    """Arrows that must be refused are."""
    two = Rooms([("core", "", ""), ("text", "core", "text"), ("apps", "*", "")])
    for rows, wrong in [
            ('"a | core text | | zip"', ""),
            ('"a | core | | zip"\n"b | text | a |"', ""),
            ('"a | core | | zip"', "text is in no target"),
            ('"a | core text nowhere | |"', "nowhere is in no row"),
            ('"a | core | |"\n"b | text | |"', "does not link"),
            ('"a | core | b |"\n"b | text | a |"', "b is not above it"),
            ('"a | core text | |"\n"b | text | a |"', "in target a and in target b")]:
        found = list(target_complaints(two, rows))
        assert wrong in found[0] if wrong else not found, (rows, found)
    rooms = Rooms(ROOMS)
    for room, included in [("graph", "ops/view.h"), ("ops", "functions/matrices.h"), ("gpu", "compiler/target.h"), ("gpu", "cpu/host_pool.h"), ("cpu", "weft/gpu.h"),
                           ("kernels", "weft/graph.h"), ("webnn", "gpu/context.h"), ("core", "weft/view.h"),
                           ("graph", "nowhere/file.h"), ("graph", "weft/nowhere.h")]:
        assert rooms.complaint(room, included), (room, included)
    for room, included in [("gpu", "core/format.h"), ("webnn", "weft/gpu.h"), ("apps", "output.h"), ("gpu", "gpu/open.h")]:
        assert not rooms.complaint(room, included), (room, included)
    families = Families(FAMILIES)
    for name, family in [("call.h", "calls"), ("options.cc", "shader"), ("common/memory.h", "calls"), ("common/rows.h", "common"),
                         ("elementwise/scalar_ops.cc", "expressions"), ("elementwise/elementwise.h", "elementwise"),
                         ("elementwise/cpu/rows.cc", "expressions"), ("matmul/cpu/panels.h", "matmul"),
                         ("scan/scan.cc", "scan"), ("scan/cpu/rows.cc", "scan")]:
        assert families.of_file(name) == family, (name, families.of_file(name))
    for name, included in [("call.h", "kernels/common/rows.h"), ("scan/scan.cc", "kernels/sort/sort.h"),
                           ("elementwise/elementwise.cc", "kernels/copy/copy.h")]:
        assert families.complaint(name, included), (name, included)
    for name, included in [("scan/scan.cc", "kernels/common/rows.h"), ("scan/scan.cc", "core/format.h"),
                           ("conv/cpu/places.cc", "kernels/matmul/cpu/panels.h"),
                           ("copy/copy.cc", "kernels/elementwise/elementwise.h"), ("scan/scan.cc", "kernels/scan/scan.h")]:
        assert not families.complaint(name, included), (name, included)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("source", type=pathlib.Path, metavar="SOURCE_DIR")
    arguments.add_argument("--objects", type=pathlib.Path, metavar="BUILD", help="a folder in which CMake has built the library")
    arguments.add_argument("--nm", default="nm", help="the program that lists symbols [%(default)s]")
    arguments.add_argument("--draw", action="store_true", help="print the graph of rooms")
    arguments.add_argument("--kernels", action="store_true", help="of the families of kernels instead")
    arguments.add_argument("--mermaid", action="store_true", help="for Mermaid instead of Graphviz")
    given = arguments.parse_args()
    check_itself()
    source, rooms, families = given.source, Rooms(ROOMS), Families(FAMILIES)
    if given.draw:
        edges = edges_between(rooms, families, source, given.kernels)
        if given.kernels:
            print(drawing(edges, families.order, families.may_include, given.mermaid))
        else:
            print(drawing(edges, list(rooms.files), lambda room, target: target in rooms.known[room], given.mermaid))
        return
    found = [*complaints(rooms, families, source), *webgpu_complaints(source)]
    found += [f"cmake/targets.cmake:1: {wrong}"
              for wrong in target_complaints(rooms, (source / "cmake/targets.cmake").read_text(encoding="utf-8"))]
    if given.objects:
        found += object_complaints(rooms, source, given.objects, given.nm)
    print("\n".join(found) or "every include goes down")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
