"""Ctrl-C, threads, forks and the end of the process."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import weft as wf

on_gpu = wf.device().is_gpu


@contextlib.contextmanager
def interrupted():
    """Expects Ctrl-C, which is pressed after 0.3 s, to end what is inside soon."""
    seconds = 0.3
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    pressed = time.perf_counter() + seconds
    # A process that a shell starts in the background ignores Ctrl-C, and Python with it.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    # Beside other work threads get the processor late; what is inside would take minutes.
    assert time.perf_counter() - pressed < 5


# A GPU may be done with any expression before it is interrupted.
@pytest.mark.parametrize("kind", ["fori_loop", "while_loop"] if on_gpu else ["expression", "fori_loop", "while_loop"])
def test_interrupts(kind):
    x = wf.random.normal((200, 200) if on_gpu else (600, 600))
    wf.wait(x)

    def turn(y):
        return wf.tanh(y @ x * 0.01)

    def work():
        if kind == "expression":
            y = x
            for _ in range(1000):
                y = turn(y)
            return y
        if kind == "fori_loop":
            return wf.fori_loop(0, 10**6, lambda i, y: turn(y), x)
        return wf.while_loop(lambda y: y[0, 0] < 1e9, turn, x)

    with interrupted():
        wf.wait(work())
    assert (x - x).sum().item() == 0  # all else still works


def test_other_threads_run_meanwhile():
    turns, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            turns[0] += 1
            time.sleep(0.001)

    x = wf.random.normal((800, 800))
    wf.wait(x)
    y = x
    for _ in range(8):
        y = wf.tanh(y @ x)
    thread = threading.Thread(target=count)
    thread.start()
    before = turns[0]
    wf.wait(y)
    assert turns[0] > before
    stop.set()
    thread.join()


def test_threads():
    results = []

    def work():
        results.append(sum(float((wf.ones(10) * 3 + i).sum()) for i in range(50)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [sum(30 + 10 * i for i in range(50))] * 4


def run(text):
    text = "import weft._core\nweft._core.set_leak_warnings(True)\n" + text
    return subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, timeout=120)


def test_forks():
    done = run(
        "import os, weft as wf\n"
        "wf.ones(3).sum().item()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try: (wf.ones(3) + 1).sum().item()\n"
        "    except RuntimeError as e: os._exit(7 if 'spawn' in str(e) else 2)\n"
        "    os._exit(1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), wf.ones(3).sum().item())\n"
    )
    assert done.stdout.split() == ["7", "3.0"], done.stderr


def test_ends_with_work_in_flight_and_nothing_leaks():
    done = run(
        "import weft as wf\n"
        "x = wf.random.normal((500, 500))\n"
        "f = wf.compile(lambda x: x @ x)\n"
        "y = f(x)\n"
        "g = wf.grad(lambda x: (x * x).sum())(x)\n"
        "wf.eval(x @ x @ g)\n"
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_memory_does_not_grow():
    import gc

    def turn(n):
        for i in range(n):
            wf.asarray([1.0, i]) + 1
            wf.zeros(3)[1:]

    turn(1000)
    gc.collect()
    before = wf.memory.live()
    turn(20000)
    assert wf.memory.live() <= before + 4096
