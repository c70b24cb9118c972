#!/usr/bin/env python3
"""The rooms of src/ know only those below them: no include goes up, or sideways.

  rooms_test.py SOURCE_DIR     reads the includes of src/, include/weft/ and apps/, and cmake/targets.cmake (a second)

A room may include the files of the rooms that ROOMS names for it, and the public headers of these and of all rooms
that these may know. docs/architecture.md says what the rooms are for. Each room of the library is in one of CMake's targets,
and these link the targets of all rooms that it may know.
"""
import pathlib
import re
import sys

# From the bottom up: the room, a folder of src/; the rooms whose files it may include; its public headers, in
# include/weft/ (a name that ends with / is a folder of them). *: all rooms.
ROOMS = [
    ("core", "", "attributes axes dtype element error flags future interruption label log number process schema shape small_float tensor_data"
                 " tensor_type version work"),
    ("files", "core", "safetensors"),
    ("text", "core", "text"),
    ("memory", "core", "memory_figures stream view"),
    ("gpu", "core memory", "gpu"),
    ("cpu", "core memory", "cpu"),
    ("device", "core memory gpu cpu", "device devices memory profile"),
    ("kernels", "core memory gpu cpu device", "custom_kernel expression expressions kernels kernels/"),
    ("graph", "core cpu device kernels", "array call convolution creation custom_op distributions draw graph indexing inspection linalg"
                                         " pooling quantization quantized_weights recurrent resampling tensor tensor_tree"),
    ("functions", "core kernels graph", "fft losses numeric rotary_embedding segments sets signal special statistics"),
    ("transform", "core graph", ""),
    ("compiler", "core gpu cpu device kernels graph transform", "calibration compile"),
    ("tensor", "core gpu cpu device files kernels graph functions transform compiler", "control_flow derivatives dynamic_executable evaluate files graph_file print random"
                                                                             " traced"),
    ("profile", "core kernels compiler", "profile_report"),
    ("models", "core cpu files text graph compiler tensor", "models"),
    ("webnn", "core graph compiler tensor", "webnn webnn/"),
    ("onnx", "core graph compiler tensor", "onnx"),
    ("apps", "*", "weft"),
]
TARGET = re.compile(r'^ *"(\w+) +\| ([^|]*)\| ([^|]*)\|[^|"]*"', re.MULTILINE)
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


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


def complaints(rooms, source):
    for folder in ("include/weft", "src", "apps"):
        for path in sorted((source / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            name = path.relative_to(source).as_posix()
            room = rooms.of_file(name)
            if room not in rooms.files:
                yield f"{name}:1: it is in no room of the table in tests/rooms/rooms_test.py"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if match := INCLUDE.match(line):
                    if wrong := rooms.complaint(room, match[1]):
                        yield f"{name}:{number}: {wrong}"


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
    for room, included in [("gpu", "compiler/target.h"), ("gpu", "cpu/host_pool.h"), ("cpu", "weft/gpu.h"),
                           ("kernels", "weft/graph.h"), ("webnn", "gpu/context.h"), ("core", "weft/view.h"),
                           ("graph", "nowhere/file.h"), ("graph", "weft/nowhere.h")]:
        assert rooms.complaint(room, included), (room, included)
    for room, included in [("gpu", "core/format.h"), ("webnn", "weft/gpu.h"), ("apps", "output.h"), ("gpu", "gpu/open.h")]:
        assert not rooms.complaint(room, included), (room, included)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    check_itself()
    source, rooms = pathlib.Path(sys.argv[1]), Rooms(ROOMS)
    found = [*complaints(rooms, source)]
    found += [f"cmake/targets.cmake:1: {wrong}" for wrong in target_complaints(rooms, (source / "cmake/targets.cmake").read_text())]
    print("\n".join(found) or "every include goes down")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
