"""Makes a wheel that puts the library that ./dev mlx build made, and what it loads, into mlx/lib, beside PyPI's mlx of the
same version. It is for systems whose C library is as new as cmake/environment/portable_libraries.py has it.

usage: wheel.py LIBRARY VERSION DIRECTORY
"""

import base64
import hashlib
import pathlib
import platform
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "cmake" / "environment"))
import portable_libraries  # noqa: E402


def main() -> None:
    library, version, directory = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as temporary:
        libraries = portable_libraries.make_portable([library], pathlib.Path(temporary))
        glibc = "_".join(map(str, portable_libraries.needed_version(libraries)))
        entries = {f"mlx/lib/{p.name}": p.read_bytes() for p in libraries}
    tag = f"py3-none-manylinux_{glibc}_{platform.machine()}"
    info = f"weft_mlx-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: weft-mlx\nVersion: {version}\n"
        f"Summary: MLX's GPU on WebGPU, by Weft\nRequires-Dist: mlx=={version}\n"
    )
    entries[f"{info}/METADATA"] = metadata.encode()
    entries[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = f"{info}/RECORD"
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for name, data in entries.items()
    ]
    entries[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"weft_mlx-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in entries.items():
            wheel.writestr(name, data)
    print(path)


if __name__ == "__main__":
    main()
