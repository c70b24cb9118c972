"""Profiles: where the time goes on a device."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import time
from typing import Any, Iterator, NamedTuple

from . import _core
from ._core import Device


class ProfileRow(NamedTuple):
    """All calls of one step by one form of a kernel, in seconds and bytes. share is of the time of all kernels;
    of_limit is the least time that the device needs for such work, if it was calibrated, by the time taken."""

    step: str
    kernel: str
    variant: str
    why: str
    calls: int
    seconds: float
    flops: float
    bytes: int
    share: float
    of_limit: float


class Profile:
    """What ran on a device in a block of profile(). The results are there when the block has ended."""

    def __init__(self, name: str, device: Device, repeats: int) -> None:
        self.name = name
        self._repeats = repeats
        self._report: Any = None
        self._spans: list[tuple[str, float, float]] = []
        self._scope = _core.ProfileScope(name, device)
        self._start = time.perf_counter()

    @contextlib.contextmanager
    def span(self, name: str) -> Iterator[None]:
        """`with p.span("loading"):` a part of the program's own time, in the timeline."""
        start = time.perf_counter() - self._start
        try:
            yield
        finally:
            self._spans.append((name, start, time.perf_counter() - self._start - start))

    def _finish(self) -> None:
        self._report = self._scope.finish(self._spans, self._repeats)

    def _done(self) -> Any:
        if self._report is None:
            raise ValueError("profile: the block that is profiled has not ended")
        return self._report

    @property
    def seconds(self) -> float:
        """From the block's begin to its end; longer than without a profile."""
        return self._done().seconds

    @property
    def kernel_seconds(self) -> float:
        """The time of all kernels."""
        return self._done().kernel_seconds

    @property
    def device(self) -> str:
        """The device's name."""
        return self._done().device

    @property
    def method(self) -> str:
        """How the kernels were timed, in words."""
        return self._done().method

    @property
    def rows(self) -> list[ProfileRow]:
        """The kernels, those with the most time first."""
        return [ProfileRow(*row) for row in self._done().rows()]

    def table(self, rows: int = 20) -> str:
        """As text, with at most so many kernels; 0: all."""
        return self._done().table(rows)

    def to_html(self) -> str:
        """One page that needs no other file: timeline, roofline, memory over time, table."""
        return self._done().page()

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `weft profile --json` writes it."""
        return json.loads(self._done().json())

    def trace(self) -> str:
        """A trace for ui.perfetto.dev, or Chrome."""
        return self._done().trace()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file that ends in .html, or the trace to one that ends in .json."""
        _write(pathlib.Path(path), self)

    def open(self) -> None:
        """Shows the page in a browser."""
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="weft-profile-", delete=False) as file:
            file.write(self.to_html())
        _open(pathlib.Path(file.name))

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.table())}</pre>"


def _check_path(path: pathlib.Path) -> None:
    if path.suffix not in (".html", ".json"):
        raise ValueError(f"profile: {str(path)!r} ends neither in .html, for the page, nor in .json, for the trace")


def _write(path: pathlib.Path, made: Profile) -> None:
    _check_path(path)
    path.write_text(made.to_html() if path.suffix == ".html" else made.trace(), encoding="utf-8")


def _open(path: pathlib.Path) -> None:
    import webbrowser

    webbrowser.open(path.resolve().as_uri())


@contextlib.contextmanager
def profile(
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "a program",
    device: Device | str | None = None,
    repeats: int = 1,
    open: bool = False,
) -> Iterator[Profile]:
    """Times each kernel that runs on a device in a block.

    >>> import weft as wf
    >>> x = wf.random.normal((64, 64))
    >>> with wf.profile() as p:
    ...     wf.wait(x @ x)
    >>> p.rows[0].calls
    1

    `with wf.profile("step.html", open=True):` writes the page with timeline and table to that file, and shows it in a
    browser; a path that ends in .json gets a trace for ui.perfetto.dev. Arrays that nothing in the block reads or
    waits for may be computed later, and are not part of it.

    Parameters
    ----------
    name: in the page's title.
    device: by default the default device. One profile at a time is possible on it.
    repeats: how often the block runs what it profiles; the table shows the times of once.
    open: show the page in a browser.
    """
    target = None if path is None else pathlib.Path(path)
    if target is not None:
        _check_path(target)
    if device is None:
        device = _core.default_device()
    made = Profile(name, _core.open_device(device) if isinstance(device, str) else device, repeats)
    try:
        yield made
    except BaseException:
        made._scope.end()
        raise
    made._finish()
    if target is not None:
        made.save(target)
    if open:
        _open(target) if target is not None and target.suffix == ".html" else made.open()
