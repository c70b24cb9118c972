"""weft.profile."""

import json
import webbrowser

import pytest

import weft as wf


def work():
    x = wf.random.normal((64, 64))
    wf.wait(x)
    return x


def test_times_what_runs_in_the_block():
    x = work()
    with wf.profile(name="two products", repeats=2) as p:
        with p.span("the products"):
            for _ in range(2):
                x = x @ x
                wf.wait(x)
    product = next(row for row in p.rows if row.kernel == "matmul")
    assert product.calls == 2
    assert product.flops == 2 * 2 * 64**3
    assert p.device == wf.device().name
    assert 0 < p.kernel_seconds and 0 < p.seconds
    assert sum(row.share for row in p.rows) == pytest.approx(1)
    text = str(p)
    assert text.startswith("two products\n") and "matmul" in text
    assert p.table(rows=1) != ""
    assert p.to_dict()["title"] == "two products" and p.to_dict()["repeats"] == 2
    assert "<pre>two products" in p._repr_html_()
    names = [event.get("name") for event in json.loads(p.trace())["traceEvents"]]
    assert "the products" in names and "two products" in names


def test_writes_a_page_or_a_trace(tmp_path, monkeypatch):
    x = work()
    shown = []
    monkeypatch.setattr(webbrowser, "open", shown.append)
    with wf.profile(tmp_path / "step.html", open=True):
        wf.wait(x + 1)
    page = (tmp_path / "step.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html>") and "http" not in page.split("<body")[0]
    assert shown == [(tmp_path / "step.html").as_uri()]
    with wf.profile(tmp_path / "step.json") as p:
        wf.wait(x + 2)
    assert json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    p.save(tmp_path / "again.html")
    assert (tmp_path / "again.html").stat().st_size > 1000


def test_what_is_refused():
    with pytest.raises(ValueError, match="ends neither in .html"):
        with wf.profile("step.txt"):
            pytest.fail("the block ran")
    with wf.profile() as p:
        with pytest.raises(ValueError, match="has not ended"):
            p.rows
        with pytest.raises(ValueError):
            with wf.profile():
                pass


def test_a_block_that_raises_ends_its_profile(tmp_path):
    with pytest.raises(KeyError):
        with wf.profile(tmp_path / "step.html"):
            raise KeyError
    assert not (tmp_path / "step.html").exists()
    with wf.profile():
        pass
