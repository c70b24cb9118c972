"""mypy in strict mode, and pyright, find nothing in programs that use the package: one of the tests, and the tour."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

import weft as wf

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = pathlib.Path(wf.__file__).absolute().parent
PROGRAM = "types_of_a_program.py"


@pytest.fixture
def programs(tmp_path):
    if not (PACKAGE / "__init__.pyi").exists():
        pytest.skip("the package was built without its types (generate.py stubs)")
    cells = json.loads((HERE.parent / "examples" / "tour.ipynb").read_text())["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    (tmp_path / "tour.py").write_text("\n\n".join(code) + "\n")
    (tmp_path / PROGRAM).write_text((HERE / PROGRAM).read_text())
    return tmp_path


def run(*command, **settings):
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **settings})
    return ran.returncode, ran.stdout + ran.stderr


def test_mypy(programs):
    pytest.importorskip("mypy")
    files = [programs / PROGRAM]
    if importlib.util.find_spec("matplotlib"):
        files.append(programs / "tour.py")
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", str(programs / "cache")]
    code, text = run(sys.executable, "-m", "mypy", *options, *map(str, files), MYPYPATH=str(PACKAGE.parent))
    assert code == 0, text


def test_mypy_finds_what_is_wrong(programs):
    pytest.importorskip("mypy")
    lines = {
        "a: int = wf.ones(3)": "Array",
        'wf.ones((2,), dtype="float32", shpe=1)': "shpe",
        "b: str = wf.top_k(wf.ones(3), k=1).values": "Array",
        'wf.losses.mse_loss(wf.ones(3), wf.ones(3), reduction="avarage")': "avarage",
        'wf.webnn.create_context().create_tensor("float32")': "shape",
    }
    (programs / "wrong.py").write_text("import weft as wf\n" + "\n".join(lines) + "\n")
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", str(programs / "cache")]
    code, text = run(
        sys.executable, "-m", "mypy", *options, str(programs / "wrong.py"), MYPYPATH=str(PACKAGE.parent)
    )
    assert code == 1
    for number, word in enumerate(lines.values(), 2):
        assert any(f"wrong.py:{number}: error" in line and word in line for line in text.splitlines()), text


def test_pyright(programs):
    pytest.importorskip("pyright")
    code, text = run(sys.executable, "-m", "pyright", "--version")
    if code != 0:
        pytest.skip("pyright has no Node.js here")
    if not importlib.util.find_spec("matplotlib"):
        (programs / "tour.py").unlink()
    # The tour passes lambdas, and uses matplotlib, whose types are partly unknown.
    settings = {
        "extraPaths": [str(PACKAGE.parent), *sys.path], "typeCheckingMode": "standard", "strict": [PROGRAM],
    }  # fmt: skip
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    code, text = run(sys.executable, "-m", "pyright", "-p", str(programs))
    assert code == 0 and "0 errors" in text, text
