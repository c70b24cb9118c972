"""Examples in docstrings give what they say, and the code of the pages runs."""

import doctest
import os
import pathlib
import pkgutil
import re
import sys
import types

import numpy as np
import pytest

import weft as wf

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODEL = pathlib.Path(
    os.environ.get("WEFT_MODEL_DIR")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    / "weft/models/all-MiniLM-L6-v2"
)
MODULES = sorted({"weft", *(f"weft.{m.name}" for m in pkgutil.iter_modules(wf.__path__) if m.name != "__main__")})
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples():
    """The docstrings with examples of all modules, also of what is no class or function of Python's own."""
    parser, found, seen = doctest.DocTestParser(), [], set()

    def take(name, thing):
        text = getattr(thing, "__doc__", None)
        if id(thing) in seen or not isinstance(text, str) or ">>>" not in text:
            return
        seen.add(id(thing))
        found.append(parser.get_doctest(text, {}, name, None, 0))

    for module_name in MODULES:
        module = __import__(module_name, fromlist=["_"]) if module_name != "weft" else wf
        take(module_name, module)
        for name, value in vars(module).items():
            if name.startswith("__") or not str(getattr(value, "__module__", "weft")).startswith("weft"):
                continue
            take(f"{module_name}.{name}", value)
            if isinstance(value, type) and value.__module__.startswith("weft"):
                for method, own in vars(value).items():
                    take(f"{module_name}.{name}.{method}", own)
    return found


EXAMPLES = examples()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_docstrings(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wf.random.seed(0)
    report = []
    doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(example, out=report.append)
    assert not report, "".join(report)


def test_there_are_examples():
    assert len(EXAMPLES) >= 20


def blocks(page):
    """The code of a page, each piece with the line where it begins."""
    text = (ROOT / "docs" / page).read_text()
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
        yield text[: match.start(1)].count("\n"), match[1]


def run(page, line, code, namespace):
    # Empty lines in front, so that an error has the page's line.
    exec(compile("\n" * line + code, str(ROOT / "docs" / page), "exec"), namespace)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if (MODEL / "model.safetensors").exists():
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / "all-MiniLM-L6-v2").symlink_to(MODEL)
    return tmp_path


def test_the_guide_runs(place, capsys, monkeypatch):
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where a dataclass looks for its module
    for line, code in blocks("python.md"):
        if "models/" not in code or (place / "models").exists():
            run("python.md", line, code, module.__dict__)
    shown = capsys.readouterr().out
    assert "[0.6 0.8]" in shown and "[[1. 3. 3.]]" in shown
    assert (place / "step.html").stat().st_size > 1000
    assert module.a.tolist() == [[1, 2], [3, 4]] and module.d.tolist() == [[3, 2], [5, 4]]


def test_the_page_of_onnx_runs(place, capsys):
    for line, code in blocks("onnx.md"):
        run("onnx.md", line, code, {})
    assert "pixels: tensor(uint8)[n, 64]" in capsys.readouterr().out


def test_the_tables_run(place):
    namespace: dict = {}
    text = (ROOT / "docs" / "from-numpy-pytorch-jax.md").read_text()
    page = list(blocks("from-numpy-pytorch-jax.md"))
    rows = 0
    for section in text.split("\n## ")[1:]:
        wf.random.seed(0)
        run("from-numpy-pytorch-jax.md", *page[0], namespace)
        for line in section.splitlines():
            cells = re.findall(r"`([^`]*)`", line.split("|")[2]) if line.count("|") == 4 else []
            for code in cells:
                rows += 1
                try:
                    exec(code, namespace)
                except Exception as error:
                    pytest.fail(f"{code}: {type(error).__name__}: {error}")
                leaves = wf.tree_leaves({k: v for k, v in namespace.items() if isinstance(v, wf.Array)})
                wf.wait(leaves)
    assert rows > 60
    for line, code in page[1:]:
        run("from-numpy-pytorch-jax.md", line, code, namespace)


def test_what_the_tables_say_of_values():
    """Where the third column says what differs, it is so."""
    assert wf.asarray([1.5, 2]).dtype == wf.float32 and wf.arange(3).dtype == wf.int32
    x = wf.zeros(2)
    part = x[:1]
    x[0] = 7
    assert part.tolist() == [0] and x.at[[0, 0]].add(1).tolist() == [9, 0]
    assert wf.pad(wf.ones((1, 1)), (1, 0), (1, 2)).shape == (3, 3)
    assert wf.pad(wf.ones((4, 4)), (1, 0), (1, 2)).shape == np.pad(np.ones((4, 4)), ((1, 1), (0, 2))).shape
    if not wf.device().is_gpu:
        assert wf.asarray(np.ones(3)).dtype == wf.float64
