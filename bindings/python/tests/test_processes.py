"""What happens to processes: forks, ends with work in flight, threads, memory, errors in callbacks, interrupts."""

import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import weft as wf

on_gpu = wf.device().is_gpu


def run(text, **environment):
    """A program of its own; nanobind tells what it leaks."""
    text = "import weft as wf, weft._core\nweft._core.set_leak_warnings(True)\n" + textwrap.dedent(text)
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, timeout=300,
        env=dict(os.environ, **environment),
    )  # fmt: skip


def succeeds(text, output=""):
    done = run(text)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert done.stderr == ""
    assert done.stdout.strip() == output


# ---- Forks

NEEDS_COMPUTING = {
    "expression": "(x + 1).sum().item()",
    "print": "str(x + 1)",
    "NumPy": "__import__('numpy').asarray(x + 1)",
    "eval": "wf.eval(x + 1)",
    "new array": "wf.asarray([1.0, 2.0]).tolist()",
    "compiled": "f(x)",
    "device": "wf.device('cpu'); (wf.ones(2) + 1).tolist()",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("what", NEEDS_COMPUTING)
def test_a_forked_child_says_what_to_do(what):
    succeeds(
        f"""
        import os
        x = wf.random.normal((10, 10)); f = wf.compile(lambda x: x * 2); wf.wait(f(x))
        child = os.fork()
        if child == 0:
            try: {NEEDS_COMPUTING[what]}
            except RuntimeError as e: os._exit(7 if "spawn" in str(e) else 2)
            os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), float((x - x).sum()))
        """,
        "7 0.0",
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_that_does_not_compute_ends_as_others():
    succeeds(
        """
        import os, sys
        x = wf.random.normal((10, 10)); wf.eval(x @ x)
        child = os.fork()
        if child == 0:
            print(x.shape, x.dtype, flush=True)
            del x
            sys.exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        "(10, 10) float32\n3",
    )


def test_spawned_processes_compute(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing, weft as wf
            def work(x): return (x * 2).sum(), float(x.sum())
            if __name__ == "__main__":
                x = wf.arange(4.0); wf.wait(x + 1)
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    print([(float(a), b) for a, b in pool.map(work, [x, x + 1])])
            """
        )
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[(12.0, 6.0), (20.0, 10.0)]", done.stderr


# ---- Ends

ENDS = {
    "work in flight": "y = x @ x; wf.eval(y); y = wf.compile(lambda x: wf.tanh(x @ x))(y); wf.eval(y @ x)",
    "nothing computed": "y = wf.grad(lambda x: (x @ x).sum())(x)",
    "a cycle": "class Node: pass\nn = Node(); n.me = n; n.x = x @ x; n.f = wf.compile(lambda y: y @ n.x); wf.eval(n.f(x))",
    "a view": "import numpy; n = numpy.asarray(x.to_device('cpu')); m = memoryview(x.to_device('cpu')); wf.eval(x @ x)",
    "a pull back": "v, back = wf.vjp(lambda x: x @ x, x); wf.eval(back(v))",
    "a rule": "f = wf.custom_vjp(lambda x: x * 2, lambda a, y, d: d * 2); g = wf.grad(lambda x: f(x).sum())(x)",
    "a default device": "wf.set_default_device('cpu'); scope = wf.device('cpu').__enter__(); wf.eval(wf.ones(3) * 2)",
    "an exit": "import sys; wf.eval(x @ x); sys.exit(0)",
    "os._exit": "import os; wf.eval(x @ x); os._exit(0)",
    "at exit": "import atexit; atexit.register(lambda: (x @ x).sum().item())",
    "a future": "import asyncio\nasync def f(): return await (x @ x)\ny = asyncio.run(f())",
    "an iterator": "i = iter(x); next(i)",
    "a registered tree": "class T: pass\nwf.register_tree(T, lambda t: ([], None), lambda fixed, c: T()); wf.tree_leaves(T())",
}  # fmt: skip


@pytest.mark.parametrize("what", ENDS)
def test_ends(what):
    succeeds("x = wf.random.normal((300, 300))\n" + ENDS[what])


def test_an_uncaught_error_leaks_nothing():
    done = run("x = wf.ones(3)\nwf.compile(lambda x: x.reshape(7))(x)")
    assert done.returncode == 1
    assert "ValueError" in done.stderr and "leaked" not in done.stderr, done.stderr


# Threads that compute, and such as mostly wait for Python's lock.
@pytest.mark.parametrize("threads, size", [(3, 200), (30, 20)])
def test_daemon_threads_at_the_end(threads, size):
    for _ in range(3):
        succeeds(
            f"""
            import threading, time
            x = wf.random.normal(({size}, {size})); wf.wait(x)
            def work():
                y = x
                while True:
                    y = wf.tanh(y @ x * 0.01)
                    wf.wait(y)
            started = [threading.Thread(target=work, daemon=True) for _ in range({threads})]
            for t in started: t.start()
            time.sleep(0.2)
            print("end", flush=True)
            import os
            weft._core.set_leak_warnings(False)  # what threads hold when the interpreter ends is lost
            """,
            "end",
        )


def test_threads_that_outlive_the_main_one():
    succeeds(
        """
        import threading, time
        x = wf.random.normal((50, 50)); wf.wait(x)
        def work():
            time.sleep(0.2)
            print((x - x).sum().item(), flush=True)
        threading.Thread(target=work).start()
        """,
        "0.0",
    )


# ---- Memory


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")
def test_a_million_arrays_leave_nothing():
    x = wf.asarray([1.0, 2.0])
    wf.wait(x)

    def turn(count):
        for _ in range(count):
            x + 1

    turn(20000)
    gc.collect()
    live, before = wf.memory.live(), resident()
    turn(10**6)
    gc.collect()
    assert wf.memory.live() == live
    assert resident() - before < 4 << 20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")
@pytest.mark.parametrize("kind", ["values", "asarray", "grad", "compile", "vmap", "index", "numpy", "errors"])
def test_what_is_computed_leaves_nothing(kind):
    x = wf.asarray([1.0, 2.0, 3.0])
    compiled = wf.compile(lambda x: wf.sin(x) * 2)

    def fails():
        with pytest.raises(ValueError):
            wf.grad(lambda x: x.reshape(7))(x)
        with pytest.raises(ValueError):
            wf.compile(lambda x: x.reshape(7))(x)

    once = {
        "values": lambda: (x * 2 + 1).sum().item(),
        "asarray": lambda: wf.asarray(np.arange(3.0)) + 1,
        "grad": lambda: wf.grad(lambda x: (x**2).sum())(x).tolist(),
        "compile": lambda: compiled(x).tolist(),
        "vmap": lambda: wf.vmap(lambda a: a * 2)(x).tolist(),
        "index": lambda: (x[1:], x[x > 1], x.at[0].set(2.0)),
        "numpy": lambda: np.asarray(x + 1).copy(),
        "errors": fails,
    }[kind]
    for _ in range(300):
        once()
    gc.collect()
    live, objects, grown = wf.memory.live(), len(gc.get_objects()), []
    # A driver's own caches and the C library's pools grow now and then; what leaks 1 KB a turn grows each time.
    for _ in range(3):
        before = resident()
        for _ in range(3000):
            once()
        gc.collect()
        grown.append(resident() - before)
        if grown[-1] < 3 << 20:
            break
    assert wf.memory.live() <= live + 4096
    assert min(grown) < 3 << 20, grown
    assert len(gc.get_objects()) <= objects + 20


# ---- Errors in callbacks


class Own(Exception):
    pass


def fail(*_):
    raise Own("of the program")


x = wf.asarray([1.0, 2.0, 3.0])
CALLBACKS = {
    "grad": lambda: wf.grad(fail)(x),
    "value_and_grad": lambda: wf.value_and_grad(fail)(x),
    "vjp": lambda: wf.vjp(fail, x),
    "jvp": lambda: wf.jvp(fail, (x,), (x,)),
    "jacobian": lambda: wf.jacobian(fail)(x),
    "hessian": lambda: wf.hessian(fail)(x),
    "vmap": lambda: wf.vmap(fail)(x),
    "compile": lambda: wf.compile(fail)(x),
    "compile in compile": lambda: wf.compile(lambda x: wf.compile(fail)(x))(x),
    "grad in compile": lambda: wf.compile(lambda x: wf.grad(fail)(x))(x),
    "vmap of grad": lambda: wf.vmap(wf.grad(fail))(x),
    "checkpoint": lambda: wf.checkpoint(fail)(x),
    "cond": lambda: wf.cond(x[0] > 0, fail, lambda x: x, x),
    "while_loop": lambda: wf.while_loop(lambda x: x[0] < 9, fail, x),
    "while_loop's condition": lambda: wf.while_loop(fail, lambda x: x, x),
    "fori_loop": lambda: wf.fori_loop(0, 3, fail, x),
    "scan": lambda: wf.scan(fail, x[0], x),
    "custom_vjp": lambda: wf.grad(lambda x: wf.custom_vjp(lambda x: x * 2, fail)(x).sum())(x),
    "custom_jvp": lambda: wf.jvp(wf.custom_jvp(lambda x: x * 2, fail), (x,), (x,)),
    "tree_map": lambda: wf.tree_map(fail, [x]),
}


@pytest.mark.parametrize("what", CALLBACKS)
def test_errors_in_callbacks(what):
    for _ in range(3):
        with pytest.raises(Own, match="of the program") as caught:
            CALLBACKS[what]()
        assert caught.traceback[-1].name == "fail"
    # All else works as before.
    assert wf.grad(lambda x: (x * x).sum())(x).tolist() == [2, 4, 6]
    assert wf.compile(lambda x: x + 1)(x).tolist() == [2, 3, 4]
    assert wf.vmap(lambda x: x * 2)(x).tolist() == [2, 4, 6]


def test_a_function_that_failed_is_traced_again():
    turn = [0]

    @wf.compile
    def f(x):
        turn[0] += 1
        if turn[0] == 1:
            raise Own
        return x * turn[0]

    with pytest.raises(Own):
        f(x)
    assert f(x).tolist() == [2, 4, 6]
    assert f(x).tolist() == [2, 4, 6]


# ---- Ctrl-C


LONG = 10**7
DONATING = {
    # The memory of the argument is written when the loop has ended.
    "read in the loop": (lambda a, b: wf.fori_loop(0, LONG, lambda i, v: wf.tanh(v @ a * 0.01 + b), a), True),
    "not donated": (lambda a, b: wf.fori_loop(0, LONG, lambda i, v: wf.tanh(v @ a * 0.01), b), True),
    # Each turn of the loop writes to it.
    "carried": (lambda a, b: wf.fori_loop(0, LONG, lambda i, v: wf.tanh(v @ b * 0.01), a), False),
    "while": (
        lambda a, b: wf.while_loop(lambda s: s[1] < LONG, lambda s: (wf.tanh(s[0] @ b * 0.01), s[1] + 1), (a, wf.asarray(0))),
        False,
    ),
}


@pytest.mark.parametrize("what", DONATING)
def test_donated_arrays_of_an_interrupted_call(what):
    """They are as they were, or, once their memory was written to, say that they have lost their values."""
    function, is_kept = DONATING[what]
    f = wf.compile(function, donate_argnums=0)
    a, b = wf.random.normal((100, 100)), wf.random.normal((100, 100))
    before = (np.asarray(a).copy(), np.asarray(b).copy())
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            wf.wait(f(a, b))
            time.sleep(60)
    finally:
        timer.cancel()
    if is_kept:
        np.testing.assert_array_equal(np.asarray(a), before[0])
    else:
        for read in (np.asarray, memoryview, repr, lambda a: a.tolist(), lambda a: (a + 1).tolist(),
                     lambda a: a[0, 0].item(), lambda a: a.mT.tolist(), lambda a: f(a, b)):  # fmt: skip
            with pytest.raises(RuntimeError, match="lost its values"):
                read(a)
    np.testing.assert_array_equal(np.asarray(b), before[1])
    assert float((b - b).sum()) == 0


def test_loops_carry_donated_arrays():
    def turn(v, b):
        return wf.fori_loop(0, 5, lambda i, v: wf.tanh(v @ b), v)

    a, b = wf.random.normal((20, 20)), wf.random.normal((20, 20))
    wanted = wf.compile(turn)(a, b).tolist()
    assert wf.compile(turn, donate_argnums=0)(a, b).tolist() == wanted
    assert a._is_empty


def test_interrupts_in_callbacks():
    def interrupted(x):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
        return x.sum()

    for call in (wf.grad(interrupted), wf.compile(interrupted), wf.vmap(interrupted)):
        with pytest.raises(KeyboardInterrupt):
            call(x[None])
    assert wf.grad(lambda x: (x * x).sum())(x).tolist() == [2, 4, 6]


# ---- Lines


def line_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return str(caught.value)


def test_errors_of_computing_name_the_line_of_the_program():
    singular = wf.zeros((3, 3))
    made = wf.linalg.inv(singular); number = sys._getframe().f_lineno  # fmt: skip
    assert f"(recorded at test_processes.py:{number})" in line_of(lambda: (made * 2).tolist())
    # A function of the package's that is made of others has the line that called it.
    big = wf.asarray([[1.0, 2.0], [2.0, 1.0]])
    made = wf.linalg.cholesky(big); number = sys._getframe().f_lineno  # fmt: skip
    assert f"(recorded at test_processes.py:{number})" in line_of(made.sum().item)


def test_errors_of_derivatives_name_the_line_of_the_program():
    x = wf.ones((4, 3))

    def f(x):
        q, r = wf.linalg.qr(x, mode="complete")
        return q.sum()

    number = f.__code__.co_firstlineno + 1
    with pytest.raises(NotImplementedError, match=rf"recorded at test_processes.py:{number}\)"):
        wf.grad(f)(x)
