"""What the wheels of bindings/ have in common: the licences of the libraries that they bring, and the archive itself."""

import base64
import collections.abc
import hashlib
import pathlib
import platform
import subprocess
import zipfile

import portable_libraries


def platform_tag(files: collections.abc.Iterable[pathlib.Path]) -> str:
    """The tag of systems whose C library is as new as these files need it."""
    glibc = "_".join(map(str, portable_libraries.needed_version(list(files))))
    return f"manylinux_{glibc}_{platform.machine()}"


def package_of(path: pathlib.Path) -> str:
    """The Debian package that a file is of."""
    found = subprocess.run(["dpkg-query", "-S", str(path.resolve())], capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(f"{path} is of no package of this system, so that its licence is not known")
    return found.stdout.split(":", 1)[0]


def licences(
    libraries: collections.abc.Iterable[pathlib.Path], packages: collections.abc.Iterable[str] = ()
) -> dict[str, bytes]:
    """What Debian says on the authors and licences of the packages of these libraries and of other packages, by names of
    files."""
    names = {package_of(path) for path in libraries} | set(packages)
    found = {}
    for name in sorted(names):
        path = pathlib.Path("/usr/share/doc", name, "copyright")
        if not path.exists():
            raise SystemExit(f"this system has no {path}, which a wheel must bring")
        found[f"{name}/copyright"] = path.read_bytes()
    return found


def write(
    directory: pathlib.Path,
    name: str,
    version: str,
    tag: str,
    metadata: str,
    files: dict[str, bytes],
    licence_files: dict[str, bytes],
    entry_points: str = "",
) -> pathlib.Path:
    """Makes a wheel of files, by their paths in it. The same files make the same wheel. Returns its path."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    entries = dict(sorted(files.items()))
    for file, data in sorted(licence_files.items()):
        entries[f"{info}/licenses/{file}"] = data
        metadata = metadata.replace("\n\n", f"\nLicense-File: {file}\n\n", 1)
    entries[f"{info}/METADATA"] = metadata.encode()
    entries[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    if entry_points:
        entries[f"{info}/entry_points.txt"] = entry_points.encode()
    record = f"{info}/RECORD"
    rows = [
        f"{file},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for file, data in entries.items()
    ]
    entries[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{stem}-{tag}.whl"
    partial = path.with_name(path.name + ".partial")
    with zipfile.ZipFile(partial, "w") as wheel:
        for file, data in entries.items():
            entry = zipfile.ZipInfo(file)  # of 1980
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    partial.replace(path)
    return path
