"""The wheels of ./dev wheel, which are in the directory that WEFT_WHEELS names: what they hold and what they need."""

import base64
import csv
import email
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

PROJECT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(PROJECT / "cmake" / "environment"))
import portable_libraries  # noqa: E402

WHEELS = sorted(pathlib.Path(os.environ["WEFT_WHEELS"]).glob("*.whl")) if "WEFT_WHEELS" in os.environ else []
# Of names with an underscore those of the stable interface of Python 3.12 that extensions may come to use.
STABLE = {f"_Py_{name}" for name in "Dealloc IncRef DecRef NoneStruct NotImplementedStruct EllipsisObject".split()}
STABLE |= {f"_Py_{name}" for name in "TrueStruct FalseStruct".split()}
STABLE |= {f"_Py{name}" for name in "Object_New Object_GC_New Object_NewVar Object_GC_NewVar Weakref_RefType".split()}
pytestmark = pytest.mark.skipif(not WHEELS, reason="WEFT_WHEELS names no directory of wheels")


@pytest.fixture(params=WHEELS, ids=lambda path: path.name)
def wheel(request):
    with zipfile.ZipFile(request.param) as archive:
        yield archive


def files(wheel):
    return {name: wheel.read(name) for name in wheel.namelist()}


def info_file(wheel, name):
    (found,) = [n for n in wheel.namelist() if re.fullmatch(rf"weft-[^/]+\.dist-info/{name}", n)]
    return wheel.read(found)


def elf_files(wheel):
    return {name: portable_libraries.Elf(data) for name, data in files(wheel).items() if data[:4] == b"\x7fELF"}


def dynamic(wheel, directory, name):
    """The lines of `readelf` on what a file loads."""
    path = pathlib.Path(wheel.extract(name, directory))
    text = subprocess.run(["readelf", "-dW", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\((\w+)\)\s+[^\[]*\[(.*)\]", text)


def test_both_are_there():
    tags = {path.name.split("-", 2)[2] for path in WHEELS}
    assert tags == {"cp311-cp311-manylinux_2_35_x86_64.whl", "cp312-abi3-manylinux_2_35_x86_64.whl"}


def test_size(wheel):
    assert pathlib.Path(wheel.filename).stat().st_size <= 60_000_000


def test_record(wheel):
    contents = files(wheel)
    (record,) = [name for name in contents if name.endswith(".dist-info/RECORD")]
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(contents[record].decode()))}
    assert set(rows) == set(contents)
    for name, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert rows[name] == (["", ""] if name == record else [f"sha256={digest}", str(len(data))])


def test_metadata(wheel):
    metadata = email.message_from_bytes(info_file(wheel, "METADATA"))
    version = re.search(r"project\(weft VERSION ([0-9.]+)", (PROJECT / "CMakeLists.txt").read_text())[1]
    assert metadata["Name"] == "weft" and metadata["Version"] == version
    assert metadata["Summary"] and metadata.get_payload().startswith("# Python")
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata.get_all("Requires-Dist") == ['numpy>=1.23; extra == "numpy"']
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    licences = {name.split("/licenses/")[1] for name in wheel.namelist() if "/licenses/" in name}
    assert set(metadata.get_all("License-File")) == licences
    tag = pathlib.Path(wheel.filename).stem.split("-", 2)[2]
    assert f"\nTag: {tag}\n".encode() in info_file(wheel, "WHEEL")
    assert b"weft = weft.__main__:main" in info_file(wheel, r"entry_points\.txt")


def test_files_of_the_package(wheel):
    names = set(wheel.namelist())
    sources = {f"weft/{path.name}" for path in (PROJECT / "bindings/python/weft").glob("*.py")}
    assert sources | {"weft/py.typed", "weft/__init__.pyi", "weft/_core.pyi", "weft/nn.pyi"} <= names
    assert not [name for name in names if "__pycache__" in name]
    assert {entry.external_attr >> 16 & 0o777 for entry in wheel.infolist()} == {0o644}


def test_licences(wheel):
    texts = {name.split("/licenses/")[1]: wheel.read(name) for name in wheel.namelist() if "/licenses/" in name}
    assert b"Apache License" in texts["LICENSE"]
    for word in "dawn icu openblas libstdc++ libgfortran tbb fmt nanobind nlohmann".split():
        assert any(word in name for name in texts), word
    assert all(len(text) > 200 for text in texts.values())


def test_versions(wheel):
    """None that a file needs of the C library is above the tag."""
    found = 0
    for name, elf in elf_files(wheel).items():
        for need in elf.needs():
            if need.version.startswith("GLIBC_"):
                found += 1
                assert (0,) < (portable_libraries.version(need.version) or (0,)) <= (2, 35), (name, need)
    assert found > 20


def test_other_copies_are_separate(wheel):
    """No symbol is found by another copy of a library, such as of C++'s standard library, and none of its is found."""
    for name, elf in elf_files(wheel).items():
        offset, size, _ = elf.sections[portable_libraries.SHT_DYNSYM]
        bindings = {elf.data[at] >> 4 for at in range(offset + 4, offset + size, 24)}
        assert portable_libraries.STB_GNU_UNIQUE not in bindings, name
        for need in elf.needs():
            own = not portable_libraries.SYSTEM.match(need.library)
            assert need.version.startswith(portable_libraries.OWN) == own, (name, need)


def test_libraries(wheel, tmp_path):
    """Each library is the C library's or inside of the wheel under a name of its own, and is found there."""
    libraries = {name.rpartition("/")[2] for name in wheel.namelist() if name.startswith("weft/lib/")}
    assert all(re.fullmatch(r".+-[0-9a-f]{8}\.so[.0-9]*", name) for name in libraries)
    needed = set()
    for name in elf_files(wheel):
        tags = dynamic(wheel, tmp_path, name)
        rpath = {"weft/lib": "$ORIGIN", "weft": "$ORIGIN/lib"}[name.rpartition("/")[0]]
        compatibility = "libglibc_compat" in name  # which loads nothing else
        assert [value for tag, value in tags if tag in {"RPATH", "RUNPATH"}] == [rpath] * (not compatibility), name
        for tag, value in tags:
            if tag == "SONAME":
                assert value == name.rpartition("/")[2]
            elif tag == "NEEDED" and not portable_libraries.SYSTEM.match(value):
                assert value in libraries, (name, value)
                assert "python" not in value
                needed.add(value)
    assert needed == libraries


def test_symbols_of_the_extension(wheel, tmp_path):
    """It has one symbol for others, and of Python's, for 3.12 and later, those of the stable interface."""
    (name,) = [n for n in wheel.namelist() if n.startswith("weft/_core.") and n.endswith(".so")]
    path = wheel.extract(name, tmp_path)
    lines = subprocess.run(["nm", "-D", path], check=True, capture_output=True, text=True).stdout.splitlines()
    symbols = [(line.split()[-2], line.split()[-1]) for line in lines]
    assert [symbol for kind, symbol in symbols if kind not in "Uw"] == ["PyInit__core"]
    python = {symbol for kind, symbol in symbols if kind == "U" and re.match(r"_?Py", symbol)}
    assert len(python) > 50
    if "abi3" in wheel.filename:
        private = {symbol for symbol in python if symbol.startswith("_Py")}
        assert private <= STABLE, private - STABLE


def test_free_threaded_python_is_refused():
    source = "import sys; sys.abiflags = 't'; import weft"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ImportError: weft does not run on the free-threaded build" in done.stderr
