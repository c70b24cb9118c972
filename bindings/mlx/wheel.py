"""Makes a wheel that puts the library that ./dev mlx build made, and what it loads, into mlx/lib, beside PyPI's mlx of the
same version. It is for systems whose C library is as new as cmake/environment/portable_libraries.py has it.

usage: wheel.py LIBRARY VERSION DIRECTORY
"""

import pathlib
import sys
import tempfile

PROJECT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / "cmake" / "environment"))
import portable_libraries  # noqa: E402
import wheels  # noqa: E402


def main() -> None:
    library, version, directory = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as temporary:
        libraries = portable_libraries.make_portable([library], pathlib.Path(temporary))
        tag = f"py3-none-{wheels.platform_tag(libraries)}"
        files = {f"mlx/lib/{p.name}": p.read_bytes() for p in libraries}
    metadata = (
        f"Metadata-Version: 2.4\nName: weft-mlx\nVersion: {version}\n"
        f"Summary: MLX's GPU on WebGPU, by Weft\nRequires-Dist: mlx=={version}\n\n"
    )
    licences = wheels.licences(portable_libraries.brought([library]).values())
    licences["LICENSE"] = (PROJECT / "LICENSE").read_bytes()
    print(wheels.write(directory, "weft-mlx", version, tag, metadata, files, licences))


if __name__ == "__main__":
    main()
