"""Random index expressions for arrays.py, with NumPy's results of reading and of updating."""
import numpy as np
import cpu_kernel_cases
from arrays_elementwise import some, values_as
from arrays_functions import QUARTERS
from cpu_kernel_cases import *  # noqa: F403

GETS, UPDATES = 420, 130  # expressions; of each kind of update
TYPES = ["f32", "f32", "i32", "u8", "f16", "bool", "i64", "bf16"]


def place(t):
    """Puts a tensor among the operands."""
    case("", [t], [])
    return cpu_kernel_cases.cases.pop()["inputs"][0]


def pick(choices):
    return choices[int(rng.integers(len(choices)))]


def random_slice(n):
    end = lambda: pick([None, int(rng.integers(-n - 3, n + 4))])  # noqa: E731
    return slice(end(), end(), pick([None, 1, 1, 2, 3, -1, -1, -2, -3, 7, -7]))


def expression(shape, tensors):
    """An index, perhaps one that NumPy refuses; `tensors`: whether tensors may be among it."""
    index, left = [], list(shape)
    joint = pick([(), (2,), (3,), (2, 2), (4, 1)])
    while left and len(index) < 7:
        kind = pick(["int", "slice", "slice", "slice", "new", "whole", "ellipsis", "stop"] + (["tensor"] * 5 + ["mask"] * 2 if tensors else []))
        n = left[0]
        if kind == "stop":
            break
        if kind == "ellipsis" and not any(i is Ellipsis for i in index):
            left = left[int(rng.integers(len(left) + 1)):]
            index.append(Ellipsis)
        elif kind == "new":
            index.append(None)
        elif kind == "mask" and not any(isinstance(i, np.ndarray) for i in index):
            ranks = int(rng.integers(1, len(left) + 1))
            index.append(rng.integers(0, 2, left[:ranks]).astype(bool))
            left = left[ranks:]
            tensors = False  # another tensor would have to broadcast with what it chooses
        elif kind in ("int", "slice", "whole", "tensor"):
            if n == 0 and kind in ("int", "tensor"):
                continue
            left = left[1:]
            if kind == "int":
                index.append(int(rng.integers(-n, n)))
            elif kind == "tensor":
                # Shapes that broadcast to one: some sizes of it are 1, or missing.
                part = tuple(pick([m, m, 1]) for m in joint[int(rng.integers(len(joint) + 1)):])
                index.append(np.asarray(rng.integers(-n, n, part), pick([np.int32, np.int32, np.int64, np.int8])))
            else:
                index.append(random_slice(n) if kind == "slice" else slice(None))
    return tuple(index)


def written(index):
    out = []
    for i in index:
        if isinstance(i, np.ndarray):
            type = "bool" if i.dtype == bool else "i" + str(8 * i.dtype.itemsize)
            out.append({"tensor": place(T(type, i))})
        elif isinstance(i, slice):
            out.append({"slice": [i.start, i.stop, 1 if i.step is None else i.step]})
        elif i is Ellipsis:
            out.append("ellipsis")
        elif i is None:
            out.append("newaxis")
        else:
            out.append(i)
    return out


def chosen(tensors):
    """A shape and an index that NumPy takes of it."""
    while True:
        shape = tuple(int(n) for n in rng.choice([0, 1, 2, 3, 4, 5, 6], int(rng.integers(0, 5)), p=[0.03, 0.1, 0.2, 0.27, 0.2, 0.1, 0.1]))
        index = expression(shape, tensors)
        try:
            y = np.zeros(shape)[index]
        except IndexError:
            continue
        if y.ndim <= 8 and len(index) + len(shape) <= 8:
            return shape, index


def narrower(shape):
    """A shape that broadcasts to this one."""
    part = list(shape[int(rng.integers(len(shape) + 1)):]) if rng.integers(2) else list(shape)
    return tuple(pick([n, n, 1]) for n in part)


def number(type):
    return pick([2, -3, 1.5] if type in FLOATS else [True, False] if type == "bool" else [2, 5] if type[0] == "u" else [2, -3])


def cases():
    result = []
    for k in range(GETS):
        shape, index = chosen(k % 3 != 0)
        x = some(pick(TYPES), shape)
        result.append({"op": "get", "x": place(x), "at": written(index), "y": place(T(x.type, x.values[index]))})
    for op, f in (("set", None), ("add", np.add), ("max", np.maximum), ("min", np.minimum)):
        for k in range(UPDATES):
            shape, index = chosen(k % 3 != 0)
            type = pick(["f32", "i32", "u8", "i64", "f16"] + (["bool", "i16"] if op == "set" else []))
            x = some(type, shape, QUARTERS if type in FLOATS else None)
            target = np.zeros(shape)[index].shape
            times = np.zeros(shape, int)
            np.add.at(times, index, 1)
            if k % 5 == 0 or (op == "set" and times.size and times.max() > 1):
                value = number(type)
            else:
                value = some(pick([type, type, "i8"] if type[0] != "u" else [type]), narrower(target), QUARTERS if type in FLOATS else None)
            v = values_as(value, type)
            y = values_as(x, type).copy()
            if op == "set":
                y[index] = v
            elif times.size:
                f.at(y, index, v)
            entry = {"op": op, "x": place(x), "at": written(index), "y": place(T(type, y))}
            entry["value"] = place(value) if isinstance(value, T) else {"number": value}
            result.append(entry)
    return result
