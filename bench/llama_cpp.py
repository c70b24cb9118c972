#!/usr/bin/env python3
"""Times llama.cpp's CPU kernels on products with quantised weights, under the names of weft_bench, for --compare.

  llama_cpp.py [--library DIR] [--types q4_0,q4_k] [--rows 1,16] [--threads 2] [--repack] > llama.jsonl

DIR has libggml-base.so and libggml-cpu.so: those of PyPI's llama-cpp-python where it is installed, which is best built
from its source, for this processor. --repack stores the weights as llama.cpp does of models that stay in memory,
where it has such a form of the type. Each product takes the next of as many matrices as --mebibytes hold, so that
weights come from memory. A result is a JSON line with the median of --samples.
"""
import argparse
import ctypes
import importlib.util
import json
import os
import pathlib
import random
import statistics
import sys
import time
from array import array
from ctypes import POINTER, c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p

# The numbers of ggml.h.
TYPES = {"f32": 0, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_k": 10, "q3_k": 11, "q4_k": 12, "q5_k": 13,
         "q6_k": 14, "iq4_nl": 20, "ggml_mxfp4": 39}


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", c_bool)]


def library(folder):
    """The functions that are used, by their names without ggml_."""
    base = ctypes.CDLL(str(folder / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
    cpu = ctypes.CDLL(str(folder / "libggml-cpu.so"))
    signatures = {
        "init": (base, c_void_p, InitParams), "free": (base, None, c_void_p),
        "new_tensor_2d": (base, c_void_p, c_void_p, c_int, c_int64, c_int64),
        "mul_mat": (base, c_void_p, c_void_p, c_void_p, c_void_p), "nbytes": (base, c_size_t, c_void_p),
        "new_graph": (base, c_void_p, c_void_p), "build_forward_expand": (base, None, c_void_p, c_void_p),
        "quantize_chunk": (base, c_size_t, c_int, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_void_p),
        "backend_alloc_ctx_tensors_from_buft": (base, c_void_p, c_void_p, c_void_p),
        "backend_buffer_free": (base, None, c_void_p), "backend_tensor_set": (base, None, c_void_p, c_void_p, c_size_t, c_size_t),
        "backend_graph_compute": (base, c_int, c_void_p, c_void_p), "backend_reg_dev_get": (base, c_void_p, c_void_p, c_size_t),
        "backend_reg_get_proc_address": (base, c_void_p, c_void_p, c_char_p),
        "backend_cpu_buffer_type": (base, c_void_p), "backend_buft_name": (base, c_char_p, c_void_p),
        "backend_cpu_reg": (cpu, c_void_p), "backend_cpu_init": (cpu, c_void_p),
        "backend_cpu_set_n_threads": (cpu, None, c_void_p, c_int),
    }
    functions = {}
    for name, (where, result, *arguments) in signatures.items():
        functions[name] = f = getattr(where, "ggml_" + name)
        f.restype, f.argtypes = result, arguments
    return type("Ggml", (), {name: staticmethod(f) for name, f in functions.items()})


def repacked(ggml):
    """The type of buffers that store weights in the order of the kernels."""
    reg = ggml.backend_cpu_reg()
    address = ggml.backend_reg_get_proc_address(reg, b"ggml_backend_dev_get_extra_bufts")
    types = ctypes.CFUNCTYPE(POINTER(c_void_p), c_void_p)(address)(ggml.backend_reg_dev_get(reg, 0))
    i = 0
    while types[i]:
        if ggml.backend_buft_name(types[i]) == b"CPU_REPACK":
            return types[i]
        i += 1
    sys.exit("this ggml has no CPU_REPACK")


def normal(count):
    return (ctypes.c_float * count).from_buffer(array("f", (random.gauss(0, 1) for _ in range(count))))


class Products:
    """x wᵀ of `rows` rows, with each of several matrices w in turn."""

    def __init__(self, ggml, args, kind, rows):
        self.ggml, n, k = ggml, args.columns, args.columns
        self.weights = ggml.init(InitParams(1 << 20, None, True))
        first = ggml.new_tensor_2d(self.weights, TYPES[kind], k, n)
        self.bytes = ggml.nbytes(first)
        w = [first] + [ggml.new_tensor_2d(self.weights, TYPES[kind], k, n)
                       for _ in range(max(1, (args.mebibytes << 20) // self.bytes) - 1)]
        self.count = len(w)
        plain = ggml.backend_cpu_buffer_type()
        self.buffers = [ggml.backend_alloc_ctx_tensors_from_buft(self.weights, repacked(ggml) if args.repack else plain)]
        packed = bytearray(self.bytes)
        to = (ctypes.c_ubyte * self.bytes).from_buffer(packed)
        ggml.quantize_chunk(TYPES[kind], normal(16 * k), to, 0, 16, k, None)
        packed[:] = packed[:self.bytes * 16 // n] * (n // 16)
        for tensor in w:
            ggml.backend_tensor_set(tensor, to, 0, self.bytes)
        self.context = ggml.init(InitParams(4 << 20, None, True))
        x = ggml.new_tensor_2d(self.context, TYPES["f32"], k, rows)
        self.graph = ggml.new_graph(self.context)
        for tensor in w:
            ggml.build_forward_expand(self.graph, ggml.mul_mat(self.context, tensor, x))
        self.buffers.append(ggml.backend_alloc_ctx_tensors_from_buft(self.context, plain))
        ggml.backend_tensor_set(x, normal(rows * k), 0, rows * k * 4)

    def seconds(self, backend):
        begin = time.perf_counter()
        if self.ggml.backend_graph_compute(backend, self.graph) != 0:
            sys.exit("ggml could not compute the products")
        return (time.perf_counter() - begin) / self.count

    def free(self):
        for buffer in self.buffers:
            self.ggml.backend_buffer_free(buffer)
        self.ggml.free(self.context)
        self.ggml.free(self.weights)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, help="the folder of libggml-base.so and libggml-cpu.so")
    parser.add_argument("--types", default="q4_0,q4_k", help="of " + ", ".join(t for t in TYPES if t != "f32"))
    parser.add_argument("--rows", default="1,16")
    parser.add_argument("--columns", type=int, default=4096, help="and rows of the weights, a multiple of 16")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--mebibytes", type=int, default=256)
    parser.add_argument("--samples", type=int, default=11)
    parser.add_argument("--repack", action="store_true")
    args = parser.parse_args()
    folder = args.library
    if not folder:
        package = importlib.util.find_spec("llama_cpp")
        if not package:
            sys.exit("llama-cpp-python is not installed; --library says where ggml is")
        folder = pathlib.Path(package.origin).parent / "lib"
    ggml = library(folder)
    backend = ggml.backend_cpu_init()
    ggml.backend_cpu_set_n_threads(backend, args.threads)
    for kind in args.types.split(","):
        for rows in map(int, args.rows.split(",")):
            products = Products(ggml, args, kind, rows)
            products.seconds(backend)
            s = statistics.median(products.seconds(backend) for _ in range(args.samples))
            print(json.dumps({"name": f"quantized_matmul {kind} f32 [{rows}, {args.columns}] x [{args.columns}, {args.columns}]T",
                              "value": products.bytes / s / 1e9, "unit": "GB/s", "ms": s * 1e3, "device": "cpu",
                              "threads": args.threads, "repacked": args.repack}), flush=True)
            products.free()


main()
