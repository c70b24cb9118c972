"""Makes the wheels of the Python package, of what ./dev wheel built: for Python 3.11, and for 3.12 and later. Both bring
what the package loads, for systems whose C library is as new as cmake/environment/portable_libraries.py has it.

usage: wheel.py BUILD DIRECTORY
"""

import pathlib
import platform
import re
import sys
import tempfile
import tomllib

PROJECT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / "cmake" / "environment"))
import portable_libraries  # noqa: E402
import wheels  # noqa: E402

# What the extension has of packages that are headers alone.
COMPILED_IN = ["nanobind-dev", "robin-map-dev", "nlohmann-json3-dev", "libminja-dev", "libxxhash-dev", "libcli11-dev"]
LARGEST = 60_000_000  # bytes


def metadata(project: dict, version: str) -> str:
    """What pyproject.toml says, as wheels do."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Keywords: {','.join(project['keywords'])}",
        f"License-Expression: {project['license']}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
    ]
    for extra, requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {requirement}; extra == "{extra}"' for requirement in requirements]
    readme = (PROJECT / project["readme"]).read_text()
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def entry_points(project: dict) -> str:
    return "\n".join(["[console_scripts]", *(f"{name} = {where}" for name, where in project["scripts"].items()), ""])


def package_files(package: pathlib.Path) -> dict[str, bytes]:
    """The files of the package that are not compiled, by their paths in a wheel."""
    paths = [path for path in package.rglob("*") if path.suffix in {".py", ".pyi"} or path.name == "py.typed"]
    return {f"weft/{path.relative_to(package)}": path.read_bytes() for path in paths}


def main() -> None:
    build, directory = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    version = re.search(r'WEFT_VERSION "(.*)"', (build / "include/weft/version.h").read_text())[1]
    package = build / "package" / "weft"
    extensions = {
        "cp311-cp311": build / "python3.11" / f"_core.cpython-311-{platform.machine()}-linux-gnu.so",
        "cp312-abi3": package / "_core.abi3.so",
    }
    files = package_files(package)
    with tempfile.TemporaryDirectory() as temporary:
        own = list(extensions.values())
        rpaths = {path.name: "$ORIGIN/lib" for path in own}
        copies = portable_libraries.make_portable(own, pathlib.Path(temporary), rpaths, separated=True)
        if portable_libraries.needed_version(copies) > portable_libraries.LATEST:
            raise SystemExit("the libraries need a newer C library than the wheel's tag says")
        compiled = {path.name: path.read_bytes() for path in copies}
    licences = wheels.licences(portable_libraries.brought(own).values(), COMPILED_IN)
    licences["LICENSE"] = (PROJECT / "LICENSE").read_bytes()

    cores = {tag: (path.name, compiled.pop(path.name)) for tag, path in extensions.items()}
    files |= {f"weft/lib/{name}": data for name, data in compiled.items()}
    glibc = "_".join(map(str, portable_libraries.LATEST))
    for tag, (name, core) in cores.items():
        wheel = wheels.write(
            directory,
            project["name"],
            version,
            f"{tag}-manylinux_{glibc}_{platform.machine()}",
            metadata(project, version),
            files | {f"weft/{name}": core},
            licences,
            entry_points(project),
        )
        if wheel.stat().st_size > LARGEST:
            raise SystemExit(f"{wheel} has {wheel.stat().st_size} bytes, and may have {LARGEST}")
        print(wheel)


if __name__ == "__main__":
    main()
