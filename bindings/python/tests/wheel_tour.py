"""Uses an installed weft, of which the tests of ./dev wheel want no more than Python's own library, beside what else is
installed: arrays, derivatives, compiled functions, files, the command line; other libraries in the same process.

usage: wheel_tour.py                   the package
       wheel_tour.py beside MODULE...  the package before and after each of these modules, as far as they are installed
"""

import ctypes
import importlib
import importlib.util
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

# What a private library has, which others must not find: of OpenBLAS, TBB, Dawn, fmt.
PRIVATE = ["cblas_dgemm", "dgemm_", "_ZN3tbb6detail2r18allocateEm", "wgpuCreateInstance", "_ZN3fmt3v116detail"]

MODULES = ["numpy", "scipy.linalg", "torch", "sklearn.linear_model", "pyarrow", "pyarrow.compute", "onnxruntime"]


def expect(what: str, got: object, expected: object) -> None:
    if got != expected:
        raise SystemExit(f"wheel_tour: {what}: expected {expected}, got {got}")


def close(what: str, got: float, expected: float) -> None:
    if not math.isclose(got, expected, rel_tol=1e-5):
        raise SystemExit(f"wheel_tour: {what}: expected {expected}, got {got}")


def compute() -> None:
    """A little of each library that weft brings: TBB's loops, OpenBLAS, Dawn's types, texts of errors."""
    import weft as wf

    x = wf.asarray([[4.0, 1.0], [1.0, 3.0]])
    expect("a product", (x @ x).tolist(), [[17.0, 7.0], [7.0, 10.0]])
    close("a determinant", wf.linalg.det(x).item(), 11.0)
    values = wf.linalg.eigvalsh(x).tolist()
    close("eigenvalues", values[0], (7 - math.sqrt(5)) / 2)
    close("a large sum", wf.ones((1000, 1000)).sum().item(), 1e6)
    large = wf.random.normal((300, 300))
    residual = large @ wf.linalg.inv(large) - wf.eye(300)
    if not wf.abs(residual).max().item() < 0.05:
        raise SystemExit("wheel_tour: an inverse is wrong")
    try:
        wf.ones((2, 3)) @ wf.ones((2, 3))
    except ValueError as error:
        expect("a text of an error", "(2, 3)" in str(error) or "[2, 3]" in str(error), True)
    else:
        raise SystemExit("wheel_tour: a product of wrong shapes is no error")


def tour() -> None:
    import weft as wf

    compute()
    x = wf.asarray([1.0, 2.0, 3.0])
    expect("a derivative", wf.grad(lambda x: (x**3).sum())(x).tolist(), [3.0, 12.0, 27.0])
    expect("a batch", wf.vmap(lambda x: x * 2)(x).tolist(), [2.0, 4.0, 6.0])
    compiled = wf.compile(lambda x: wf.nn.relu(x - 2) + 1)
    expect("a compiled function", compiled(x).tolist(), [1.0, 1.0, 2.0])
    with tempfile.TemporaryDirectory() as directory:
        for name in "weights.safetensors", "weights.npz":
            path = os.path.join(directory, name)
            wf.save(path, {"x": x})
            expect(name, wf.load(path)["x"].tolist(), x.tolist())
        path = os.path.join(directory, "f.safetensors")
        compiled.save(path, x)
        loaded = wf.load_graph(path)(x)
        loaded = loaded[0] if isinstance(loaded, (list, tuple)) else loaded
        expect("a loaded function", loaded.tolist(), [1.0, 1.0, 2.0])
    if importlib.util.find_spec("numpy"):
        import numpy as np

        expect("NumPy's view", np.asarray(x).tolist(), x.tolist())
        expect("NumPy's array", wf.asarray(np.arange(3, dtype="int32")).tolist(), [0, 1, 2])
    program = [sys.executable, "-m", "weft"]
    expect("python -m weft", wf.__version__ in run(*program, "--version"), True)
    script = pathlib.Path(sys.executable).with_name("weft")
    if script.exists():
        expect("the command weft", run(script, "--version"), run(*program, "--version"))
    if "cpu" not in run(*program, "devices"):
        raise SystemExit("wheel_tour: the command line knows no cpu")
    package = pathlib.Path(wf.__file__).parent
    expect("py.typed", (package / "py.typed").exists() and (package / "_core.pyi").exists(), True)
    print(f"weft {wf.__version__} works in Python {sys.version.split()[0]} on {os.environ['WEFT_DEVICE']}")


def run(*command: object) -> str:
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def found_by_others() -> set[str]:
    """Which of PRIVATE a library finds that is loaded without a word on its place."""
    everything = ctypes.CDLL(None)
    return {name for name in PRIVATE if hasattr(everything, name)}


# How each module computes something by its own libraries.
def use(name: str) -> None:
    module = importlib.import_module(name)
    if name == "numpy":
        a = module.arange(90000.0).reshape(300, 300) / 90000 + module.eye(300)
        expect("numpy", bool(module.allclose(module.linalg.inv(a) @ a, module.eye(300))), True)
    elif name == "scipy.linalg":
        close("scipy", module.det([[4.0, 1.0], [1.0, 3.0]]), 11.0)
    elif name == "torch":
        a = module.ones(300, 300)
        close("torch", (a @ a).sum().item(), 300.0**3)
        close("torch's eigenvalues", module.linalg.eigvalsh(module.tensor([[2.0, 0.0], [0.0, 3.0]])).sum().item(), 5.0)
        try:
            a @ module.ones(2, 2)
        except RuntimeError:
            pass
    elif name == "sklearn.linear_model":
        fit = module.LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        close("sklearn", float(fit.coef_[0]), 2.0)
    elif name == "pyarrow":
        expect("pyarrow", module.array([1, 2, None]).null_count, 1)
        try:
            module.array(["a"]).cast(module.int32())
        except module.ArrowInvalid:
            pass
    elif name == "pyarrow.compute":
        expect("pyarrow.compute", module.sum([1, 2, 3]).as_py(), 6)
    elif name == "onnxruntime":
        expect("onnxruntime", "CPUExecutionProvider" in module.get_available_providers(), True)
        try:
            module.InferenceSession(b"no model")
        except Exception:  # noqa: BLE001  # a class of its own
            pass


def beside(order: list[str]) -> None:
    """Imports and uses these one after the other, in this process, and all of them again."""
    seen = found_by_others()
    for name in order:
        if name != "weft":
            use(name)
            seen = found_by_others()
            continue
        compute()
        expect("symbols of private libraries that others find", found_by_others() - seen, set())
    for name in order:
        compute() if name == "weft" else use(name)


def end_at_work() -> None:
    """Leaves threads behind, most of which wait for Python's lock: until 3.13 Python ends them where they are."""
    import weft as wf

    x = wf.ones((20, 20))

    def work() -> None:
        while True:
            wf.wait(wf.tanh(x @ x))

    for _ in range(20):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)


def main() -> None:
    os.environ.setdefault("WEFT_DEVICE", "cpu")
    if sys.argv[1:2] == ["order"]:
        return beside(sys.argv[2:])
    if sys.argv[1:2] != ["beside"]:
        tour()
        return end_at_work()
    modules = [name for name in sys.argv[2:] or MODULES if importlib.util.find_spec(name.split(".")[0])]
    orders = [["weft", name] for name in modules] + [[name, "weft"] for name in modules]
    orders += [["weft", *modules], [*modules, "weft"]]
    for order in orders:
        done = subprocess.run([sys.executable, __file__, "order", *order])
        if done.returncode:
            raise SystemExit(f"wheel_tour: {' then '.join(order)} in one process: exit status {done.returncode}")
    print(f"weft works beside {', '.join(modules) or 'nothing'}, before and after")


if __name__ == "__main__":
    main()
