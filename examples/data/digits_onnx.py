#!/usr/bin/env python3
"""Makes digits.onnx of web/digits.safetensors: the network of the page that recognises drawn digits, with its
preparation of pictures, as a model in ONNX's format. Needs nothing but Python.

  digits_onnx.py

Its input `pixels` is what digits.npy has: u8 [n, 64], from 0 (paper) to 16 (ink). Its outputs are `probabilities`, f32
[n, 10], and `digit`, i64 [n], the most probable one.
"""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
WEIGHTS = HERE.parent.parent / "web" / "digits.safetensors"
FLOAT, UINT8, INT64 = 1, 2, 7


def varint(value):
    value &= 2**64 - 1
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a message: numbers are varints; texts, bytes and messages have their length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(op, inputs, output, **attributes):
    listed = []
    for name, value in attributes.items():
        values = field(3, value) + field(20, 2) if isinstance(value, int) else b"".join(field(8, v) for v in value) + field(20, 7)
        listed.append(field(1, name) + values)
    return field(1, b"".join([*(field(1, i) for i in inputs), field(2, output), field(3, output), field(4, op),
                              *(field(5, a) for a in listed)]))


def tensor(name, data_type, shape, data):
    return field(5, b"".join(field(1, d) for d in shape) + field(2, data_type) + field(8, name) + field(9, data))


def port(number, name, data_type, shape):
    sizes = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in shape)
    return field(number, field(1, name) + field(2, field(1, field(1, data_type) + field(2, sizes))))


def main():
    data = WEIGHTS.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    weights = [tensor(name, FLOAT, entry["shape"], data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]])
               for name, entry in header.items() if name != "__metadata__"]
    graph = b"".join([
        node("Cast", ["pixels"], "counts", to=FLOAT),
        node("Div", ["counts", "most"], "ink"),
        node("Reshape", ["ink", "picture"], "pictures"),
        node("Conv", ["pictures", "w1", "b1"], "conv1", pads=[1, 1, 1, 1]),
        node("Relu", ["conv1"], "relu1"),
        node("Conv", ["relu1", "w2", "b2"], "conv2", pads=[1, 1, 1, 1]),
        node("Relu", ["conv2"], "relu2"),
        node("MaxPool", ["relu2"], "pooled", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["pooled"], "flat"),
        node("Gemm", ["flat", "w3", "b3"], "scores"),
        node("Softmax", ["scores"], "probabilities", axis=1),
        node("ArgMax", ["probabilities"], "digit", axis=1, keepdims=0),
        field(2, "digits"),
        *weights,
        tensor("most", FLOAT, [], struct.pack("<f", 16)),
        tensor("picture", INT64, [4], struct.pack("<4q", -1, 1, 8, 8)),
        port(11, "pixels", UINT8, ["n", 64]),
        port(12, "probabilities", FLOAT, ["n", 10]),
        port(12, "digit", INT64, ["n"]),
    ])
    model = field(1, 8) + field(2, "Weft") + field(7, graph) + field(8, field(1, "") + field(2, 17))
    (HERE / "digits.onnx").write_bytes(model)


if __name__ == "__main__":
    main()
