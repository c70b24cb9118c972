"""Makes libraries that were built with this system's C library load on systems with an older one: copies them, and what
they load, into a directory in which each finds the others.

usage: portable_libraries.py DIRECTORY LIBRARY...

What a library loads gets a name of its own, with a digest of its bytes, so that neither the system's library of that name
nor another package's takes its place; the libraries given keep theirs. Functions of the C library that newer versions
have changed are those of the version that the other system has: their symbols lose their version, and the library needs
an older version instead of those above LATEST. What older C libraries lack is in glibc_compat.c, built beside them.
Anything else that is newer than LATEST is an error, which names it. Needs patchelf and a C compiler.
"""

import dataclasses
import hashlib
import pathlib
import re
import shutil
import struct
import subprocess
import sys

LATEST = (2, 35)  # the C library that must do

# Parts of the C library, which the system has.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|mvec|dl|pthread|rt|resolv|util))\.so\b")
COMPATIBILITY = pathlib.Path(__file__).parent / "glibc_compat.c"

SHT_DYNSYM, SHT_VERDEF, SHT_VERNEED, SHT_VERSYM = 11, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
HIDDEN, GLOBAL = 0x8000, 1
STB_GLOBAL, STB_GNU_UNIQUE = 1, 10
VER_FLG_BASE = 1
OWN = "W"  # the first letter of renamed versions


def version(name: str) -> tuple[int, ...] | None:
    """The number of a version of the C library."""
    found = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)*)", name)
    return tuple(map(int, found[1].split("."))) if found else None


def elf_hash(name: str) -> int:
    """The digest by which the loader compares names of versions."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xF0)) & 0x0FFFFFFF
    return value


@dataclasses.dataclass
class Need:
    """A version that a library needs of another one."""

    library: str
    version: str
    index: int  # by which symbols name it
    at: int  # where it is in the file


class Elf:
    """What a shared library of 64 bits says of symbols and their versions. Changes are made in `data`."""

    def __init__(self, data: bytes):
        self.data = bytearray(data)
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("no little-endian ELF file of 64 bits")
        (at,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + i * size) for i in range(count)]
        self.sections = {h[1]: (h[4], h[5], headers[h[6]][4]) for h in headers}  # offset, size, the strings' offset

    def text(self, at: int) -> str:
        return self.data[at : self.data.index(0, at)].decode()

    def needs(self) -> list[Need]:
        found = []
        if SHT_VERNEED not in self.sections:
            return found
        at, _, strings = self.sections[SHT_VERNEED]
        while True:
            _, count, file, first, following = struct.unpack_from("<HHIII", self.data, at)
            entry = at + first
            for _ in range(count):
                _, _, index, name, next_entry = struct.unpack_from("<IHHII", self.data, entry)
                found.append(Need(self.text(strings + file), self.text(strings + name), index, entry))
                entry += next_entry
            if not following:
                return found
            at += following

    def replace_need(self, need: Need, other: Need) -> None:
        """Has the library need the version of `other` instead."""
        (digest,) = struct.unpack_from("<I", self.data, other.at)
        (name,) = struct.unpack_from("<I", self.data, other.at + 8)
        struct.pack_into("<I", self.data, need.at, digest)
        struct.pack_into("<I", self.data, need.at + 8, name)

    def symbols(self) -> list[tuple[str, int, int]]:
        """Name, version index and where that is, of each dynamic symbol."""
        offset, size, strings = self.sections[SHT_DYNSYM]
        versions = self.sections[SHT_VERSYM][0]
        found = []
        for i in range(size // 24):
            (name,) = struct.unpack_from("<I", self.data, offset + 24 * i)
            (index,) = struct.unpack_from("<H", self.data, versions + 2 * i)
            found.append((self.text(strings + name), index, versions + 2 * i))
        return found

    def make_ordinary(self) -> None:
        """Makes symbols ordinary of which the loader has one in a process, whatever library asks for them."""
        offset, size, _ = self.sections[SHT_DYNSYM]
        for at in range(offset + 4, offset + size, 24):
            if self.data[at] >> 4 == STB_GNU_UNIQUE:
                self.data[at] = STB_GLOBAL << 4 | self.data[at] & 0xF

    def rename_versions(self) -> None:
        """Gives other names to the versions of symbols, but for the C library's: the loader finds these symbols only for
        libraries whose versions were renamed, too."""
        named = []  # where the digest of a name is, and where the name
        if SHT_VERDEF in self.sections:
            at, _, strings = self.sections[SHT_VERDEF]
            while True:
                _, flags, _, _, _, first, following = struct.unpack_from("<HHHHIII", self.data, at)
                if not flags & VER_FLG_BASE:
                    named.append((at + 8, strings + struct.unpack_from("<I", self.data, at + first)[0]))
                if not following:
                    break
                at += following
        for need in self.needs():
            if not SYSTEM.match(need.library):
                strings = self.sections[SHT_VERNEED][2]
                named.append((need.at, strings + struct.unpack_from("<I", self.data, need.at + 8)[0]))
        for _, at in named:
            self.data[at] = ord(OWN)
        for digest_at, at in named:
            struct.pack_into("<I", self.data, digest_at, elf_hash(self.text(at)))

    def definitions(self) -> dict[str, set[str]]:
        """The versions of each symbol that the library defines."""
        names = {}
        at, _, strings = self.sections[SHT_VERDEF]
        while True:
            _, _, index, _, _, first, following = struct.unpack_from("<HHHHIII", self.data, at)
            names[index] = self.text(strings + struct.unpack_from("<I", self.data, at + first)[0])
            if not following:
                break
            at += following
        found: dict[str, set[str]] = {}
        needed = {need.index for need in self.needs()}
        for name, index, _ in self.symbols():
            index &= ~HIDDEN
            if index > GLOBAL and index not in needed:
                found.setdefault(name, set()).add(names[index])
        return found


def run(*command: object) -> str:
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def loaded(library: pathlib.Path) -> dict[str, pathlib.Path]:
    """What a library loads, by the names that it is loaded by."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", library), re.MULTILINE)
    return {name: pathlib.Path(path) for name, path in found}


def forget_versions(path: pathlib.Path, system: dict[str, dict[str, set[str]]], provided: set[str]) -> set[str]:
    """Takes the versions above LATEST off a library's symbols. Returns those of them that are among `provided`, because
    older C libraries have none. `system`: the versions of each symbol that the C library's parts define."""
    elf = Elf(path.read_bytes())
    missing = set()
    newer = [need for need in elf.needs() if (version(need.version) or (0,)) > LATEST]
    for need in elf.needs():
        # Says what the loader has to know, such as a form of relocations, and not where symbols are from.
        if need.version.startswith("GLIBC_ABI_"):
            raise SystemExit(f"{path.name} needs {need.version}, which older C libraries lack")
    for need in newer:
        defined = {v for versions in system[need.library].values() for v in versions}
        older = [n for n in elf.needs() if n.version in defined and (0,) < (version(n.version) or (0,)) <= LATEST]
        if not older:
            raise SystemExit(f"{path.name} needs of {need.library} nothing but {need.version}")
        elf.replace_need(need, older[0])
        for name, index, at in elf.symbols():
            if index & ~HIDDEN != need.index:
                continue
            older = [v for v in system[need.library].get(name, ()) if (version(v) or LATEST) <= LATEST and version(v)]
            if not older:
                if name not in provided:
                    raise SystemExit(
                        f"{path.name} calls {name} of {need.version}, which older C libraries lack: "
                        f"{COMPATIBILITY.name} does not have it"
                    )
                missing.add(name)
            struct.pack_into("<H", elf.data, at, GLOBAL)
    path.write_bytes(elf.data)
    return missing


def separate(path: pathlib.Path) -> None:
    """Parts a library from another copy of it in the same process, such as C++'s standard library of another version:
    neither has symbols that the other's callers find."""
    elf = Elf(path.read_bytes())
    elf.make_ordinary()
    elf.rename_versions()
    path.write_bytes(elf.data)


def needed_version(paths: list[pathlib.Path]) -> tuple[int, ...]:
    """The C library that these libraries need."""
    found = [(2, 2)]
    for path in paths:
        elf = Elf(path.read_bytes())
        found += [version(n.version) for n in elf.needs() if version(n.version)]
    return max(found)


def brought(libraries: list[pathlib.Path]) -> dict[str, pathlib.Path]:
    """What the libraries load and the C library does not have, by the names that it is loaded by."""
    return {
        name: path for library in libraries for name, path in loaded(library).items() if not SYSTEM.match(name)
    }


def make_portable(
    libraries: list[pathlib.Path],
    directory: pathlib.Path,
    rpaths: dict[str, str] | None = None,
    separated: bool = False,
) -> list[pathlib.Path]:
    """Copies the libraries, and what they load, there. Returns the copies. `rpaths` has the names of those of the
    libraries that will lie elsewhere, and where they find the others. `separated`: `separate` parts them from others' copies,
    which is for libraries that C++ of others does not call."""
    rpaths = rpaths or {}
    directory.mkdir(parents=True, exist_ok=True)
    system: dict[str, dict[str, set[str]]] = {}
    for library in libraries:
        for name, path in loaded(library).items():
            if SYSTEM.match(name) and name not in system:
                system[name] = Elf(path.read_bytes()).definitions()
    others = brought(libraries)
    given = {library.name for library in libraries}
    own_names = {}
    for name, path in others.items():
        if name not in given:
            stem, suffix = name.split(".so", 1)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
            own_names[name] = f"{stem}-{digest}.so{suffix}"

    compatibility = directory / f"libglibc_compat-{hashlib.sha256(COMPATIBILITY.read_bytes()).hexdigest()[:8]}.so"
    # Without GNU's extensions, whose headers would have it call what it stands for.
    run("cc", "-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Werror", f"-Wl,-soname,{compatibility.name}",
        COMPATIBILITY, "-o", compatibility)
    provided = {name for name, index, _ in Elf(compatibility.read_bytes()).symbols() if index == GLOBAL}

    copies = []
    uses_compatibility = False
    sources = {library.name: library for library in libraries} | {
        own_names[name]: path for name, path in others.items() if name in own_names
    }
    for name, source in sources.items():
        copy = directory / name
        shutil.copyfile(source, copy)
        copy.chmod(0o755)
        missing = forget_versions(copy, system, provided)
        options = ["--force-rpath", "--set-rpath", rpaths.get(name, "$ORIGIN")]
        if run("patchelf", "--print-soname", copy).strip():  # modules of Python's may have none
            options += ["--set-soname", name]
        for needed in run("patchelf", "--print-needed", copy).split():
            if needed in own_names:
                options += ["--replace-needed", needed, own_names[needed]]
        if missing:
            options += ["--add-needed", compatibility.name]
            uses_compatibility = True
        if separated:
            separate(copy)
        run("patchelf", *options, copy)
        copies.append(copy)
    if uses_compatibility:
        copies.append(compatibility)
    else:
        compatibility.unlink()
    return copies


def main() -> None:
    copies = make_portable([pathlib.Path(p) for p in sys.argv[2:]], pathlib.Path(sys.argv[1]))
    for copy in copies:
        print(copy)
    print("C library", ".".join(map(str, needed_version(copies))))


if __name__ == "__main__":
    main()
