#!/usr/bin/env python3
"""The example resnet beside PyTorch, and its errors.  resnet_test.py RESNET DATA DEVICE PRECISION"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

RESNET = DATA = DEVICE = PRECISION = None
SLIM = {"resnet50": "0.0625", "mobilenet_v3_large": "0.125"}


def read_safetensors(path):
    """The header, and the bytes of all tensors."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def write_safetensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_png(path, width, height, pixel):
    """A picture of pixel(x, y) = (r, g, b)."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(c for x in range(width) for c in pixel(x, y)) for y in range(height))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Resnet(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_resnet(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_PRECISION")}
        return subprocess.run([RESNET, "--device", DEVICE, "--precision", PRECISION, *map(str, arguments)],
                              capture_output=True, env=environment, text=True, timeout=300, check=False)

    def run_slim(self, network, *arguments, weights=None):
        return self.run_resnet("--network", network, "--width", SLIM[network], "--weights",
                               weights or DATA / f"{network}.safetensors", *arguments)

    def assert_runs(self, process):
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        return process.stdout

    def assert_fails(self, process, code, *words):
        self.assertEqual(process.returncode, code, process.stdout)
        for word in words:
            self.assertIn(word, process.stderr)

    def changed(self, network, change):
        header, data = read_safetensors(DATA / f"{network}.safetensors")
        change(header)
        path = self.folder / "changed.safetensors"
        write_safetensors(path, header, data)
        return path

    def test_outputs_are_pytorchs(self):
        for network in SLIM:
            text = self.assert_runs(self.run_slim(network, "--check", DATA / f"{network}.expected.safetensors"))
            difference = float(re.search(r"largest relative difference (\S+),", text)[1])
            self.assertLessEqual(difference, 1e-2 if PRECISION == "f16" else 1e-4)
            # Of two images five classes each, the most probable first.
            percent = [float(x) for x in re.findall(r"^ +(\S+) %  class \d", text, re.M)]
            self.assertEqual(len(percent), 10, text)
            self.assertEqual(percent[:5], sorted(percent[:5], reverse=True))

    def test_other_outputs_fail(self):
        header, data = read_safetensors(DATA / "resnet50.expected.safetensors")
        begin, end = header["output"]["data_offsets"]
        values = list(struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]))
        values[3] += 0.02 * max(map(abs, values))
        path = self.folder / "other.safetensors"
        write_safetensors(path, header, data[:begin] + struct.pack(f"<{len(values)}f", *values) + data[end:])
        self.assert_fails(self.run_slim("resnet50", "--check", path), 1, "the scores are not those of", "other.safetensors")

    def test_pictures_and_names(self):
        # A picture of one colour stays one after resizing, so that its size and shape make no difference.
        names = self.folder / "names.txt"
        names.write_text("".join(f"name {i}\n" for i in range(10)))
        texts = []
        for width, height in ((96, 64), (300, 500)):
            write_png(self.folder / "p.png", width, height, lambda x, y: (200, 90, 30))
            texts.append(self.assert_runs(self.run_slim("resnet50", "--image", self.folder / "p.png", "--size", "64",
                                                        "--classes", names)))
        self.assertEqual(*(re.findall(r"% +name \d", t)[0] for t in texts))
        write_png(self.folder / "p.png", 96, 64, lambda x, y: (x * 2, y * 3, 255 - x))
        other = self.assert_runs(self.run_slim("resnet50", "--image", self.folder / "p.png", "--size", "64", "--batch", "2"))
        first, second = other.split("image 1")
        self.assertEqual(*(re.findall(r"(\S+) %", t) for t in (first, second)))
        self.assertNotEqual(re.findall(r"(\S+) %", other), re.findall(r"(\S+) %", texts[0]))

    def test_random_weights_are_timed(self):
        text = self.assert_runs(self.run_resnet("--random", "--width", "0.125", "--size", "32", "--batch", "3",
                                                "--repeat", "2"))
        self.assertRegex(text, rf"resnet50 {PRECISION} batch 3: \S+ ms, \S+ images/s")

    @unittest.skipIf(len(sys.argv) > 3 and sys.argv[3] != "cpu", "the same on every device")
    def test_rows_of_the_benchmark(self):
        script = pathlib.Path(__file__).resolve().parents[2] / "bench" / "vision.py"
        process = subprocess.run([sys.executable, script, "--resnet", RESNET, "--device", "cpu", "--networks",
                                  "mobilenet_v3_large", "--precisions", PRECISION, "--batches", "1,2", "--repeat", "1",
                                  "--json"], capture_output=True, text=True, timeout=300, check=False)
        rows = [json.loads(line) for line in self.assert_runs(process).splitlines()]
        self.assertEqual([r["name"] for r in rows], [f"mobilenet_v3_large {PRECISION} batch {n}" for n in (1, 2)])
        for row in rows:
            self.assertGreater(row["ms"], 0)
            self.assertAlmostEqual(row["images_per_second"], row["batch"] / row["ms"] * 1e3, delta=0.1)

    def test_batch_norm_and_activations_are_in_the_convolutions(self):
        # 53 convolutions, a pooling, the mean, the last product; lavapipe's may take more kernels for one.
        text = self.assert_runs(self.run_slim("resnet50", "--size", "64"))
        self.assertEqual(int(re.search(r": (\d+) steps", text)[1]), 56, text)

    def test_wrong_weights(self):
        self.assert_fails(self.run_slim("resnet50", weights=self.folder / "none.safetensors"), 1, "none.safetensors")
        missing = self.changed("resnet50", lambda h: h.__setitem__("layer2.0.conv9.weight", h.pop("layer2.0.conv1.weight")))
        self.assert_fails(self.run_slim("resnet50", weights=missing), 1, "changed.safetensors", "layer2.0.conv1.weight")
        def flatten(header):
            header["bn1.bias"]["shape"] = [2, 2]
        self.assert_fails(self.run_slim("resnet50", weights=self.changed("resnet50", flatten)), 1, "bn1.bias", "[4]",
                          "[2, 2]")
        self.assert_fails(self.run_slim("resnet50", weights=DATA / "mobilenet_v3_large.safetensors"), 1, "fc.weight")
        empty = lambda h: h.__setitem__("extra.weight", {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]})  # noqa: E731
        self.assert_fails(self.run_slim("resnet50", weights=self.changed("resnet50", empty)), 1, "extra.weight",
                          "resnet50")
        counted = lambda h: h.__setitem__("bn1.num_batches_tracked",  # noqa: E731
                                          {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]})
        self.assert_runs(self.run_slim("resnet50", "--size", "32", weights=self.changed("resnet50", counted)))

    def test_wrong_arguments(self):
        self.assert_fails(self.run_resnet(), 2, "--weights")
        self.assert_fails(self.run_resnet("--random", "--network", "vgg16"), 2, "vgg16", "resnet50")
        self.assert_fails(self.run_resnet("--random", "--batch", "0"), 2, "--batch")
        self.assert_fails(self.run_resnet("--random", "--width", "0.1", "--size", "32", "--image",
                                          self.folder / "none.png"), 1, "none.png")
        few = self.folder / "few.txt"
        few.write_text("one\n")
        self.assert_fails(self.run_slim("resnet50", "--classes", few), 1, "few.txt", "10 classes")


if __name__ == "__main__":
    RESNET, DATA, DEVICE, PRECISION = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    unittest.main(argv=sys.argv[:1])
