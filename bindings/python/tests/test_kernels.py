"""weft.kernel: WGSL as a function of arrays."""

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import weft as wf

ROWS = """
fn kernel(row: u32) {
  var top = p.floor;
  for (var k = 0u; k < p.x_n1; k++) { top = max(top, abs(load_x(row * p.x_n1 + k))); }
  for (var k = 0u; k < p.x_n1; k++) { store_y(row * p.x_n1 + k, load_x(row * p.x_n1 + k) / top); }
  store_largest(row, top);
}"""


def scale_rows_of_numpy(x, floor):
    top = np.maximum(np.abs(x).max(axis=1), floor)
    return x / top[:, None], top


def scale_rows():
    return wf.kernel(
        ROWS,
        outputs="y, largest",
        results=lambda x: [x, (x.shape[:1], wf.float32)],
        threads=lambda x: x.shape[0],
        numbers={"floor": 1e-6},
        cpu=scale_rows_of_numpy,
        name="scale_rows",
    )


def on_gpu():
    return wf.device().is_gpu


def needs_gpu():
    if not on_gpu():
        pytest.skip("the cpu runs no WGSL")


def test_several_results_sizes_and_numbers():
    f = scale_rows()
    x = np.random.default_rng(1).normal(size=(5, 7)).astype("float32")
    x[2] = 0
    for numbers in ({}, {"floor": 2}, {"floor": 1e-6}):
        y, largest = f(wf.asarray(x) * 2, **numbers)
        want, top = scale_rows_of_numpy(x * 2, numbers.get("floor", np.float32(1e-6)))
        np.testing.assert_allclose(y, want, rtol=1e-6)
        np.testing.assert_allclose(largest, top, rtol=1e-6)
    assert repr(f) == "<kernel 'scale_rows': x -> y, largest>"


def test_takes_what_asarray_takes_and_runs_inside_of_compile():
    f = scale_rows()
    assert f([[1.0, -2.0]])[0].tolist() == [[0.5, -1.0]]
    g = wf.compile(lambda x: f(x * 2)[0] + 1)
    assert g(wf.ones((2, 2))).tolist() == [[2, 2], [2, 2]]
    assert g(wf.ones((3, 2))).tolist() == [[2, 2]] * 3


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "bool"])
def test_element_types(dtype):
    if dtype == "bfloat16" and not on_gpu():
        pytest.importorskip("ml_dtypes")
    f = wf.kernel("fn kernel(i: u32) { store_y(i, load_x(i)); }", cpu=lambda x: x)
    x = wf.asarray([1, 0, 3], dtype=dtype)
    y = f(x)
    assert y.dtype == x.dtype and y.tolist() == x.tolist()


def test_types_of_numbers():
    text = "fn kernel(i: u32) { store_y(i, f32(p.a) + f32(p.b) + p.c); }"
    numbers = {"a": -3, "b": np.uint32(4_000_000_000), "c": 0.5}
    f = wf.kernel(text, numbers=numbers, cpu=lambda x, a, b, c: x * 0 + np.float32(a) + np.float32(b) + np.float32(c))
    assert f([0.0]).item() == np.float32(4e9)
    assert f([0.0], b=3).item() == 0.5
    with pytest.raises(ValueError, match="b is -1, which is no u32"):
        f([0.0], b=-1)
    with pytest.raises(TypeError, match=r"has no number 'd'; its numbers are \['a', 'b', 'c'\]"):
        f([0.0], d=1)
    with pytest.raises(TypeError, match="number e is '1', expected an integer or a float"):
        wf.kernel(text, numbers={"e": "1"})


@pytest.mark.parametrize(
    "results",
    [
        ((2,), "int32"),
        (2, wf.int32),
        [((2,), np.int32)],
        wf.ArrayType((2,), wf.int32),
        wf.zeros(2, dtype="int32"),
        lambda x: ([2], np.dtype("int32")),
    ],
)
def test_ways_to_say_the_type_of_one_result(results):
    f = wf.kernel("fn kernel(i: u32) { store_y(i, i32(i)); }", results=results, cpu=lambda x: np.arange(2))
    y = f([1.0, 2.0, 3.0])
    assert y.dtype == wf.int32 and y.tolist() == [0, 1]


@pytest.mark.parametrize("results", [None, lambda x: (x, x), lambda x: [(x.shape, x.dtype), x], (wf.ones(2), wf.ones(2))])
def test_ways_to_say_the_types_of_two_results(results):
    text = "fn kernel(i: u32) { store_y(i, load_x(i)); store_z(i, -load_x(i)); }"
    f = wf.kernel(text, outputs=["y", "z"], results=results, cpu=lambda x: (x, -x))
    y, z = f([1.0, 2.0])
    assert y.tolist() == [1, 2] and z.tolist() == [-1, -2]


def test_workgroups_of_an_entry_point_of_its_own():
    needs_gpu()
    text = """
    var<workgroup> part: array<f32, 64>;
    @compute @workgroup_size(64)
    fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
      let at = group.x * 64u + i;
      if (at < p.x_count) { part[i] = load_x(at); } else { part[i] = 0.0; }
      for (var n = 32u; n > 0u; n >>= 1u) {
        workgroupBarrier();
        if (i < n) { part[i] += part[i + n]; }
      }
      if (i == 0u) { store_y(group.x, part[0]); }
    }"""
    f = wf.kernel(
        text,
        results=lambda x: ((-(-x.shape[0] // 64),), x.dtype),
        workgroups=lambda x: -(-x.shape[0] // 64),
    )
    assert f(wf.ones((100,))).tolist() == [64, 36]


def test_what_the_compiler_rejects_has_its_message_and_line():
    needs_gpu()
    f = wf.kernel("fn kernel(i: u32) {\n  store_y(i, loud_x(i));\n}", name="wrong")
    with pytest.raises(wf.KernelError, match="custom kernel 'wrong', line 2: unresolved call target 'loud_x'") as raised:
        f([1.0])
    assert raised.value.line == 2
    assert "loud_x" in raised.value.message
    assert raised.value.__notes__ == ["line 2: store_y(i, loud_x(i));"]
    assert isinstance(raised.value, wf.ValidationError)
    # Everything else goes on.
    assert (wf.asarray([1.0]) + 1).item() == 2


def test_the_cpu_needs_a_function():
    if on_gpu():
        pytest.skip("of the cpu")
    f = wf.kernel("fn kernel(i: u32) { store_y(i, 1.0); }", name="ones")
    with pytest.raises(wf.Unsupported, match='custom kernel "ones" has no CPU function'):
        f([1.0])


def test_errors_of_the_functions_for_types_and_for_the_cpu():
    text = "fn kernel(i: u32) { store_y(i, 1.0); }"
    with pytest.raises(ZeroDivisionError):
        wf.kernel(text, results=lambda x: 1 / 0)([1.0])
    with pytest.raises(ValueError, match="results has 2 types for 1 outputs"):
        wf.kernel(text, results=lambda x: [x, x])([1.0])
    with pytest.raises(TypeError, match="takes 1 arrays, got 2"):
        wf.kernel(text)([1.0], [2.0])
    with pytest.raises(TypeError, match="give one of them"):
        wf.kernel(text, threads=1, workgroups=1)
    with pytest.raises(ValueError, match='"a" stands for two things'):
        wf.kernel(text, inputs="a", outputs="a")([1.0])
    if not on_gpu():
        with pytest.raises(ValueError, match=r"cpu gave an array of the shape \(2,\), expected \(1,\)"):
            wf.kernel(text, cpu=lambda x: np.ones(2))([1.0]).item()
        with pytest.raises(KeyError):
            wf.kernel(text, cpu=lambda x: {}["no"])([1.0]).item()


def test_derivatives_by_a_rule():
    square = wf.kernel("fn kernel(i: u32) { store_y(i, load_x(i) * load_x(i)); }", cpu=lambda x: x * x)
    with pytest.raises(wf.Unsupported, match="no derivative of custom"):
        wf.grad(lambda x: square(x).sum())(wf.asarray([3.0]))
    f = wf.custom_vjp(lambda x: square(x))
    f.defvjp(lambda args, y, g: 2 * args[0] * g)
    assert wf.grad(lambda x: f(x).sum())(wf.asarray([3.0, -1.0])).tolist() == [6, -2]


def test_a_program_that_ends_leaks_nothing():
    program = """
import weft as wf
f = wf.kernel("fn kernel(i: u32) { store_y(i, load_x(i)); }", cpu=lambda x: x)
held = f(wf.ones(3))
print(held.tolist())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[1.0, 1.0, 1.0]\n"
    assert "leak" not in ran.stderr


def test_any_number_of_threads():
    """Compilers ask for types, and the cpu for results, on threads that may hold locks of the library's."""
    f = scale_rows()
    g = wf.compile(lambda x: f(x * 2)[0].sum())
    wrong = []

    def work(seed):
        for n in range(20):
            x = np.full((1 + (seed + n) % 7, 3), 2, "float32")
            if f(x)[1].tolist() != [2] * len(x) or g(wf.asarray(x)).item() != 3 * len(x):
                wrong.append((seed, n))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=120)
    assert not any(t.is_alive() for t in threads) and not wrong


def test_kernels_that_are_dropped_hold_nothing():
    held = weakref.WeakSet()

    class Big:
        pass

    for _ in range(5):
        big = Big()
        held.add(big)
        f = wf.kernel(f"fn kernel(i: u32) {{ store_y(i, load_x(i)); }} // {id(big)}", cpu=lambda x, b=big: x)
        f([1.0])  # described, and never computed
        del f, big
    gc.collect()
    (wf.asarray([1.0]) + 1).item()
    assert len(held) == 0
