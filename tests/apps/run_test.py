#!/usr/bin/env python3
"""Runs `weft run`, and what else takes models of ONNX, on small models and files of every kind.

  run_test.py PATH_OF_WEFT
"""
import ast
import base64
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib

WEFT = None
FLOAT, UINT8, INT32, INT64, BOOL, DOUBLE = 1, 2, 6, 7, 9, 11
STRUCT = {"<f4": "f", "<f8": "d", "|u1": "B", "<i4": "i", "<i8": "q", "|b1": "?"}

# 16 × 8 pixels, the left half red and the right half blue, of which the upper half is darker.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsKDAkKCgr/"
    "2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgr/wAARCAAIABADAREAAhEBAxEB/8QA"
    "FQABAQAAAAAAAAAAAAAAAAAACAn/xAAcEAABAwUAAAAAAAAAAAAAAAAAFhhlZqOl4uP/xAAVAQEBAAAAAAAAAAAAAAAAAAAJCP/EACARAAECBQUAAAAAAAAA"
    "AAAAAAAXZRUWYqPjY6Gi4eL/2gAMAwEAAhEDEQA/AJxt1rDH9Cf5o0eXkXxC3C1lDiiZOzsP4hbhaygixSjfo//Z")


# ---- Models, as ONNX's files have them


def varint(value):
    value &= 2**64 - 1
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(op, inputs, outputs, name="", domain="", **attributes):
    parts = [field(1, i) for i in inputs] + [field(2, o) for o in outputs] + [field(3, name), field(4, op), field(7, domain)]
    parts += [field(5, field(1, n) + field(3, v) + field(20, 2)) for n, v in attributes.items()]
    return field(1, b"".join(parts))


def tensor(name, kind, values, shape=None):
    form = {FLOAT: "f", DOUBLE: "d", INT64: "q"}[kind]
    shape = [len(values)] if shape is None else shape
    return (b"".join(field(1, d) for d in shape) + field(2, kind) + field(8, name)
            + field(9, struct.pack(f"<{len(values)}{form}", *values)))


def constant(name, kind, values, shape=None):
    return field(5, tensor(name, kind, values, shape))


def port(number, name, kind, shape):
    sizes = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in shape)
    return field(number, field(1, name) + field(2, field(1, field(1, kind) + field(2, sizes))))


def model(inputs, outputs, *parts, opset=21):
    """Ports are (name, type, shape)."""
    graph = b"".join(parts) + b"".join(port(11, *p) for p in inputs) + b"".join(port(12, *p) for p in outputs)
    return field(1, 10) + field(8, field(1, "") + field(2, opset)) + field(7, graph)


def same(*ports):
    """A model whose outputs are its inputs, as y0, y1, …."""
    outputs = [(f"y{i}", kind, shape) for i, (_, kind, shape) in enumerate(ports)]
    return model(ports, outputs, *(node("Identity", [p[0]], [f"y{i}"]) for i, p in enumerate(ports)))


# ---- Files


def read_npy(path):
    """The shape, and the elements one after the other."""
    data = path.read_bytes()
    length = struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    count = math.prod(header["shape"])
    return list(header["shape"]), list(struct.unpack_from(f"<{count}{STRUCT[header['descr']]}", data, 10 + length))


def write_npy(path, descr, shape, values):
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
                     + struct.pack(f"<{len(values)}{STRUCT[descr]}", *values))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, rows, kind=2):
    """Rows of pixels, which are tuples; kind: 0 grey, 2 RGB, 6 RGBA."""
    data = b"".join(b"\0" + bytes(v for pixel in row for v in pixel) for row in rows)
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, kind, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))
    return path


def png_size(path):
    data = path.read_bytes()
    return struct.unpack(">II", data[16:24])[::-1], data[25]


def write_wav(path, rate, channels, bits, samples, floats=False):
    form = {(8, False): "B", (16, False): "h", (32, False): "i", (32, True): "f", (64, True): "d"}[bits, floats]
    data = struct.pack(f"<{len(samples)}{form}", *samples)
    width = bits // 8
    head = struct.pack("<HHIIHH", 3 if floats else 1, channels, rate, rate * channels * width, channels * width, bits)
    body = b"WAVE" + b"fmt " + struct.pack("<I", 16) + head + b"LIST" + struct.pack("<I", 3) + b"abc\0"
    body += b"data" + struct.pack("<I", len(data)) + data
    path.write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
    return path


RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


class ModelsOfOnnx(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def weft(self, *arguments, device="cpu", code=0):
        process = subprocess.run([WEFT, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**os.environ, "WEFT_DEVICE": device}, timeout=300, check=False)
        self.assertEqual(process.returncode, code, process.stderr.decode())
        return process.stdout.decode(), process.stderr.decode()

    def file(self, data, name="m.onnx"):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def outputs(self, data, *arguments, **options):
        """Runs a model, and returns its outputs in their files, what it printed and what it said."""
        out = self.folder / "out"
        text, said = self.weft("run", self.file(data), *arguments, "-o", out, **options)
        return {p.stem: read_npy(p) for p in sorted(out.glob("*.npy"))}, text, said

    def fails(self, data, *arguments, words=(), code=1):
        text, said = self.weft("run", self.file(data), *arguments, code=code)
        self.assertTrue(said.startswith("weft: "), said)
        for word in words:
            self.assertIn(word, said)

    def near(self, actual, expected, bound=1e-6):
        self.assertEqual(len(actual), len(expected))
        for a, e in zip(actual, expected):
            self.assertLessEqual(abs(a - e), bound, (actual, expected))

    # ---- Pictures

    def test_pictures(self):
        png = write_png(self.folder / "a.png", [[RED, GREEN, BLUE], [WHITE, (10, 20, 30), (0, 0, 0)]])
        f32 = same(("x", FLOAT, ["n", 3, "h", "w"]))
        planes = [255, 0, 0, 255, 10, 0, 0, 255, 0, 255, 20, 0, 0, 0, 255, 255, 30, 0]
        shape, values = self.outputs(f32, "-i", f"x={png}")[0]["y0"]
        self.assertEqual(shape, [1, 3, 2, 3])
        self.near(values, [v / 255 for v in planes])
        # The name may be left out, and bytes are pixels.
        last = same(("x", UINT8, [1, "h", "w", 3]))
        self.assertEqual(self.outputs(last, "-i", png)[0]["y0"],
                         ([1, 2, 3, 3], [*RED, *GREEN, *BLUE, *WHITE, 10, 20, 30, 0, 0, 0]))
        values = self.outputs(f32, "-i", png, "--channels", "bgr", "--normalize", "none")[0]["y0"][1]
        self.near(values, planes[12:] + planes[6:12] + planes[:6])
        values = self.outputs(f32, "-i", png, "--normalize", "signed")[0]["y0"][1]
        self.near(values, [v / 127.5 - 1 for v in planes])
        values = self.outputs(f32, "-i", png, "--mean", "1,2,3", "--scale", "2")[0]["y0"][1]
        self.near(values, [(v - 1 - i // 6) * 2 for i, v in enumerate(planes)])
        values = self.outputs(f32, "-i", png, "--normalize", "imagenet")[0]["y0"][1]
        self.near(values[:2], [(1 - 0.485) / 0.229, -0.485 / 0.229], 1e-5)
        # A grey one, of an input of one channel and of none; several are a batch.
        shape, values = self.outputs(same(("x", FLOAT, ["n", 1, "h", "w"])), "-i", png, "-i", png)[0]["y0"]
        self.assertEqual(shape, [2, 1, 2, 3])
        self.near(values[:3], [76 / 255, 150 / 255, 29 / 255])
        self.assertEqual(self.outputs(same(("x", UINT8, ["h", "w"])), "-i", png)[0]["y0"][0], [2, 3])
        # Layout where the shape says nothing.
        shape, _ = self.outputs(same(("x", FLOAT, ["a", "b", "c", "d"])), "-i", png, "--layout", "nhwc")[0]["y0"]
        self.assertEqual(shape, [1, 2, 3, 3])
        clear = write_png(self.folder / "clear.png", [[(0, 0, 0, 0), (0, 0, 255, 255)]], kind=6)
        values = self.outputs(same(("x", UINT8, [1, "h", "w", 3])), "-i", clear)[0]["y0"][1]
        self.assertEqual(values, [*WHITE, *BLUE])
        values = self.outputs(same(("x", UINT8, [1, "h", "w", 4])), "-i", clear)[0]["y0"][1]
        self.assertEqual(values, [0, 0, 0, 0, *BLUE, 255])

    def test_sizes_of_pictures(self):
        wide = write_png(self.folder / "wide.png", [[RED] * 8 + [BLUE] * 8] * 8)
        fixed = same(("x", UINT8, [1, 4, 4, 3]))
        values = self.outputs(fixed, "-i", wide)[0]["y0"][1]
        self.assertEqual([values[:3], values[9:12]], [[*RED], [*BLUE]])
        values = self.outputs(fixed, "-i", wide, "--fit", "crop")[0]["y0"][1]
        self.assertEqual([values[i * 12] for i in range(4)], [values[0]] * 4)
        self.assertGreater(values[0], 200)
        self.assertGreater(values[11], 200)
        values = self.outputs(fixed, "-i", wide, "--fit", "pad")[0]["y0"][1]
        self.assertEqual(values[24:], [0] * 24)
        open_size = same(("x", UINT8, [1, "h", "w", 3]))
        self.assertEqual(self.outputs(open_size, "-i", wide, "--size", "4,6")[0]["y0"][0], [1, 4, 6, 3])
        self.assertEqual(self.outputs(open_size, "-i", wide, "--size", "5")[0]["y0"][0], [1, 5, 5, 3])
        self.assertEqual(self.outputs(open_size, "-i", wide, "--shape", "x=1,3,7,3")[0]["y0"][0], [1, 3, 7, 3])
        self.assertEqual(self.outputs(open_size, "-i", wide, "--shape", "h=5")[0]["y0"][0], [1, 5, 16, 3])

    def test_jpeg(self):
        path = self.folder / "a.jpg"
        path.write_bytes(JPEG)
        u8 = same(("x", UINT8, [1, "h", "w", 3]))
        shape, values = self.outputs(u8, "-i", path)[0]["y0"]
        self.assertEqual(shape, [1, 8, 16, 3])
        pixel = lambda r, c: values[(r * shape[2] + c) * 3:][:3]  # noqa: E731
        self.near(pixel(7, 0), [255, 0, 0], 20)
        self.near(pixel(7, 15), [0, 0, 255], 20)
        self.near(pixel(0, 0), [127, 0, 0], 20)
        # A camera that was held on its side: how the corner that is darkest red comes where it is upright.
        for how, (size, corner) in {1: ([8, 16], (0, 0)), 2: ([8, 16], (0, 15)), 3: ([8, 16], (7, 15)), 4: ([8, 16], (7, 0)),
                                    5: ([16, 8], (0, 0)), 6: ([16, 8], (0, 7)), 7: ([16, 8], (15, 7)), 8: ([16, 8], (15, 0))}.items():
            for order in "<", ">":
                tiff = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IHHHIHHI", 8, 1, 0x0112, 3, 1, how, 0, 0)
                exif = b"Exif\0\0" + tiff
                path.write_bytes(JPEG[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + JPEG[2:])
                shape, values = self.outputs(u8, "-i", path)[0]["y0"]
                self.assertEqual(shape[1:3], size, how)
                self.near(pixel(*corner), [127, 0, 0], 20)
        for cut in 60, len(JPEG) - 20:
            path.write_bytes(JPEG[:cut])
            self.fails(u8, "-i", path, words=["input 'x'", "a.jpg"])
        path.write_bytes(b"GIF89a")
        self.fails(u8, "-i", path, words=["neither PNG nor JPEG"])

    # ---- Sounds

    def test_sounds(self):
        stereo = write_wav(self.folder / "s.wav", 16000, 2, 16, [16384, 0, -32768, -32768, 32767, 1])
        mono = same(("x", FLOAT, ["n", "t"]))
        shape, values = self.outputs(mono, "-i", stereo, "--rate", 16000)[0]["y0"]
        self.assertEqual(shape, [1, 3])
        self.near(values, [0.25, -1, 0.5])
        self.fails(mono, "-i", stereo, "--rate", "8000", words=["16000 samples a second", "--rate says 8000"])
        both = self.outputs(same(("x", FLOAT, [1, 2, "t"])), "-i", stereo)[0]["y0"]
        self.assertEqual(both[0], [1, 2, 3])
        self.near(both[1], [0.5, -1, 1, 0, -1, 0], 1e-4)
        last = self.outputs(same(("x", FLOAT, ["n", "t", 1])), "-i", stereo)[0]["y0"]
        self.assertEqual(last[0], [1, 3, 1])
        self.assertEqual(self.outputs(same(("x", INT32, ["t"])), "-i", stereo)[0]["y0"][0], [3])
        found, _, said = self.outputs(same(("x", FLOAT, [1, 5])), "-i", stereo)
        self.near(found["y0"][1], [0.25, -1, 0.5, 0, 0])
        self.assertIn("2 zeros behind them", said)
        found, _, said = self.outputs(same(("x", FLOAT, [1, 2])), "-i", stereo)
        self.assertIn("the first 2 of 3 samples", said)
        floats = write_wav(self.folder / "f.wav", 8000, 1, 32, [0.5, -0.25], floats=True)
        self.near(self.outputs(mono, "-i", floats)[0]["y0"][1], [0.5, -0.25])
        small = write_wav(self.folder / "b.wav", 8000, 1, 8, [128, 0, 192])
        self.near(self.outputs(mono, "-i", small)[0]["y0"][1], [0, -1, 0.5])
        (self.folder / "no.wav").write_bytes(b"RIFF\0\0\0\0WAVE")
        self.fails(mono, "-i", self.folder / "no.wav", words=["it has no samples"])
        # Cut off; of what a program writes to a pipe the size is not known.
        whole = stereo.read_bytes()
        (self.folder / "cut.wav").write_bytes(whole[:-6])
        self.fails(mono, "-i", self.folder / "cut.wav", words=["input 'x'", "cut.wav", 'its part "data" has 12 bytes, of which 6 are there'])
        (self.folder / "cut.wav").write_bytes(whole.replace(b"data\x0c\0\0\0", b"data\xff\xff\xff\xff"))
        self.near(self.outputs(mono, "-i", self.folder / "cut.wav")[0]["y0"][1], [0.25, -1, 0.5])

    # ---- Texts

    def test_texts(self):
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "."]
        tokenizer = self.folder / "tokenizer"
        tokenizer.mkdir()
        (tokenizer / "vocab.txt").write_text("\n".join(words) + "\n")
        (tokenizer / "tokenizer_config.json").write_text('{"do_lower_case": true, "model_max_length": 6}')
        shape = ["batch", "sequence"]
        encoder = same(("input_ids", INT64, shape), ("attention_mask", INT64, shape), ("token_type_ids", INT64, shape))
        line = ["--text", "Hello world.", "--text", "hello", "--tokenizer", tokenizer]
        found, _, said = self.outputs(encoder, *line)
        self.assertEqual(found["y0"], ([2, 5], [2, 5, 6, 7, 3, 2, 5, 3, 0, 0]))
        self.assertEqual(found["y1"][1], [1] * 5 + [1, 1, 1, 0, 0])
        self.assertEqual(found["y2"][1], [0] * 10)
        self.assertNotIn("random", said)
        # A fixed length, and a tokenizer beside the model.
        (self.folder / "vocab.txt").write_text("\n".join(words) + "\n")
        (self.folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "model_max_length": 6}')
        (self.folder / "t.txt").write_text("world\nhello\n")
        fixed = same(("tokens", INT32, ["n", 6]), ("mask", FLOAT, ["n", 6]))
        found = self.outputs(fixed, "-i", f"tokens={self.folder / 't.txt'}")[0]
        self.assertEqual(found["y0"], ([2, 6], [2, 6, 3, 0, 0, 0, 2, 5, 3, 0, 0, 0]))
        self.assertEqual(found["y1"][1], [1, 1, 1, 0, 0, 0] * 2)
        (self.folder / "vocab.txt").unlink()
        self.fails(encoder, "--text", "a", words=["--tokenizer FILE"])
        self.fails(same(("x", FLOAT, ["n"])), "--text", "a", "--tokenizer", tokenizer, words=["no input for the ids"])

    # ---- Arrays and what is made

    def test_arrays_and_shapes(self):
        write_npy(self.folder / "a.npy", "<f8", [2, 2], [1, 2, 3, 4])
        two = same(("a", FLOAT, ["n", 2]), ("b", FLOAT, ["n", 3]))
        found, text, said = self.outputs(two, "-i", f"a={self.folder / 'a.npy'}", "-i", "b=0.5")
        self.assertEqual(found["y0"], ([2, 2], [1, 2, 3, 4]))
        self.assertEqual(found["y1"], ([2, 3], [0.5] * 6), "the size n is that of a")
        self.assertIn("f64 [2, 2], of which f32 was made", said)
        self.assertIn("y0 f32 [2, 2]: min 1, mean 2.5, max 4, std 1.11803\n  elements: 1 2 3 4\n", text)
        found, _, said = self.outputs(two, "--shape", "n=4", "-i", "b=zeros")
        self.assertEqual([found[y][0] for y in ("y0", "y1")], [[4, 2], [4, 3]])
        self.assertIn("input a is random f32 [4, 2]", said)
        self.assertEqual(self.outputs(two, "--shape", "a=3,2")[0]["y1"][0], [3, 3])
        write_npy(self.folder / "b.npy", "<f4", [1, 2], [5, 6])
        found = self.outputs(two, "-i", f"a={self.folder / 'a.npy'}", "-i", f"a={self.folder / 'b.npy'}")[0]
        self.assertEqual(found["y0"], ([3, 2], [1, 2, 3, 4, 5, 6]))
        for line, words in [(["-i", "c=1"], ["has no input 'c'", "a f32 [n, 2], b f32 [n, 3]"]),
                            (["--shape", "m=3"], ["no input or size 'm'"]),
                            (["--shape", "a=3"], ["--shape a=3", "a f32 [n, 2]"]),
                            (["--shape", "a=3,x"], ["'3,x' is no shape"]),
                            (["-i", "a=nothing"], ["input 'a'", "'nothing' is no FILE"]),
                            (["-i", "a=1", "-i", "a=2"], ["given 2 times"]),
                            (["-i", "a=missing.png"], ["input 'a'", "missing.png"]),
                            (["--shape", "n=3", "--shape", "n=4"], ["--shape n=4 contradicts --shape n=3"]),
                            (["--shape", "a=3,2", "--shape", "n=4"], ["--shape n=4 contradicts --shape a=3,2", "'n' is 4 of the one, and 3"]),
                            (["--shape", "a=3,2", "--shape", "b=4,3"], ["--shape b=4,3 contradicts --shape a=3,2"]),
                            (["--shape", "a=3,2", "--shape", "a=4,2"], ["--shape a=4,2 contradicts --shape a=3,2"]),
                            (["--shape", "n=5", "-i", f"a={self.folder / 'a.npy'}"], ["input 'a': it is [2, 2], which --shape n=5 contradicts"]),
                            (["--shape", "a=5,2", "-i", f"a={self.folder / 'a.npy'}"], ["it is [2, 2], which --shape a=5,2 contradicts"]),
                            (["--tokenizer", "nope"], ["--tokenizer is for texts"]),
                            (["--rate", "8000"], ["--rate is for sounds"]),
                            (["--size", "3"], ["--size is for pictures"]),
                            (["--mean", "3"], ["--mean is for pictures"])]:
            self.fails(two, *line, words=words)
        self.outputs(two, "--shape", "n=3", "--shape", "n=3", "--shape", "a=3,2")
        for line, words in [(["--mean", "abc"], ["--mean: 'abc' is no number"]), (["--mean", "1,nan,2"], ["'nan' is no number"]),
                            (["--mean", "1", "--normalize", "unit"], ["--mean", "--normalize"]),
                            (["--tolerance", "nan", "--compare"], ["--tolerance: 'nan'"]), (["--tolerance", "1"], ["is for --compare"]),
                            (["--python", "x"], ["is for --compare"]),
                            (["--compare", "--fallback", "cpu"], ["--fallback: does not go with --compare"]),
                            (["--compare", "-o", "x"], ["--output: does not go with --compare"])]:
            self.fails(two, *line, words=words, code=2)

    def test_values_out_of_range(self):
        u8 = same(("x", UINT8, ["n"]))
        for value in ["nan", "inf", "-1", "256", "1.5", "1e30", "18446744073709551616"]:
            self.fails(u8, "-i", f"x={value}", words=[f"input 'x': {value} is no element of u8, expected whole numbers from 0 to 255"])
        for value, number in [("0", 0), ("255", 255), ("1e2", 100)]:
            self.assertEqual(self.outputs(u8, "-i", f"x={value}")[0]["y0"][1], [number])
        write_npy(self.folder / "x.npy", "<i8", [2, 2], [0, 1, 255, 256])
        self.fails(same(("x", UINT8, ["n", 2])), "-i", self.folder / "x.npy", words=["its element [1, 1] is 256, which is none of u8"])
        i64 = same(("x", INT64, []))
        self.assertEqual(self.outputs(i64, "-i", "x=-9223372036854775808")[0]["y0"][1], [-(2**63)])
        self.fails(i64, "-i", "x=9223372036854775808", words=["whole numbers from -9223372036854775808 to 9223372036854775807"])
        self.fails(same(("x", BOOL, [])), "-i", "x=2", words=["expected 0 and 1"])
        self.assertTrue(math.isnan(self.outputs(same(("x", FLOAT, [])), "-i", "x=nan")[0]["y0"][1][0]))

    def test_names_of_inputs(self):
        odd = same(("a=b", FLOAT, []), ("a", FLOAT, []))
        found = self.outputs(odd, "-i", "a=b=2", "-i", "a=3")[0]
        self.assertEqual([found["y0"][1], found["y1"][1]], [[2], [3]])
        twice = model([("x", FLOAT, []), ("x", FLOAT, [])], [("y", FLOAT, [])], node("Neg", ["x"], ["y"]))
        self.fails(twice, "-i", "x=1", words=["two inputs are called 'x'"])
        self.weft("info", self.folder / "m.onnx", code=1)

    # ---- Outputs

    def test_outputs(self):
        scores = model([("x", FLOAT, ["n", 4])], [("p", FLOAT, ["n", 4])], node("Identity", ["x"], ["p"]))
        write_npy(self.folder / "x.npy", "<f4", [2, 4], [0.1, 0.6, 0.3, 0, math.nan, 1, 2, math.inf])
        for name, content in [("names.txt", "a cat\na dog\na cow\na fox\n"), ("names.json", '["a cat", "a dog", "a cow", "a fox"]'),
                              ("config.json", '{"id2label": {"1": "a dog", "0": "a cat", "2": "a cow", "3": "a fox"}}')]:
            (self.folder / name).write_text(content)
            _, text, _ = self.outputs(scores, "-i", self.folder / "x.npy", "--labels", self.folder / name, "--top", 2)
            self.assertIn("1 of 8 NaN, 1 of 8 infinite", text)
            self.assertIn("largest of row 0: a dog 0.6, a cow 0.3\n", text)
            self.assertIn("largest of row 1: a fox inf, a cow 2\n", text)
        (self.folder / "bad.json").write_text('{"a": 1}')
        self.fails(scores, "--labels", self.folder / "bad.json", words=["bad.json: it is no list of names"])
        # One file.
        path = self.file(scores)
        self.weft("run", path, "-i", self.folder / "x.npy", "-o", self.folder / "y.npy")
        self.assertEqual(read_npy(self.folder / "y.npy")[0], [2, 4])
        self.weft("run", path, "-i", self.folder / "x.npy", "-o", self.folder / "y.npz")
        self.weft("run", self.file(same(("p", FLOAT, ["n", 4])), "again.onnx"), "-i", self.folder / "y.npz")
        # What looks like a picture is one.
        picture = same(("x", FLOAT, [1, 3, 8, 9]))
        self.outputs(picture, "-i", "x=0.5")
        self.assertEqual(png_size(self.folder / "out/y0.png"), ((8, 9), 2))
        self.outputs(same(("x", UINT8, [2, 16, 10, 1])), "-i", "x=7")
        self.assertEqual(png_size(self.folder / "out/y0-1.png"), ((16, 10), 0))
        self.weft("run", self.folder / "m.onnx", "-i", "x=7", "--shape", "x=2,16,10,1", "-o", self.folder / "y.png", code=1)
        self.weft("run", self.file(picture), "-i", "x=1", "-o", self.folder / "y.png")
        self.assertEqual(png_size(self.folder / "y.png"), ((8, 9), 2))
        self.fails(scores, "-o", self.folder / "z.png", words=["is no picture"])
        self.fails(same(("a", FLOAT, [1]), ("b", FLOAT, [1])), "-o", self.folder / "z.npy", words=["takes one output"])
        self.fails(scores, "--labels", self.folder / "x.npy", words=["x.npy: it is no text"])

    def test_names_of_outputs(self):
        x = [("x", FLOAT, [1])]
        both = model(x, [("a:b", FLOAT, [1]), ("a/b", FLOAT, [1])], node("Neg", ["x"], ["a:b"]), node("Abs", ["x"], ["a/b"]))
        found, _, said = self.outputs(both, "-i", "x=2")
        self.assertEqual([found["a_b"][1], found["a_b~2"][1]], [[-2], [2]])
        self.assertIn("output 'a/b' is written as a_b~2.npy", said)
        self.weft("run", self.folder / "m.onnx", "-i", "x=2", "-o", self.folder / "y.npz")
        with zipfile.ZipFile(self.folder / "y.npz") as file:
            self.assertEqual(sorted(file.namelist()), ["a_b.npy", "a_b~2.npy"])
        long = model(x, [("y" * 300, FLOAT, [1])], node("Neg", ["x"], ["y" * 300]))
        text, said = self.weft("run", self.file(long), "-o", self.folder / "long", code=1)
        self.assertEqual(text, "")
        self.assertIn("has a name of 300 bytes", said)
        self.weft("run", self.folder / "m.onnx", "-o", self.folder / "long.npz")
        self.fails(both, "-o", "/dev/full", words=["-o /dev/full: it is a file"])
        self.fails(both, "-o", self.folder / "m.onnx/in", words=["m.onnx/in: the directory cannot be made: Not a directory"])
        _, said = self.weft("graph", self.file(both), "-o", self.folder / "nowhere/g.onnx", code=1)
        self.assertIn("nowhere/g.onnx: cannot be written: No such file or directory", said)

    def test_times_and_profiles(self):
        path = self.file(model([("x", FLOAT, ["n", 4])], [("y", FLOAT, ["n", 4])], node("Exp", ["x"], ["y"])))
        _, said = self.weft("run", path, "--repeat", 5)
        self.assertRegex(said, r"4 more: least [\d.]+ ms, median [\d.]+, 90 % [\d.]+, 99 % [\d.]+, most [\d.]+\n")
        text, said = self.weft("run", path, "--profile", "--html", self.folder / "p.html", "--trace", self.folder / "p.json")
        self.assertIn("exp", text)
        self.assertIn("p.html written", said)
        self.assertIn("<html", (self.folder / "p.html").read_text()[:200])

    # ---- Beside others, and on two devices

    def test_compare(self):
        path = self.file(model([("x", FLOAT, ["n", 4])], [("y", FLOAT, ["n", 4])], node("Exp", ["x"], ["e"], "first"),
                               node("Softmax", ["e"], ["y"], "second")))
        text, _ = self.weft("run", path, "--compare=cpu", device="llvmpipe")
        self.assertRegex(text, r"beside the cpu, node by node: .*tolerance 0.001\nall 2 values agree")
        self.assertIn("output 'y' of the whole model agrees", text)
        # With no tolerance something differs.
        text, _ = self.weft("run", path, "--compare=cpu", "--tolerance", 0, "--shape", "n=200", device="llvmpipe", code=1)
        self.assertRegex(text, r"the first node that differs is '(first|second)' \((Exp|Softmax)\), whose result is '[ey]': "
                               r"\d+ of 800 elements of f32 \[200, 4\] differ; at \[\d+, \d+\] it is [\d.e-]+ here, and [\d.e-]+ there")
        self.fails(model([("x", FLOAT, [1])], [("y", FLOAT, [1])], node("Exp", ["x"], ["y"])), "--compare=cpu",
                   words=["which would be compared with itself"])
        self.fails(path.read_bytes(), "--compare=else", words=["none of ort and cpu"], code=2)
        self.fails(path.read_bytes(), "--compare=ort", "--python", "/nowhere", words=["finds no package onnxruntime"])
        self.fails(path.read_bytes(), "--compare=ort", "--python", "/bin/true", words=["/bin/true finds no package onnxruntime"])
        # Random numbers are others.
        path = self.file(model([("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])], node("RandomNormalLike", ["x"], ["r"], "noise"),
                               node("Add", ["x", "r"], ["y"])))
        text, _ = self.weft("run", path, "--compare=cpu", "--shape", "n=64", device="llvmpipe")
        self.assertIn("'noise' (RandomNormalLike), whose result is 'r' is random, and not compared\nall 1 values agree", text)
        self.assertIn("output 'y' of the whole model is another one, as numbers are random\n", text)

    def test_fallback(self):
        wide = model([("x", FLOAT, ["n"])], [("y", FLOAT, ["n"]), ("z", DOUBLE, ["n"])], node("Exp", ["x"], ["e"], "narrow"),
                     node("Cast", ["e"], ["d"], "widened", to=DOUBLE), node("Add", ["d", "d"], ["z"], "sum"),
                     node("Sqrt", ["z"], ["r"], "root"), node("Cast", ["r"], ["f"], "narrowed", to=FLOAT),
                     node("Neg", ["f"], ["y"], "last"))
        path = self.file(wide)
        _, said = self.weft("run", path, device="llvmpipe", code=1)
        for name in ["sum", "root"]:
            self.assertIn(f"node '{name}' (", said)
        for name in ["narrow", "last"]:
            self.assertNotIn(f"node '{name}' (", said)
        # Kernels compile while the error ends the process.
        for _ in range(5):
            self.weft("run", path, "--compare", device="llvmpipe", code=1)
        found, _, said = self.outputs(wide, "-i", "x=0", "--shape", "n=3", "--fallback", "cpu", device="llvmpipe")
        self.near(found["y"][1], [-math.sqrt(2)] * 3)
        self.assertEqual(found["z"][1], [2] * 3)
        self.assertIn("of the model's nodes ran on the cpu", said)
        self.assertIn("'sum' (Add)", said)
        self.assertEqual(self.outputs(wide, "-i", "x=0", "--fallback", "cpu")[2].count("ran on the cpu"), 0)
        self.fails(wide, "--fallback", "gpu", words=["'gpu' is not cpu"], code=2)

    def test_check_with_a_fallback(self):
        case = self.folder / "test_add_f64"
        (case / "test_data_set_0").mkdir(parents=True)
        (case / "model.onnx").write_bytes(model([("x", DOUBLE, [2])], [("y", DOUBLE, [2])], node("Add", ["x", "x"], ["y"])))
        (case / "test_data_set_0/input_0.pb").write_bytes(tensor("x", DOUBLE, [1, 2.5]))
        (case / "test_data_set_0/output_0.pb").write_bytes(tensor("y", DOUBLE, [2, 5]))
        text, _ = self.weft("check", "onnx", self.folder, device="llvmpipe", code=1)
        self.assertIn("cannot compute 1 of 1 nodes", text)
        self.assertIn("node 'y' (Add)", text)
        text, _ = self.weft("check", "onnx", "--fallback", "cpu", self.folder, device="llvmpipe")
        self.assertIn("1 passed, 0 failed", text)

    # ---- What is in a model

    def test_info(self):
        path = self.file(model([("x", DOUBLE, ["n", 4])], [("y", FLOAT, ["n"])], constant("w", FLOAT, [1, 2, 3], [3]),
                               node("Exp", ["x"], ["a"]), node("Tree", ["a"], ["b"], domain="ai.onnx.ml"),
                               node("StringConcat", ["b", "b"], ["c"]), node("Gelu", ["c"], ["y"]), opset=19))
        text, _ = self.weft("info", path, code=1)
        for line in ["IR 10, opsets ai.onnx 19\n3 parameters, 12 bytes of weights\n", "  x f64 [n, 4]\n", "      1 Exp\n",
                     "1 ai.onnx.ml.Tree   not supported: Weft has no operators of ai.onnx.ml, and the model no function",
                     "1 StringConcat   not supported: it is of texts",
                     "1 Gelu   not supported: Weft has it from version 20 of the domain on, and the model is of version 19",
                     "Note: it has values of float64", "It does not run here: 3 nodes have operators that Weft lacks.\n"]:
            self.assertIn(line, text)
        # One error names all nodes.
        _, said = self.weft("run", path, code=1)
        for name in ["'b' (ai.onnx.ml.Tree)", "'c' (StringConcat)", "'y' (Gelu)"]:
            self.assertIn(name, said)
        # Weights in another file, which is not there.
        entry = lambda key, value: field(13, field(1, key) + field(2, value))  # noqa: E731
        outside = field(5, field(1, 1000) + field(2, FLOAT) + field(8, "w") + entry("location", "none.bin") + field(14, 1))
        text, _ = self.weft("info", self.file(model([("x", FLOAT, [1000])], [("y", FLOAT, [1000])], outside, node("Add", ["x", "w"], ["y"]))))
        self.assertIn("1000 parameters, 4 KB (4000 bytes) of weights, 4 KB (4000 bytes) of them in other files\n", text)
        self.assertIn("All operators are supported.\n", text)
        # Weights that are nodes.
        value = field(5, field(1, "value") + field(5, tensor("", FLOAT, [1, 2, 3, 4])) + field(20, 4))
        made = field(1, field(2, "w") + field(4, "Constant") + value)
        text, _ = self.weft("info", self.file(model([("x", FLOAT, [4])], [("y", FLOAT, [4])], made, node("Add", ["x", "w"], ["y"]))))
        self.assertIn("4 parameters, 16 bytes of weights\n", text)

    def test_what_does_not_run(self):
        x, y = [("x", FLOAT, [1])], [("y", FLOAT, [1])]
        call = node("F", ["x"], ["y"], domain="my")
        function = field(25, field(1, "F") + field(10, "my") + field(4, "a") + field(5, "b")
                         + field(7, node("F", ["a"], ["b"], domain="my")[2:]) + field(9, field(1, "my") + field(2, 1)))
        own = field(8, field(1, "my") + field(2, 1))
        wide = [1] * 9
        for data, told, error in [
                (model([("x", FLOAT, wide)], y, node("Neg", ["x"], ["y"])), "input 'x' has 9 axes, and Weft's tensors have up to 8", ""),
                (model(x, y, node("Neg", ["z"], ["y"], "first"), node("Abs", ["x"], ["z"])),
                 "node 'first' (Neg) takes 'z', which nothing before it gives", "'z'"),
                (model(x, y, node("Neg", ["x"], ["z"])), "output 'y' of graph '' has no value", "'y'"),
                (model(x, y, call) + own + function, "function 'my.F' calls itself", "function 'my.F' calls itself"),
                (model(x, y, node("Neg", ["x"], ["y"])).replace(field(8, field(1, "") + field(2, 21)), b""),
                 "it names no opset of ai.onnx", "it names no opset of ai.onnx")]:
            path = self.file(data)
            text, _ = self.weft("info", path, code=1)
            self.assertIn(f"It does not run here: {told}", text)
            self.assertNotIn("All operators", text)
            _, said = self.weft("run", path, code=1)
            self.assertIn(error, said)
            self.assertLessEqual(said.count("node '"), 1)

    def test_what_is_no_model(self):
        write_npy(self.folder / "a.npy", "<f4", [1], [1])
        header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        for data, told in [(b"", "it is empty"), (b"hello, world\n", "it is a text"), ("é".encode() * 400, "it is a text"),
                           ((self.folder / "a.npy").read_bytes(), "it is an array of NumPy (.npy)"),
                           (struct.pack("<Q", len(header)) + header + bytes(4), "it is in the format safetensors"),
                           (b"GGUF\3\0\0\0" + bytes(16), "it is in GGUF"), (b"PK\3\4" + bytes(30), "it is a zip archive"),
                           (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS")]:
            for command in "run", "info":
                _, said = self.weft(command, self.file(data), code=1)
                self.assertIn(f"it is no model of ONNX: {told}", said)

    def test_drawings_and_profiles(self):
        path = self.file(model([("x", FLOAT, ["n", 4])], [("y", FLOAT, ["n", 4])], node("Exp", ["x"], ["e"], "/layer.0/Exp"),
                               node("Softmax", ["e"], ["y"], "/layer.1/Softmax")))
        text, _ = self.weft("graph", path, "--shape", "n=7", "-o", "-")
        self.assertIn("[7, 4]", text)
        self.assertIn("layer", text)
        self.weft("graph", path, "--batch", "2", "-o", "-", code=2)
        self.weft("graph", path, "--shape", "q=2", "-o", "-", code=1)
        text, _ = self.weft("profile", "graph", path, "--shape", "n=7", "--runs", "2", "--html", self.folder / "p.html")
        self.assertIn("exp+softmax [7, 4]", text)
        self.weft("profile", "graph", path, "--length", "2", code=2)
        # What the graph is like depends on an input.
        path = self.file(model([("x", FLOAT, ["n", 4]), ("rate", INT64, [])], [("y", FLOAT, ["a", "b"])],
                               constant("axis", INT64, [0]), constant("last", INT64, [-1]),
                               node("Unsqueeze", ["rate", "axis"], ["one"]), node("Concat", ["one", "last"], ["to"], axis=0),
                               node("Reshape", ["x", "to"], ["y"])))
        _, said = self.weft("graph", path, "--shape", "n=2", "-o", "-", code=1)
        self.assertIn("follow from ('rate') as constants: -i NAME=VALUE of weft graph", said)
        graph = self.folder / "fixed.safetensors"
        self.weft("graph", path, "--shape", "n=2", "-i", "rate=8", "-o", graph)
        text, said = self.weft("run", graph, "-i", "x=1")
        self.assertIn("y f32 [8, 1]", text)
        self.assertIn("[8, 1]", self.weft("profile", "graph", path, "--shape", "n=2", "-i", "rate=8", "--runs", "1")[0])
        self.weft("graph", graph, "-i", "x=1", "-o", "-", code=2)
        self.weft("profile", "graph", graph, "-i", "x=1", code=2)

    def test_graphs_in_files(self):
        path = self.file(model([("x", FLOAT, ["n", 4])], [("y", FLOAT, ["n", 4])], node("Exp", ["x"], ["y"])))
        graph = self.folder / "g.safetensors"
        self.weft("graph", path, "--shape", "n=2", "-o", graph)
        text, said = self.weft("run", graph)
        self.assertIn("y f32 [2, 4]", text)
        self.assertIn("input x is random f32 [2, 4]", said)
        text, _ = self.weft("run", graph, "--shape", "x=5,4", "-i", "x=0", "-o", self.folder / "y.npy")
        self.assertIn("y f32 [5, 4]", text)
        self.assertIn("y f32 [5, 4]", self.weft("run", graph, "-i", self.folder / "y.npy")[0])
        self.assertIn("[7, 4]", self.weft("graph", graph, "--shape", "x=7,4", "-o", "-")[0])
        self.assertIn("[7, 4]", self.weft("profile", "graph", graph, "--shape", "x=7,4", "--runs", "2")[0])
        _, said = self.weft("run", graph, "--shape", "x=5", code=1)
        self.assertIn("the model has x f32 [2, 4]", said)
        _, said = self.weft("run", graph, "--compare=cpu", code=1)
        self.assertIn("is a graph", said)

    # ---- Sentence encoders

    def encoder(self):
        """A directory as sentence-transformers exports it: a vector of two numbers a token, [id, 1]."""
        folder = self.folder / "encoder"
        (folder / "onnx").mkdir(parents=True)
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "."]
        (folder / "vocab.txt").write_text("\n".join(words) + "\n")
        (folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "model_max_length": 16}')
        shape = ["batch", "sequence"]
        table = constant("table", FLOAT, [v for i in range(len(words)) for v in (i, 1)], [len(words), 2])
        (folder / "onnx/model.onnx").write_bytes(model(
            [("input_ids", INT64, shape), ("attention_mask", INT64, shape)], [("last_hidden_state", FLOAT, [*shape, 2])],
            table, node("Gather", ["table", "input_ids"], ["last_hidden_state"])))
        return folder

    def test_sentences(self):
        folder = self.encoder()
        (self.folder / "s.txt").write_text("hello world.\nhello\nworld world\n")
        for model_path in [folder, folder / "onnx/model.onnx"]:
            out = self.folder / "v.npy"
            self.weft("embed", "--model", model_path, "-o", out, "--batch", 2, self.folder / "s.txt")
            shape, values = read_npy(out)
            self.assertEqual(shape, [3, 2])
            self.near(values, [(2 + 5 + 6 + 7 + 3) / 5, 1, (2 + 5 + 3) / 3, 1, (2 + 6 + 6 + 3) / 4, 1])
            text, _ = self.weft("tokenize", "--model", model_path, self.folder / "s.txt")
            self.assertEqual(text.splitlines()[1], '{"ids": [2, 5, 3]}')
        (folder / "modules.json").write_text("""[
            {"type": "sentence_transformers.models.Transformer", "path": ""},
            {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
            {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}]""")
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling/config.json").write_text('{"word_embedding_dimension": 2, "pooling_mode_cls_token": true, '
                                                      '"pooling_mode_mean_tokens": false}')
        self.weft("embed", "--model", folder, "-o", out, self.folder / "s.txt")
        self.near(read_npy(out)[1], [2 / math.sqrt(5), 1 / math.sqrt(5)] * 3)
        (folder / "onnx/model.onnx").rename(folder / "onnx/a.onnx")
        self.weft("embed", "--model", folder, "-o", out, self.folder / "s.txt")
        (folder / "onnx/b.onnx").write_bytes(b"")
        _, said = self.weft("embed", "--model", folder, self.folder / "s.txt", code=1)
        self.assertIn("has several models, a.onnx, b.onnx: name one of them", said)

    def test_help(self):
        text, _ = self.weft("run", "--help")
        for word in ["--text", "--tokenizer", "--normalize", "--fit", "--labels", "--rate", "--profile", "--compare", "--tolerance",
                     "--fallback", "NAME=FILE.wav", "Examples"]:
            self.assertIn(word, text)


if __name__ == "__main__":
    WEFT = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
