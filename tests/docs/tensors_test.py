#!/usr/bin/env python3
"""docs/tensors.md: its C++ is taken from the examples, its links lead somewhere, and its table has every name of the
Python array API standard with names that the public headers declare.

  tensors_test.py SOURCE_DIR
"""
import pathlib
import re
import sys

from snippets import failures as snippet_failures
from snippets import link_failures, programs

# All functions of https://data-apis.org/array-api/2024.12/API_specification/, and what arrays have.
STANDARD = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
zeros_like
__array_namespace_info__ astype can_cast finfo iinfo isdtype result_type
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
round sign signbit sin sinh square sqrt subtract tan tanh trunc
take take_along_axis matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile
unstack
argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values
argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff
linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh linalg.inv linalg.matmul
linalg.matrix_norm linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr
linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm
fft.fft fft.ifft fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfftn fft.irfftn fft.hfft fft.ihfft fft.fftfreq
fft.rfftfreq fft.fftshift fft.ifftshift
x.dtype x.device x.mT x.ndim x.shape x.size x.T x.to_device
__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__
__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__
__mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__
""".split()


def declared(headers):
    """Names of functions, constructors and operators that the headers declare."""
    code = re.sub(r"//[^\n]*", "", headers)
    result = r"(?:Tensor|DType|int|void|Unique|std::vector<Tensor>|(?:const )?(?:Tensor|Shape|Device)&|std::int64_t|T|\w+Result)"
    names = set(re.findall(result + r"&? (operator\S+?|\w+)\(", code))
    names |= {"operator" + symbol for symbol in re.findall(r"^WEFT_BINARY_OPERATOR\((\S+), \w+\)", code, re.MULTILINE)}
    names |= set(re.findall(r"^  WEFT_(?:METHOD|REDUCTION)\((operator\[\]|\w+)", code, re.MULTILINE))
    names |= set(re.findall(r"^  (?:explicit )?(\w+)\(const Device& device", code, re.MULTILINE))  # Tensor(device, …)
    if re.search(r"constexpr All all;", code):
        names.add("all")
    return names


def table_failures(text, names):
    found = []
    rows = re.findall(r"^\| `([^`]+)` \| (.+?) \| .*\|$", text[text.index("## The Python array API"):], re.MULTILINE)
    listed = [row[0] for row in rows]
    found += [f"the table lacks {name}" for name in STANDARD if name not in listed]
    found += [f"the table has {name}, which is not in the standard" for name in listed if name not in STANDARD]
    found += [f"the table has {name} twice" for name in set(listed) if listed.count(name) > 1]
    for name, weft in rows:
        ours = [n.replace("\\|", "|") for n in re.findall(r"`([^`]+)`", weft)]
        if not ours and weft != "later":
            found.append(f"{name}: neither a name in Weft nor later")
        found += [f"{name}: no public header declares {n}" for n in ours if n not in names]
    return found, len(rows)


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    page = source / "docs" / "tensors.md"
    text = page.read_text()
    failures, snippets = snippet_failures("docs/tensors.md", text, programs(source))
    names = declared("\n".join(path.read_text() for path in sorted((source / "include" / "weft").glob("*.h"))))
    of_table, rows = table_failures(text, names)
    failures += of_table
    failures += link_failures("docs/tensors.md", text, page.parent)
    for failure in failures:
        print(failure)
    print(f"{snippets} snippets, {rows} names of the standard")
    return 1 if failures or not snippets or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
