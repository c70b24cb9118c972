"""Weft: tensors on any GPU, or the cpu, as the Python array API standard has them.

    import weft as wf

    x = wf.random.normal((1024, 1024))               # on the default device; nothing has run yet
    y = wf.nn.softmax(x @ x.mT * 0.03, axis=-1) + 1
    print(y.sum())                                   # one graph, a few dispatches, one small readback
    g = wf.grad(lambda x: (x**2).mean())(x)
"""

import atexit as _atexit
import os as _os
import sys as _sys

if "t" in getattr(_sys, "abiflags", ""):
    raise ImportError(
        "weft does not run on the free-threaded build of Python, which this is: it relies on Python's global lock. "
        f"Use the ordinary build, python{_sys.version_info.major}.{_sys.version_info.minor} without a t behind it"
    )

from . import _array, _core, _functions, _other_names  # noqa: E402
from ._core import (  # noqa: E402, F401
    Array,
    Device,
    DeviceLost,
    DType,
    FormatError,
    InternalError,
    KernelError,
    LinAlgError,
    NoDevice,
    Unsupported,
    ValidationError,
    bfloat16,
    bool,
    complex64,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int2,
    int4,
    int8,
    int16,
    int32,
    int64,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
)

_core.set_package_directory(_os.path.dirname(__file__) + _os.sep)
_functions.fill("weft", globals())

from ._array_api import (  # noqa: E402, F401
    __array_namespace_info__,
    arange,
    argsort,
    array,
    asarray,
    astype,
    broadcast_shapes,
    can_cast,
    clip,
    concat,
    conj,
    e,
    einsum,
    empty,
    empty_like,
    expand_dims,
    eye,
    finfo,
    from_dlpack,
    full,
    full_like,
    iinfo,
    inf,
    isdtype,
    isfinite,
    isin,
    isinf,
    isnan,
    linspace,
    matmul,
    meshgrid,
    nan,
    newaxis,
    ones,
    ones_like,
    pi,
    real,
    repeat,
    reshape,
    result_type,
    roll,
    round,
    searchsorted,
    sign,
    sort,
    split,
    squeeze,
    swapaxes,
    take,
    take_along_axis,
    tensordot,
    transpose,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
    zeros,
    zeros_like,
)
from . import fft, linalg, losses, nn, onnx, quantized, random, signal, special, webnn  # noqa: E402, F401
from ._devices import DeviceDescription, device, devices, memory, precision, set_default_device  # noqa: E402, F401
from ._files import GraphFunction, SentenceEncoder, load, load_graph, load_metadata, save  # noqa: E402, F401
from ._kernels import ArrayType, Kernel, kernel  # noqa: E402, F401
from ._profiles import Profile, ProfileRow, profile  # noqa: E402, F401
from ._transforms import (  # noqa: E402, F401
    Compiled,
    checkpoint,
    compile,
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    hessian,
    jacobian,
    jvp,
    linearize,
    scan,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from ._tree import register_tree, tree_flatten, tree_leaves, tree_map, tree_unflatten  # noqa: E402, F401

__version__ = _core.version
__array_api_version__ = _array.API_VERSION

_array.finish(globals())


def eval(*trees: object) -> None:
    """Submits the computation of the arrays in these trees, and returns before it is done.

    >>> import weft as wf
    >>> x = wf.ones((2, 2)) @ wf.ones((2, 2))
    >>> wf.eval(x)
    """
    _core.eval(tree_leaves(trees))


def wait(*trees: object) -> None:
    """Computes the arrays in these trees, and waits until that is done.

    >>> import weft as wf
    >>> y = wf.ones(3) + 1
    >>> wf.wait(y)
    """
    _core.wait(tree_leaves(trees))


# The last that is registered is the first to run.
_atexit.register(_core.begin_end)

__all__ = [name for name in dir() if not name.startswith("_") or name.startswith("__array_")]

__getattr__ = _other_names.of_module("weft")
