"""The notebook bindings/python/examples/tour.ipynb runs, and is committed without outputs."""

import json
import pathlib
import sys
import types

import pytest

TOUR = pathlib.Path(__file__).resolve().parents[1] / "examples" / "tour.ipynb"


def cells(kind):
    return ["".join(c["source"]) for c in json.loads(TOUR.read_text())["cells"] if c["cell_type"] == kind]


def test_has_no_outputs():
    for cell in json.loads(TOUR.read_text())["cells"]:
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None


def test_links_lead_somewhere():
    import re

    for text in cells("markdown"):
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert target.startswith("http") or (TOUR.parent / target).exists(), target


def test_runs(tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib", reason="the tour plots by matplotlib, which is not installed")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("tour")
    monkeypatch.setitem(sys.modules, "tour", module)
    figures = []
    monkeypatch.setattr(plt, "show", lambda: figures.append(plt.gcf()))
    for number, code in enumerate(cells("code")):
        exec(compile(code, f"cell {number} of {TOUR}", "exec"), module.__dict__)
    for number, figure in enumerate(figures):
        figure.savefig(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 5000
    plt.close("all")
    assert len(figures) == 5
    assert float(module.curve[-1]) < 0.1 < float(module.curve[0])
    assert "'w1': (1, 64)" in capsys.readouterr().out
