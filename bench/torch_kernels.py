#!/usr/bin/env python3
"""Times PyTorch on the cases of weft_bench, under the same names, for weft_bench --compare.

  torch_kernels.py [--compile] [--mebibytes 256] [--families copy,rows] > torch.jsonl

Each result is a JSON line {"name", "value", "unit"}. --compile times torch.compile's kernels instead of eager ones.
Takes seven samples of each case, of work queued for --milliseconds between CUDA events, after a warm-up of five times
that.
"""
import argparse
import json
import math
import statistics
import sys

import torch
import torch.nn.functional as F

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "u8": torch.uint8}
FLOATS = ("f32", "f16", "bf16")


def sample(call, calls):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


# As in weft_bench: a method of Bench for each family, and its types.
FAMILIES = {"copy": (*FLOATS, "u8"), "cast": ("f32",), "generate": ("f32", "f16"), "elementwise": FLOATS,
            "rows": FLOATS, "lengths": ("f32", "f16"), "shapes": ("f32", "f16"),
            "row_fusion": ("f32", "f16"), "gradients": ("f32", "f16"), "move": ("f32", "f16"),
            "scan": ("f32", "f16"), "attention": ("f32", "f16"), "matmul": ("f32", "f16"), "quantized": ("f16", "bf16"), "conv": ("f32", "f16"),
            "rnn": ("f32", "f16"), "quantize": ("f32", "f16"), "pool": ("f32", "f16"), "resize": ("f32", "f16"), "fft": ("f32",), "linalg": ("f32",),
            "distributions": ("f32",)}


class Bench:
    def __init__(self, args):
        self.args = args

    def random(self, shape, kind):
        if kind == "u8":
            return torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
        return (torch.rand(shape, device="cuda") * 2 - 1).to(TYPES[kind])

    def asked(self, name):
        return any(part in name for part in self.args.only.split("|"))

    def compiled(self, function):
        if not self.args.compile:
            return function
        torch.compiler.reset()  # one function of many shapes would soon be left to eager mode
        return torch.compile(function, dynamic=False)

    def measure(self, name, unit, work, function, *operands):
        if not self.asked(name):
            return
        f = self.compiled(function)
        self.time(name, unit, work, lambda: f(*operands))

    def measure_in_turn(self, name, unit, work, function, weights):
        """Calls take turns over weights, which come from memory then; in a graph, because they are short."""
        f = self.compiled(function)
        for w in weights[:1] * 3:
            f(w)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for w in weights:
                f(w)
        self.time(name, unit, work, graph.replay, len(weights))

    def time(self, name, unit, work, call, turns=1):
        for _ in range(3):
            call()
        total, calls = 0.0, 1
        while total < 5 * self.args.milliseconds:
            ms = sample(call, calls)
            total += ms * calls
            if ms * calls < self.args.milliseconds:
                calls *= 2
        calls = max(1, int(self.args.milliseconds / ms))
        ms = statistics.median(sample(call, calls) for _ in range(7)) / turns
        rate = work / (ms * 1e-3) / (1e9 if unit == "GB/s" else 1e12)
        print(json.dumps({"name": name, "value": rate, "unit": unit, "ms": ms, "device": torch.cuda.get_device_name(),
                          "torch": torch.__version__, "compiled": self.args.compile}), flush=True)

    def sizes(self, kind):
        """Numbers of elements: of the large tensors, and of those of 1, 4, 16 and 64 MiB that are smaller."""
        mebibytes = [self.args.mebibytes, *(m for m in (1, 4, 16, 64) if m < self.args.mebibytes)]
        return [(m << 20) // TYPES[kind].itemsize for m in mebibytes]

    def copy(self, kind):
        whole = self.random((self.sizes(kind)[0],), kind)
        target = torch.empty_like(whole)
        for count in self.sizes(kind):
            x, y = whole[:count], target[:count]
            side = int(math.sqrt(count)) // 64 * 64
            square = x[: side * side].view(side, side)
            self.measure(f"copy {kind} [{count}]", "GB/s", 2 * x.nbytes, lambda a, b: b.copy_(a), x, y)
            self.measure(f"transpose {kind} [{side}, {side}]", "GB/s", 2 * square.nbytes,
                         lambda a: a.T.contiguous(), square)

    def cast(self, kind):
        x = self.random((self.sizes(kind)[0],), kind)
        self.measure(f"cast {kind} to f16 [{x.numel()}]", "GB/s", 1.5 * x.nbytes, lambda a: a.half(), x)

    def generate(self, kind):
        x = self.random((self.sizes(kind)[0],), kind)
        label = f"{kind} [{x.numel()}]"
        self.measure(f"fill {label}", "GB/s", x.nbytes, lambda a: a.fill_(1.5), x)
        self.measure(f"random uniform {label}", "GB/s", x.nbytes, lambda a: a.uniform_(), x)
        self.measure(f"random normal {label}", "GB/s", x.nbytes, lambda a: a.normal_(), x)

    def distributions(self, kind):
        count = self.args.mebibytes << 16
        for a in (0.5, 2.0, 40.0):
            parameter = torch.full((count,), a, device="cuda")
            self.measure(f"gamma {a:g} {kind} [{count}]", "GB/s", parameter.nbytes, torch._standard_gamma, parameter)
            self.measure(f"poisson {a:g} {kind} [{count}]", "GB/s", parameter.nbytes, torch.poisson, parameter)
        for n in (10, 1000, 50257):
            x = self.random(((self.args.mebibytes << 18) // n, n), kind)
            self.measure(f"categorical {kind} [{x.shape[0]}, {n}]", "GB/s", x.nbytes,
                         lambda a: torch.multinomial(F.softmax(a, -1), 1), x)

    def elementwise(self, kind):
        shape = (self.sizes(kind)[0] // 1024, 1024)
        x, z, row = self.random(shape, kind), self.random(shape, kind), self.random((1, 1024), kind)
        label = f"{kind} [{shape[0]}, {shape[1]}]"
        self.measure(f"relu {label}", "GB/s", 2 * x.nbytes, torch.relu, x)
        self.measure(f"exp {label}", "GB/s", 2 * x.nbytes, torch.exp, x)
        self.measure(f"gelu_erf {label}", "GB/s", 2 * x.nbytes, F.gelu, x)
        self.measure(f"add {label}", "GB/s", 3 * x.nbytes, torch.add, x, z)
        self.measure(f"add row {label}", "GB/s", 2 * x.nbytes, torch.add, x, row)

    def rows(self, kind):
        whole, w = self.random((self.sizes(kind)[0],), kind), self.random((1024,), kind)
        c, variance = w[:64], w[:64].abs()  # of channels
        for count in self.sizes(kind):
            x = whole[:count]
            rows, images = x.view(-1, 1024), x.view(-1, 64, 64, 64)
            square = x.view(1 << (count.bit_length() - 1) // 2, -1)  # or twice as wide
            self.softmax(kind, rows, square)
            self.row_norms(kind, rows, w)
            for name, function in {
                "group norm": lambda a: F.group_norm(a, 8, c, c, 1e-5),
                "instance norm": lambda a: F.instance_norm(a, None, None, c, c, eps=1e-5),
                "batch norm": lambda a: F.batch_norm(a, c, variance, c, c, eps=1e-5),
            }.items():
                self.moving(name, kind, images, 2, function)
            self.reductions("rows", kind, rows, 1)
            self.reductions("columns", kind, rows, 0)
            if square.shape != rows.shape:
                self.reductions("columns", kind, square, 0)

    def lengths(self, kind):
        count = self.sizes(kind)[0] // 4
        whole = self.random((count,), kind)
        for length in (49, 77, 197, 384, 768, 1000, 5120, 30522, 32000, 50257, 65536, 128256, 151936,
                       1 << 18, 1 << 20, 1 << 22, 1 << 24):
            others = count // length
            if others == 0:
                continue
            rows, columns = whole[:others * length].view(-1, length), whole[:others * length].view(length, -1)
            self.softmax(kind, rows, columns)
            self.row_norms(kind, rows, whole[:length])
            self.reductions("rows", kind, rows, 1)
            self.reductions("columns", kind, columns, 0)

    def shapes(self, kind):
        count = self.sizes(kind)[0] // 4
        whole = self.random((count,), kind)

        def lines(*line):
            n = count // math.prod(line)
            return whole[:n * math.prod(line)].view(n, *line)

        odd = lines(1001)
        n = odd.shape[0]
        into = torch.empty((n, 1001), device="cuda", dtype=whole.dtype)
        self.moving("slice", kind, odd[:, 1:], 2, lambda a: a.contiguous())
        even = whole[:n * 1000].view(n, 1000)
        self.measure(f"slice into {kind} {[n, 1000]}", "GB/s", 2 * even.nbytes, lambda a, b: b[:, 1:].copy_(a), even,
                     into)
        self.moving("transpose", kind, whole[:count // 4099 * 4099].view(4099, -1).T, 2, lambda a: a.contiguous())
        self.moving("transpose", kind, odd.T, 2, lambda a: a.contiguous())
        images = lines(3, 224, 224)
        self.moving("channels last", kind, images.permute(0, 2, 3, 1), 2, lambda a: a.contiguous())
        last = images.view(-1, 224, 224, 3)
        self.moving("channels first", kind, last.permute(0, 3, 1, 2), 2, lambda a: a.contiguous())
        self.moving("heads", kind, lines(77, 12, 80).permute(0, 2, 1, 3), 2, lambda a: a.contiguous())
        self.moving("concat", kind, odd, 2, lambda a: torch.cat((a[:, 23:], a[:, :23]), 1))
        self.moving("pad", kind, odd, 2 + 7 / 1001, lambda a: F.pad(a, (0, 7)))
        places = torch.arange(n, device="cuda") * 7919 % n
        self.moving("gather rows", kind, odd, 2, lambda a: a[places])
        self.moving("scatter rows", kind, odd, 2, lambda a: into.index_copy_(0, places, a))
        self.moving("roll", kind, odd, 2, lambda a: torch.roll(a, (3, 5), (0, 1)))
        row, column = self.random((1001,), kind), self.random((n, 1), kind)
        self.moving("add row", kind, odd, 2, lambda a: a + row)
        self.moving("add column", kind, odd, 2, lambda a: a + column)
        self.moving("add slices", kind, odd[:, 1:], 2, lambda a: a + a)
        self.moving("tanh of slice", kind, odd[:, 1:], 2, lambda a: a.tanh())
        bias = self.random((64, 1, 1), kind)
        self.moving("add to channels", kind, lines(64, 7, 7), 2, lambda a: a + bias)
        c = self.random((512,), kind)
        for side in (7, 14, 28):
            x = lines(512, side, side)
            self.moving("batch norm", kind, x, 2, lambda a: F.batch_norm(a, c, c.abs(), c, c, eps=2.0))
            self.moving("group norm", kind, x, 2, lambda a: F.group_norm(a, 32, c, c, 1e-5))
            self.moving("instance norm", kind, x, 2, lambda a: F.instance_norm(a, None, None, c, c, eps=1e-5))
            self.moving("mean of pixels", kind, x, 1, lambda a: a.mean((2, 3), keepdim=True))
        for line in ((21, 4096), (19, 1001), (197, 768), (77, 80)):
            x = lines(*line)
            self.moving("softmax of the middle", kind, x, 2, lambda a: torch.softmax(a, 1))
            self.moving("mean of the middle", kind, x, 1, lambda a: a.mean(1))
            self.moving("argmax of the middle", kind, x, 1, lambda a: a.argmax(1))
            self.moving("scan of the middle", kind, x, 2, lambda a: a.cumsum(1))
        self.moving("scan", kind, odd, 2, lambda a: a.cumsum(1))
        torch.backends.cuda.matmul.allow_tf32 = False
        for m, k, n in ((1001, 1003, 997), (4099, 1001, 1003), (4099, 4097, 4101), (77, 768, 3072), (197, 768, 2304),
                        (4095, 1000, 2047), (1, 4097, 14335)):
            a = self.random((m, k), kind)
            for turned in (False, True):
                b = self.random((n, k) if turned else (k, n), kind)
                self.measure(f"product {kind} [{m}, {k}] x {list(b.shape)}{'T' * turned}", "TFLOP/s", 2.0 * m * k * n,
                             lambda a, b: a @ (b.T if turned else b), a, b)  # noqa: B023
        for shape in ((256, 12, 77, 64), (64, 12, 197, 64), (2, 8, 4096, 40), (2, 8, 1024, 80), (2, 10, 1001, 96),
                      (2, 8, 1001, 72), (8, 8, 1000, 256)):
            q, k, v = (self.random(shape, kind) for _ in range(3))
            self.measure(f"attend {kind} {list(shape)}", "TFLOP/s", 4.0 * math.prod(shape) * shape[2],
                         F.scaled_dot_product_attention, q, k, v)

    def moving(self, name, kind, x, moved, function):
        """A case that moves the bytes of x that many times."""
        self.measure(f"{name} {kind} {list(x.shape)}", "GB/s", moved * x.nbytes, function, x)

    def softmax(self, kind, rows, columns):
        self.moving("softmax", kind, rows, 2, lambda a: torch.softmax(a, 1))
        self.moving("log softmax", kind, rows, 2, lambda a: torch.log_softmax(a, 1))
        if columns.shape[0] < 1 << 18:  # longer ones take seconds
            self.moving("softmax of columns", kind, columns, 2, lambda a: torch.softmax(a, 0))

    def row_norms(self, kind, rows, w):
        self.moving("layer norm", kind, rows, 2, lambda a: F.layer_norm(a, w.shape, w, w, 1e-5))
        if hasattr(F, "rms_norm"):
            self.moving("rms norm", kind, rows, 2, lambda a: F.rms_norm(a, w.shape, w, 1e-5))

    def reductions(self, along, kind, x, axis):
        for name, function in {
            "sum": lambda a: a.sum(axis, keepdim=True),
            "mean": lambda a: a.mean(axis, keepdim=True),
            "max": lambda a: a.amax(axis, keepdim=True),
            "argmax": lambda a: a.argmax(axis, keepdim=True),
        }.items():
            self.moving(f"{name} of {along}", kind, x, 1, function)

    def row_fusion(self, kind):
        for count in self.sizes(kind):
            self.work_in_rows(kind, count // 1024, 1024)

    def work_in_rows(self, kind, rows, columns):
        x, r, w = self.random((rows, columns), kind), self.random((rows, columns), kind), self.random((columns,), kind)
        size = x.numel() * x.element_size()
        label = f"{kind} [{rows}, {columns}]"
        self.measure(f"softmax of scaled x + mask {label}", "GB/s", 2 * size,
                     lambda a, m: torch.softmax(a * 0.125 + m, -1), x, w)

        def both(a, b, c):
            s = a + b
            return F.layer_norm(s, (columns,), c, c, 1e-5), s

        self.measure(f"layer norm of x + r, both {label}", "GB/s", 4 * size, both, x, r, w)

    def gradients(self, kind):
        size = TYPES[kind].itemsize
        whole, other = (self.random(((self.args.mebibytes << 20) // size,), kind) for _ in range(2))
        count, aten = whole.numel(), torch.ops.aten

        def case(name, x, moved, function, *operands):
            self.measure(f"{name} {kind} {list(x.shape)}", "GB/s", moved * x.nbytes, function, *operands)

        for length in (1024, 4096, 1 << 17):
            x, g = (v.view(count // length, length) for v in (whole, other))
            for name, f in (("softmax", aten._softmax_backward_data), ("log softmax", aten._log_softmax_backward_data)):
                case(f"{name} gradient", x, 3, lambda a, b: f(b, a, 1, a.dtype), x, g)  # noqa: B023
        side = 1 << (count.bit_length() - 1) // 2
        x, g = (v.view(side, count // side) for v in (whole, other))
        case("softmax gradient of columns", x, 3, lambda a, b: aten._softmax_backward_data(b, a, 0, a.dtype), x, g)
        for length in (1024, 4096, 1 << 17):
            x, g = (v.view(count // length, length) for v in (whole, other))
            w = self.random((length,), kind)
            _, mean, factor = torch.native_layer_norm(x, (length,), w, w, 1e-5)
            for name, mask in (("layer norm gradient", [True] * 3), ("layer norm gradient of x", [True, False, False])):
                case(name, x, 3, lambda a, b: aten.native_layer_norm_backward(  # noqa: B023
                    b, a, (length,), mean, factor, w, w, mask), x, g)  # noqa: B023
            if hasattr(aten, "_fused_rms_norm_backward"):
                _, factor = aten._fused_rms_norm(x, (length,), w, 1e-5)
                case("rms norm gradient", x, 3, lambda a, b: aten._fused_rms_norm_backward(  # noqa: B023
                    b, a, (length,), factor, w, [True, True]), x, g)  # noqa: B023
        n, c, pixels, groups = count // (64 * 4096), 64, 4096, 8
        x, g = (v.view(n, c, 64, 64) for v in (whole, other))
        w, mean, variance = self.random((c,), kind), torch.full((c,), 0.25).cuda(), torch.full((c,), 0.375).cuda()
        for name, parts in (("group", groups), ("instance", c)):
            _, at, factor = torch.native_group_norm(x, w, w, n, c, pixels, parts, 1e-5)
            case(f"{name} norm gradient", x, 3, lambda a, b: aten.native_group_norm_backward(  # noqa: B023
                b, a, at, factor, w, n, c, pixels, parts, [True] * 3), x, g)  # noqa: B023
        _, at, factor = torch.native_batch_norm(x, w.float(), w.float(), mean, variance, True, 0.1, 1e-5)
        for name, training in (("batch norm gradient", False), ("batch norm training gradient", True)):
            case(name, x, 3, lambda a, b: aten.native_batch_norm_backward(  # noqa: B023
                b, a, w.float(), mean, variance, at, factor, training, 1e-5, [True] * 3), x, g)  # noqa: B023
        del other, g
        for classes in (1000, 50257, 128256):
            rows = count // classes
            x = whole[: rows * classes].view(rows, classes)
            labels = torch.randint(0, classes, (rows,), device="cuda")

            def both(a, at, smoothing):
                a = a.detach().requires_grad_()
                loss = F.cross_entropy(a, at, reduction="sum", label_smoothing=smoothing)
                return torch.autograd.grad(loss, a)

            case("cross entropy with gradient", x, 3, lambda a, at: both(a, at, 0.0), x, labels)
            self.measure(f"cross entropy with gradient, smoothed {kind} {list(x.shape)}", "GB/s", 3 * x.nbytes,
                         lambda a, at: both(a, at, 0.1), x, labels)
            case("cross entropy", x, 1, F.cross_entropy, x, labels)
        del whole, x
        words, width, number = 50000, 768, 65536
        g = self.random((number, width), kind)
        at = torch.distributions.Geometric(8 / words).sample((number,)).long().clamp(max=words - 1).cuda()
        self.measure(f"embedding gradient {kind} [{words}, {width}] x [{number}]", "GB/s", size * width * (words + number),
                     lambda b, i: aten.embedding_dense_backward(b, i, words, -1, False), g, at)

    def move(self, kind):
        size = self.args.mebibytes << 20
        columns = 1024
        rows = size // TYPES[kind].itemsize // columns
        x = self.random((rows, columns), kind)
        y = torch.empty_like(x)
        label = f"{kind} [{rows}, {columns}]"
        small = x.flatten()[: (rows - 2) * (columns - 2)].view(rows - 2, columns - 2)
        self.measure(f"move pad {label}", "GB/s", 2 * size, lambda a: F.pad(a, (1, 1, 1, 1)), small)
        self.measure(f"move pad reflect {label}", "GB/s", 2 * size,
                     lambda a: F.pad(a[None, None], (1, 1, 1, 1), mode="reflect"), small)
        self.measure(f"move roll {label}", "GB/s", 2 * size, lambda a: torch.roll(a, (3, 5), (0, 1)), x)
        quarter = x.flatten()[: size // TYPES[kind].itemsize // 4].view(rows // 2, columns // 2)
        self.measure(f"move tile {label}", "GB/s", 1.25 * size, lambda a: a.tile(2, 2), quarter)
        self.measure(f"move repeat {label}", "GB/s", 1.25 * size,
                     lambda a: a.repeat_interleave(2, 0).repeat_interleave(2, 1), quarter)
        half = columns // 2
        self.measure(f"move concat {label}", "GB/s", 2 * size, lambda a: torch.cat((a[:, half:], a[:, :half]), 1), x)
        self.measure(f"move triangle {label}", "GB/s", 2 * size, torch.tril, x)
        lines = (torch.arange(rows, device="cuda") * 7919) % rows
        self.measure(f"move gather rows {label}", "GB/s", 2 * size, lambda a, i: a[i], x, lines)
        self.measure(f"move scatter rows {label}", "GB/s", 2 * size,
                     lambda a, b, i: b.index_copy_(0, i, a), x, y, lines)
        self.measure(f"move scatter add rows {label}", "GB/s", 3 * size,
                     lambda a, b, i: b.index_add_(0, i, a), x, y, lines)
        # PyTorch takes 64-bit indices here; the work counts Weft's 32.
        places = (columns - 1 - torch.arange(columns, device="cuda")).expand(rows, columns).contiguous()
        work = 2 * size + 4 * x.numel()
        self.measure(f"move gather elements {label}", "GB/s", work, lambda a, i: a.gather(1, i), x, places)
        self.measure(f"move scatter elements {label}", "GB/s", work, lambda a, b, i: b.scatter_(1, i, a), x, y, places)
        mask = self.random((rows, columns), "u8") != 0
        self.measure(f"move compress {label}", "GB/s", 2 * size + 2 * x.numel(), lambda a, m: a[m], x, mask)

    def scan(self, kind):
        count = (self.args.mebibytes << 20) // TYPES[kind].itemsize
        for rows, columns, axis in ((count // 1024, 1024, 1), (count // 65536, 65536, 1), (1, count, 1),
                                    (16, count // 16, 1), (8192, count // 8192, 0), (count // 1024, 1024, 0)):
            x = self.random((rows, columns), kind)
            label = f"{kind} [{rows}, {columns}]{'' if axis else ' down'}"
            work = 2 * x.numel() * x.element_size()
            self.measure(f"scan sum {label}", "GB/s", work, lambda a: a.cumsum(axis), x)
            self.measure(f"scan max {label}", "GB/s", work, lambda a: a.cummax(axis)[0], x)
            self.measure(f"scan log-sum-exp {label}", "GB/s", work, lambda a: a.logcumsumexp(axis), x)

    def attention(self, kind):
        for batch, heads, kv_heads, queries, keys, dim, causal, window in (
                (32, 12, 12, 128, 128, 32, False, None), (256, 12, 12, 128, 128, 32, False, None),
                (32, 12, 12, 128, 128, 64, False, None), (1, 32, 32, 4096, 4096, 128, False, None),
                (1, 32, 32, 4096, 4096, 128, True, None), (1, 32, 32, 4096, 4096, 128, True, 512),
                (1, 32, 8, 1, 32768, 128, False, None), (8, 32, 8, 1, 4096, 128, False, None)):
            q = self.random((batch, heads, queries, dim), kind)
            k, v = (self.random((batch, kv_heads, keys, dim), kind) for _ in range(2))
            seen = min(window + 1, keys) if window else keys / 2 if causal else keys
            name = f"attention {kind} [{batch}, {heads}, {queries}, {dim}]"
            name += f" x [{kv_heads}, {keys}]" if keys != queries else ""
            name += (" causal" if causal else "") + (f" window {window}" if window else "")
            mask = None
            if window:  # as a mask: scaled_dot_product_attention has no window
                mask = torch.ones(queries, keys, dtype=torch.bool, device="cuda").tril().triu(-window)
            work = 2 * k.numel() * k.element_size() if queries == 1 else 4.0 * batch * heads * queries * dim * seen
            self.measure(name, "GB/s" if queries == 1 else "TFLOP/s", work,
                         lambda a, b, c: F.scaled_dot_product_attention(  # noqa: B023
                             a, b, c, attn_mask=mask, is_causal=causal and not window, enable_gqa=heads != kv_heads),
                         q, k, v)
            if dim == 32 or window or queries != keys:
                continue
            operands = [x.requires_grad_() for x in (q, k, v)]
            y = F.scaled_dot_product_attention(*operands, is_causal=causal)
            self.measure(name.replace("attention", "attention_gradient"), "TFLOP/s", 2.5 * work,
                         lambda a: torch.autograd.grad(y, operands, a, retain_graph=True),  # noqa: B023
                         self.random(y.shape, kind))

    def matmul(self, kind):
        torch.backends.cuda.matmul.allow_tf32 = False
        layers = ((1152, 384), (384, 384), (1536, 384), (384, 1536))
        products = [(n, n, n) for n in (1024, 2048, 4096, 8192)]
        products += [(t, n, k) for t in (16, 128, 4096, 32768) for n, k in layers]
        few = [(1, 14336, 4096), (4, 14336, 4096)]
        for m, n, k in products + few:
            self.measure(f"matmul {kind} [{m}, {k}] x [{n}, {k}]T", "TFLOP/s", 2.0 * m * n * k,
                         lambda a, b: a @ b.T, self.random((m, k), kind), self.random((n, k), kind))
        for m, n, k in few:
            self.measure(f"matmul {kind} [{m}, {k}] x [{k}, {n}]", "TFLOP/s", 2.0 * m * n * k,
                         torch.matmul, self.random((m, k), kind), self.random((k, n), kind))

    def quantized(self, kind):
        """Products with f16 weights; of bf16 with 4-bit weights, which PyTorch packs in an order of its own."""
        int4 = getattr(torch, "_weight_int4pack_mm", None)
        if kind == "bf16" and int4 is None:
            print("torch_kernels.py: this PyTorch has no _weight_int4pack_mm", file=sys.stderr)
            return
        for k, n in ((4096, 4096), (4096, 14336), (14336, 4096), (4096, 128256)):
            if kind == "f16":
                many = (2048,) if k == 4096 and n <= 14336 else ()
                self.products_in_turn("dense", kind, n, k, (1, 4, 8, *many), 2 * n * k, lambda: self.random((n, k), kind),
                                      lambda x, w: x @ w.T)
                continue
            for group in (32, 64, 128):
                self.products_in_turn(f"quantized affine 4/{group}", kind, n, k, (1, 4, 8), n * k // 2 + 4 * (n * k // group),
                                      lambda: self.packed(n, k, group),  # noqa: B023
                                      lambda x, w: int4(x, w[0], group, w[1]))  # noqa: B023

    def products_in_turn(self, form, kind, n, k, rows, size, make, product):
        """The product with weights of so many bytes, of each number of rows."""
        weights = []
        for m in rows:
            name = f"{form} {kind} [{m}, {k}] x [{n}, {k}]T"
            if not self.asked(name):
                continue
            while len(weights) < min(max((self.args.mebibytes << 21) // size, 1), 64):
                weights.append(make())
            x = self.random((m, k), kind)
            few = m <= 8
            self.measure_in_turn(name, "GB/s" if few else "TFLOP/s", size if few else 2.0 * m * n * k,
                                 lambda w: product(x, w), weights)  # noqa: B023

    @staticmethod
    def packed(n, k, group):
        """Random 4-bit weights and their scales and zeros, as _weight_int4pack_mm takes them."""
        try:
            codes = torch.ops.aten._convert_weight_to_int4pack(
                torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device="cuda"), 8)
        except RuntimeError:  # before PyTorch 2.5 codes were one in an i32
            codes = torch.ops.aten._convert_weight_to_int4pack(
                torch.randint(0, 16, (n, k), dtype=torch.int32, device="cuda"), 8)
        return codes, torch.rand((k // group, n, 2), device="cuda").to(torch.bfloat16) / 64

    def conv(self, kind):
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        for n, c, o, size, window, stride, groups in (
                (32, 128, 128, 28, 3, 1, 1), (32, 64, 256, 56, 1, 1, 1), (32, 256, 64, 56, 1, 1, 1), (32, 3, 64, 224, 7, 2, 1),
                (32, 512, 512, 7, 3, 1, 1), (32, 256, 512, 56, 1, 2, 1), (1, 128, 128, 28, 3, 1, 1), (1, 512, 512, 7, 3, 1, 1),
                (32, 96, 96, 112, 3, 1, 96), (32, 96, 96, 112, 3, 2, 96), (32, 960, 960, 7, 3, 1, 960)):
            out = (size + window // 2 * 2 - window) // stride + 1
            depth = c // groups * window * window
            flop = 2.0 * n * o * out * out * depth
            for order, name in ((torch.channels_last, " channels last"), (torch.contiguous_format, "")):
                x = self.random((n, c, size, size), kind).to(memory_format=order)
                w = self.random((o, c // groups, window, window), kind).to(memory_format=order)
                bytes_ = (x.numel() + w.numel() + n * o * out * out) * x.element_size()
                depthwise = groups == c
                self.measure(f"conv {window}x{window} {kind} {c}-{o} {n}x{size}x{size}{f' stride {stride}' if stride > 1 else ''}{name}",
                             "GB/s" if depthwise else "TFLOP/s", bytes_ if depthwise else flop,
                             lambda x, w, s=stride, p=window // 2, g=groups: F.conv2d(x, w, None, s, p, 1, g), x, w)

    def rnn(self, kind):
        lstm, gru = ("lstm", torch.nn.LSTM, 4), ("gru", torch.nn.GRU, 3)
        for (name, network, gates), sizes in ((lstm, (128, 32, 512, 512)), (lstm, (1, 32, 512, 512)),
                                              (lstm, (16, 4, 128, 128)), (gru, (128, 32, 512, 512)),
                                              (gru, (16, 4, 128, 128))):
            steps, batch, inputs, hidden = sizes
            x = self.random((steps, batch, inputs), kind)
            module = network(inputs, hidden, device=x.device, dtype=x.dtype).requires_grad_(False)
            self.measure(f"{name} {kind} [{steps}, {batch}, {inputs}] to {hidden}", "TFLOP/s",
                         2.0 * steps * batch * gates * hidden * (inputs + hidden), lambda x, m=module: m(x)[0], x)

    def quantize(self, kind):
        size, columns = TYPES[kind].itemsize, 4096
        rows = (self.args.mebibytes << 20) // (size * columns)
        label = f"{kind} i8 [{rows}, {columns}]"
        x = self.random((rows, columns), kind)
        work = rows * columns * (size + 1)
        if kind == "f32":  # of f32 alone PyTorch makes quantised tensors
            self.measure(f"quantize {label}", "GB/s", work, lambda a: torch.quantize_per_tensor(a, 0.015, 0, torch.qint8), x)
            q = torch.quantize_per_tensor(x, 0.015, 0, torch.qint8)
            self.measure(f"dequantize {label}", "GB/s", work, lambda a: a.dequantize(), q)
        self.measure(f"fake_quantize {kind} [{rows}, {columns}]", "GB/s", 2 * rows * columns * size,
                     lambda a: torch.fake_quantize_per_tensor_affine(a, 0.015, 0, -128, 127), x)

    def pool(self, kind):
        size = TYPES[kind].itemsize
        n = (self.args.mebibytes << 20) // (size * 64 * 112 * 112)
        for order, name in ((torch.contiguous_format, ""), (torch.channels_last, " channels last")):
            x = self.random((n, 64, 112, 112), kind).to(memory_format=order)
            for window, stride, pad in ((2, 2, 0), (3, 2, 1), (3, 1, 1)):
                out = (112 + 2 * pad - window) // stride + 1
                work = size * n * 64 * (112 * 112 + out * out)
                of = f"{window}x{window} stride {stride} {kind} [{n}, 64, 112, 112]{name}"
                self.measure(f"max pool {of}", "GB/s", work, lambda a, w=window, s=stride, p=pad: F.max_pool2d(a, w, s, p), x)
                self.measure(f"average pool {of}", "GB/s", work, lambda a, w=window, s=stride, p=pad: F.avg_pool2d(a, w, s, p), x)

    def resize(self, kind):
        size, channels = TYPES[kind].itemsize, 16
        for order, name in ((torch.contiguous_format, ""), (torch.channels_last, " channels last")):
            for what, mode, start, to in (("nearest", "nearest", 128, 256), ("linear", "bilinear", 128, 256),
                                          ("linear", "bilinear", 256, 128), ("cubic", "bicubic", 128, 256)):
                n = (self.args.mebibytes << 20) // (size * channels * max(start, to) ** 2)
                x = self.random((n, channels, start, start), kind).to(memory_format=order)
                self.measure(f"resize {what} {kind} {start} to {to}{name}", "GB/s",
                             size * n * channels * (start * start + to * to),
                             lambda a, m=mode, t=to: F.interpolate(a, size=(t, t), mode=m), x)


    def fft(self, kind):
        def pairs(*shape):
            return torch.view_as_complex(self.random((*shape, 2), kind))

        for shape, axis in (((65536, 1024), 1), ((1024, 65536), 1), ((64, 1 << 20), 1), ((4096, 1000), 1),
                            ((4096, 1009), 1), ((1, 1 << 24), 1), ((65536, 256), 1), ((8192, 4096), 1),
                            ((1024, 65536), 0), ((65536, 1000), 1), ((65536, 1009), 1)):
            x = pairs(*shape)
            self.measure(f"fft complex {list(shape)} axis {axis}", "GB/s", 16 * x.numel(),
                         lambda a, d=axis: torch.fft.fft(a, dim=d), x)
        x = pairs(4096, 4096)
        self.measure("fft complex [4096, 4096] axes 0 and 1", "GB/s", 32 * x.numel(), torch.fft.fft2, x)
        for n in (1024, 1 << 20):
            x = self.random(((1 << 26) // n, n), kind)
            self.measure(f"fft real {list(x.shape)}", "GB/s", 8 * x.numel(), torch.fft.rfft, x)
            self.measure(f"fft to real {list(x.shape)}", "GB/s", 8 * x.numel(),
                         lambda a, m=n: torch.fft.irfft(a, n=m), torch.fft.rfft(x))


    def linalg(self, kind):
        for count, n in ((1, 4096), (10000, 32), (64, 512)):
            a = self.random((count, n, n), kind) - 0.5
            a = (a + a.mT) / 2 + n * torch.eye(n, device="cuda")
            cube, shape = count * n**3, f"{kind} [{count}, {n}, {n}]"
            self.measure(f"cholesky {shape}", "TFLOP/s", cube / 3, lambda x: torch.linalg.cholesky_ex(x)[0], a)
            factor = torch.linalg.cholesky(a)
            self.measure(f"triangular_solve {shape}", "TFLOP/s", cube,
                         lambda f, b: torch.linalg.solve_triangular(f, b, upper=False), factor, a)
            self.measure(f"lu {shape}", "TFLOP/s", cube * 2 / 3, lambda x: torch.linalg.lu_factor_ex(x)[0], a)
            self.measure(f"qr {shape}", "TFLOP/s", cube * 8 / 3, torch.linalg.qr, a)
        for count, n in ((1, 2048), (1000, 32), (64, 256)):
            a = self.random((count, n, n), kind) - 0.5
            a = (a + a.mT) / 2 + n * torch.eye(n, device="cuda")
            self.measure(f"eigh {kind} [{count}, {n}, {n}]", "TFLOP/s", 9 * count * n**3, lambda x: torch.linalg.eigh(x)[0], a)
        for count, n in ((1, 2048), (1000, 32), (16, 512)):
            a = self.random((count, n, n), kind) - 0.5
            cube, shape = count * n**3, f"{kind} [{count}, {n}, {n}]"
            self.measure(f"svd {shape}", "TFLOP/s", 21 * cube, lambda x: torch.linalg.svd(x, full_matrices=False)[1], a)
            self.measure(f"svdvals {shape}", "TFLOP/s", cube * 8 / 3, torch.linalg.svdvals, a)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true", help="torch.compile instead of eager")
    parser.add_argument("--mebibytes", type=int, default=256, help="size of the large tensors")
    parser.add_argument("--milliseconds", type=float, default=20, help="of work in a sample")
    parser.add_argument("--families", type=lambda text: text.split(","), default=list(FAMILIES),
                        help=f"families of cases, separated by commas: {', '.join(FAMILIES)}")
    parser.add_argument("--only", default="", help="cases whose name holds this, or one of several texts parted by |")
    args = parser.parse_args()
    if unknown := set(args.families) - set(FAMILIES):
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    if not torch.cuda.is_available():
        sys.exit("torch_kernels.py: PyTorch finds no CUDA device")
    bench = Bench(args)
    for family, kinds in FAMILIES.items():
        for kind in kinds if family in args.families else ():
            getattr(bench, family)(kind)


if __name__ == "__main__":
    main()
