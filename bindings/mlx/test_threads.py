"""Tests what MLX's own leave out of Weft as its GPU: arrays that the CPU's stream makes and the GPU's uses, and back,
in four threads at once; async_eval; a limit of memory that is reached; and memory that does not grow as a loop trains.

usage: test_threads.py [--quick] [TEST...]
--quick trains for 5,000 steps instead of 100,000; WEFT_MLX_STEPS says another number.
"""

import concurrent.futures
import gc
import os
import pathlib
import sys
import threading
import unittest

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np

THREADS = 4
TURNS = 50
MIB = 1 << 20
quick = False


def in_threads(function) -> list:
    """What function(i) returns for each thread i; they start together, and an error of any is one of the test."""
    barrier = threading.Barrier(THREADS)

    def started(i: int):
        barrier.wait()
        return function(i)

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(THREADS)))


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Threads(unittest.TestCase):
    def test_cpu_to_gpu_and_back(self):
        """Each thread's values go from device to device; sizes are shared, so that buffers are recycled by others."""

        def work(i: int) -> None:
            for turn in range(TURNS):
                size = 1000 + 257 * (turn % 7)
                given = np.arange(size, dtype=np.float32) % 101 + i
                a = mx.array(given)
                for _ in range(3):
                    a = mx.add(a, 1.0, stream=mx.cpu)  # never evaluated between: the streams wait for each other
                    a = mx.multiply(a, 2.0, stream=mx.gpu)
                b = mx.subtract(a, mx.array(given), stream=mx.cpu)
                mx.eval(b)
                np.testing.assert_array_equal(np.array(b), 8 * given + 14 - given)

        in_threads(work)

    def test_evaluated_between(self):
        """The same with each value evaluated, and read by the host, before the other device has it."""

        def work(i: int) -> None:
            for turn in range(TURNS):
                a = mx.full((513 + turn % 5,), float(i), stream=mx.cpu)
                mx.eval(a)
                b = mx.add(a, 1.0, stream=mx.gpu)
                mx.eval(b)
                self.assertEqual(b[-1].item(), i + 1)
                c = mx.sum(b, stream=mx.cpu)
                self.assertEqual(c.item(), (i + 1) * (513 + turn % 5))

        in_threads(work)

    def test_streams_of_their_own(self):
        """A stream of each device for each thread."""

        def work(i: int) -> None:
            cpu, gpu = mx.new_stream(mx.cpu), mx.new_stream(mx.gpu)
            expected = total = 0
            for turn in range(TURNS):
                a = mx.full((64, 64), float(turn % 8), stream=cpu)
                b = mx.matmul(a, mx.full((64, 64), float(i), stream=gpu), stream=gpu)
                total = mx.add(mx.sum(b, stream=cpu), total, stream=gpu)
                expected += 64**3 * (turn % 8) * i
            self.assertEqual(total.item(), expected)
            mx.synchronize(cpu)
            mx.synchronize(gpu)

        in_threads(work)

    def test_one_array_for_all(self):
        """An array that one thread made is read by all, on both devices and by the host."""
        values = np.arange(4096, dtype=np.float32)
        on_cpu, on_gpu = mx.array(values), mx.add(mx.array(values), 1.0, stream=mx.gpu)
        mx.eval(on_cpu, on_gpu)

        def work(i: int) -> None:
            for _ in range(TURNS):
                a = mx.add(on_gpu, on_cpu, stream=mx.gpu if i % 2 else mx.cpu)
                mx.eval(a)
                np.testing.assert_array_equal(np.array(a), 2 * values + 1)
                np.testing.assert_array_equal(np.array(on_gpu), values + 1)

        in_threads(work)

    def test_gradients(self):
        """Each thread trains the same model: all get the same weights."""

        def work(_: int) -> np.ndarray:
            w = mx.zeros((8,))
            x = mx.array(np.random.default_rng(0).standard_normal((32, 8)), mx.float32)
            y = x @ mx.arange(8, dtype=mx.float32)
            gradient = mx.grad(lambda w: mx.mean(mx.square(x @ w - y)))
            for _ in range(100):
                w = w - 0.2 * gradient(w)
                mx.eval(w)
            return np.array(w)

        for w in in_threads(work):
            np.testing.assert_allclose(w, np.arange(8), atol=1e-3)


class AsyncEval(unittest.TestCase):
    def test_pipeline(self):
        """Each step is started before the last one's value is read."""
        a = mx.zeros((1000,))
        mx.async_eval(a)
        for i in range(200):
            b = a + 1
            mx.async_eval(b)
            self.assertEqual(a[-1].item(), i)
            a = b

    def test_read_while_the_next_is_computed(self):
        """Small results that are read one step late, in memory that later steps are given to write in."""
        def work(i: int) -> None:
            a = mx.array([i, i + 1], mx.int32)
            before, expected = [], np.array([i, i + 1], np.int32)
            for step in range(4 * TURNS):
                a = (a * 3 + step) % 1009
                hidden = a + 1  # is not read, and its memory is free at once
                mx.async_eval(a, hidden)
                before.append(a)
                while len(before) > 1 + step % 3:
                    late = before.pop(0)
                    expected = (expected * 3 + (step - len(before))) % 1009
                    np.testing.assert_array_equal(np.array(late), expected)
                if step % 50 == 49:
                    a = mx.array(np.array(a))  # through the host and back

        work(0)
        in_threads(work)

    def test_devices(self):
        """Work of both devices is started, and read in another order."""
        started = []
        for i in range(50):
            a = mx.full((300,), float(i), stream=mx.cpu)
            b = mx.square(a, stream=mx.gpu)
            c = mx.sum(b, stream=mx.cpu)
            mx.async_eval(b, c)
            started.append((i, b, c))
        for i, b, c in reversed(started):
            self.assertEqual(c.item(), 300 * i * i)
            self.assertEqual(b[7].item(), i * i)

    def test_threads(self):
        def work(i: int) -> None:
            a = mx.full((777,), float(i))
            for _ in range(TURNS):
                a = mx.add(a, 1.0, stream=mx.gpu)
                mx.async_eval(a)
                a = mx.subtract(a, 0.5, stream=mx.cpu)
                mx.async_eval(a)
            self.assertEqual(a[-1].item(), i + TURNS / 2)

        in_threads(work)

    def test_dropped(self):
        """Nobody holds what was started."""
        for i in range(200):
            mx.async_eval(mx.full((4096,), float(i)) + 1)
        mx.synchronize()
        self.assertEqual((mx.full((4096,), 2.0) + 1)[0].item(), 3)


class MemoryLimit(unittest.TestCase):
    def setUp(self):
        mx.synchronize()
        gc.collect()
        mx.clear_cache()
        self.before = mx.get_active_memory()
        self.limit = mx.set_memory_limit(self.before + 16 * MIB)

    def tearDown(self):
        mx.set_memory_limit(self.limit)

    def test_cached_memory_goes_first(self):
        """Buffers of other sizes are given back when the limit is reached."""
        for i in range(64):
            mx.eval(mx.full((MIB + 4096 * i,), 1, mx.uint8) + mx.array(1, mx.uint8))
            self.assertLessEqual(mx.get_active_memory() + mx.get_cache_memory(), self.before + 16 * MIB)
        self.assertGreater(mx.get_cache_memory(), 0)

    def test_more_than_the_limit(self):
        """As MLX has it, the limit is a guideline: what needs more gets it, and values are right."""
        held = [mx.full((MIB,), float(i)) for i in range(8)]  # 32 MiB
        mx.eval(held)
        self.assertGreater(mx.get_active_memory(), self.before + 16 * MIB)
        sums = [mx.sum(a).item() for a in held]
        self.assertEqual(sums, [i * MIB for i in range(8)])
        del held
        mx.synchronize()
        mx.eval(mx.ones((16,)) + 1)
        self.assertLessEqual(mx.get_active_memory(), self.before + MIB)

    def test_by_four_threads(self):
        def work(i: int) -> None:
            for turn in range(TURNS):
                a = mx.full((300_000 + 5000 * (turn % 11),), float(i), stream=mx.cpu)
                b = mx.add(a, 1.0, stream=mx.gpu)
                self.assertEqual(b[-1].item(), i + 1)

        in_threads(work)
        self.assertLessEqual(mx.get_cache_memory(), 16 * MIB)


class MemoryGrowth(unittest.TestCase):
    def test_training(self):
        """A regression by a compiled step and by an eager one, turn by turn, with batches from the host and values that
        are read now and then: after 1,000 steps memory stays what it is."""
        steps = int(os.environ.get("WEFT_MLX_STEPS", 5_000 if quick else 100_000))
        generator = np.random.default_rng(0)
        truth = generator.standard_normal((8, 1)).astype(np.float32)
        model = nn.Linear(8, 1)
        optimizer = optim.SGD(learning_rate=0.05)
        state = [model.state, optimizer.state]

        def eager(x: mx.array, y: mx.array) -> mx.array:
            loss, gradient = nn.value_and_grad(model, lambda a, b: mx.mean(mx.square(model(a) - b)))(x, y)
            optimizer.update(model, gradient)
            return loss

        compiled = mx.compile(eager, inputs=state, outputs=state)
        figures = {}
        for step in range(1, steps + 1):
            x = generator.standard_normal((16, 8)).astype(np.float32)
            # One step in ten records each primitive anew, which takes the host longest.
            loss = (eager if step % 10 == 0 else compiled)(mx.array(x), mx.array(x @ truth))
            mx.eval(state, loss)
            if step % 100 == 0:
                value = loss.item()
            if step in (1000, steps) or step % 10_000 == 0:
                mx.synchronize()
                gc.collect()
                figures[step] = resident(), mx.get_active_memory(), mx.get_cache_memory()
                print(f"step {step}: {figures[step][0] / MIB:.1f} MiB resident, {figures[step][1]} bytes active, "
                      f"{figures[step][2]} cached", flush=True)
        self.assertLess(value, 1e-6)
        first, last = figures[1000], figures[steps]
        self.assertLessEqual(last[0] - first[0], 4 * MIB, "resident memory grew")
        self.assertEqual(last[1], first[1], "active memory grew")
        self.assertLessEqual(last[2], first[2] + MIB, "cached memory grew")


if __name__ == "__main__":
    if quick := "--quick" in sys.argv:
        sys.argv.remove("--quick")
    mx.set_default_device(mx.gpu)
    unittest.main(verbosity=2)
