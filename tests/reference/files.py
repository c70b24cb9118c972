"""Writes tests/data/files: arrays by NumPy and tensors by safetensors, which tests/tensor/files_test.cc reads, and
which must be what Weft writes. Needs numpy, ml_dtypes and safetensors."""
import ctypes
import io
import pathlib
import zipfile

import ml_dtypes
import numpy as np
import safetensors

directory = pathlib.Path(__file__).resolve().parent.parent / "data" / "files"


def values(dtype, shape):
    """The same rule as elements() in the test: element i is i - 2 in halves, i - 2, 7 i, whether i is odd, or
    i - 2 i j."""
    i = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    dtype = np.dtype(dtype)
    if dtype == np.dtype(ml_dtypes.bfloat16) or dtype.kind in "fV":
        return np.asarray((i - 2) / 2).astype(dtype)
    return np.asarray({"i": i - 2, "u": i * 7, "b": i % 2, "c": i - 2j * i}[dtype.kind]).astype(dtype)


def save(name, array, version=None):
    with open(directory / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=False)


codes = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c8", "b1"]
for code in codes:
    save(f"{code}.npy", values(code, (2, 3)))
    if code[1] != "1":
        save(f"{code}_big.npy", values(code, (2, 3)).astype(">" + code))
save("scalar.npy", values("f4", ()))
save("vector.npy", values("f4", (5,)))
save("empty.npy", values("f4", (3, 0, 2)))
save("long.npy", values("u1", (1, 1, 1, 1, 1, 1, 1, 300)))
save("fortran.npy", np.asfortranarray(values("i4", (2, 3, 4))))
save("fortran_big.npy", np.asfortranarray(values("i4", (2, 3, 4)).astype(">i4")))
save("version2.npy", values("i2", (4,)), (2, 0))
save("version3.npy", values("i2", (4,)), (3, 0))
save("complex128.npy", np.zeros(2, np.complex128))
save("structured.npy", np.zeros(2, [("a", "f4"), ("b", "i4")]))
save("text.npy", np.array(["a", "bc"]))
save("time.npy", np.array(["2020-01-01"], "datetime64[D]"))
save("bfloat16.npy", np.ones(2, ml_dtypes.bfloat16))

arrays = {code: values(code, (2, 3)) for code in codes}
arrays |= {"layer.0/w": values("f4", (2, 3, 4)), "é": values("f4", ()), "none": values("i8", (0,))}
np.savez(directory / "stored.npz", **arrays)
np.savez_compressed(directory / "compressed.npz", **arrays, fortran=np.asfortranarray(values("i4", (2, 3, 4))))
np.savez(directory / "one.npz", values("f4", (2, 3)))
np.savez(directory / "nothing.npz")
with zipfile.ZipFile(directory / "bzip2.npz", "w", zipfile.ZIP_BZIP2) as file:
    with file.open("x.npy", "w") as member:
        np.lib.format.write_array(member, values("f4", (2, 3)))
with zipfile.ZipFile(directory / "text.npz", "w") as file:
    file.writestr("readme.txt", "no array")


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


(directory / "trailing.npy").write_bytes(npy(values("f4", (2, 3))) + b"more")
with zipfile.ZipFile(directory / "folders.npz", "w") as file:
    file.mkdir("folder")
    file.writestr("README.md", "an archive with folders")
    file.writestr("folder/x.npy", npy(values("f4", (2, 3))))
    file.writestr("empty", "")
    file.writestr("NOTES.bz2", "not an array either", zipfile.ZIP_BZIP2)
with zipfile.ZipFile(directory / "mixed.npz", "w") as file:
    file.writestr("x.npy", npy(values("f4", (2, 3))))
    file.writestr("trailing.npy", npy(values("f4", (2, 3))) + b"more", zipfile.ZIP_DEFLATED)
    file.writestr("bare", npy(values("f4", (2, 3))))
    file.writestr("complex.npy", npy(np.zeros(2, np.complex128)))
    file.writestr("bzip2.npy", npy(values("f4", (2, 3))), zipfile.ZIP_BZIP2)
for name in ("folders.npz", "mixed.npz"):  # as NumPy reads them
    assert all((np.load(directory / name)[n] == values("f4", (2, 3))).all() for n in ("folder/x", "x", "trailing", "bare")
               if n in np.load(directory / name).files)

types = {"f16": "float16", "bf16": ml_dtypes.bfloat16, "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16",
         "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
         "bool": "bool", "c64": "complex64", "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
tensors = {name: values(dtype, (2, 3)) for name, dtype in types.items()}
tensors |= {'a "b"\n\\': values("float32", ()), "é/0": values("float32", (5,)), "none": values("int64", (0, 3))}


def safetensors_file(tensors, metadata):
    described = {}
    for name, array in tensors.items():
        pointer = array.ctypes.data_as(ctypes.c_void_p).value
        described[name] = safetensors.TensorSpec(dtype=array.dtype.name, shape=list(array.shape), data_ptr=pointer,
                                                 data_len=array.nbytes)
    return safetensors.serialize(described, metadata)


(directory / "all.safetensors").write_bytes(safetensors_file(tensors, {"format": "weft \"1\""}))
scale = np.arange(3, dtype=np.uint8)
pointer = scale.ctypes.data_as(ctypes.c_void_p).value
x = values("float32", (2, 3))
(directory / "foreign.safetensors").write_bytes(safetensors.serialize({
    "scale": safetensors.TensorSpec(dtype="float8_e8m0fnu", shape=[3], data_ptr=pointer, data_len=3),
    "x": safetensors.TensorSpec(dtype="float32", shape=[2, 3], data_ptr=x.ctypes.data_as(ctypes.c_void_p).value,
                                data_len=x.nbytes)}))
(directory / "one.safetensors").write_bytes(safetensors_file({"x": values("float32", (2, 3))}, None))
