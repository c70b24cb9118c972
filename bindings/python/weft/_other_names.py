"""Names that NumPy, PyTorch and JAX have and the package has not: what these are here, for errors."""

from __future__ import annotations

from typing import Any, NoReturn

# Each as name=what it is here; several names of one thing are together.
_FUNCTIONS = """
    concatenate cat = wf.concat
    cumsum = wf.cumulative_sum
    cumprod = wf.cumulative_prod
    arcsin arccos arctan arcsinh arccosh arctanh = wf.asin, wf.acos, wf.atan, wf.asinh, wf.acosh, wf.atanh
    arctan2 = wf.atan2
    absolute fabs = wf.abs
    power float_power = wf.pow
    mod = wf.remainder
    true_divide div = wf.divide
    sub mul = wf.subtract, wf.multiply
    neg = wf.negative
    invert bitwise_not = wf.bitwise_invert
    left_shift right_shift = wf.bitwise_left_shift, wf.bitwise_right_shift
    amax = wf.max
    amin = wf.min
    around rint round_ = wf.round
    fix = wf.trunc
    conjugate = wf.conj
    divmod = (wf.floor_divide(x, y), wf.remainder(x, y))
    dot = wf.matmul or x @ y
    mm bmm mv matvec = wf.matmul or x @ y
    vdot = wf.vecdot of flattened arrays
    unique = wf.unique_values, wf.unique_counts, wf.unique_inverse or wf.unique_all
    vstack row_stack = wf.concat with axis=0, of rows wf.stack
    hstack = wf.concat with axis=1, of arrays of one axis with axis=0
    dstack = wf.concat with axis=2
    column_stack = wf.stack with axis=1, of matrices wf.concat
    append = wf.concat
    insert delete = wf.concat of slices
    permute = wf.permute_dims
    unsqueeze = wf.expand_dims or x[None]
    t = x.T
    rollaxis = wf.moveaxis
    rot90 = wf.flip of wf.swapaxes
    fliplr flipud = wf.flip with axis=1 or axis=0
    atleast_1d atleast_2d atleast_3d = wf.expand_dims or x[None]
    array_split hsplit vsplit dsplit chunk tensor_split = wf.split
    gather = wf.take_along_axis
    index_select = wf.take
    masked_fill = wf.where
    select choose piecewise = wf.where
    argwhere = wf.stack(wf.nonzero(x), axis=1)
    flatnonzero = wf.nonzero of x.ravel()
    extract = x[mask]
    topk = wf.top_k
    percentile = wf.quantile with q / 100
    nanpercentile = wf.nanquantile with q / 100
    identity = wf.eye
    tri = wf.tril(wf.ones((n, n)))
    fromfunction = the function of wf.meshgrid
    frombuffer fromiter asanyarray ascontiguousarray from_numpy tensor as_tensor = wf.asarray
    copy clone = x itself: an array's values do not change; wf.asarray(x, copy=True) is another object
    array_equal = wf.all(x == y)
    deg2rad radians = x * (wf.pi / 180)
    rad2deg degrees = x * (180 / wf.pi)
    iscomplexobj isrealobj issubdtype = wf.isdtype(x.dtype, kind)
    promote_types = wf.result_type
    dtype = the name of a type, "float32", or wf.float32
    int_ float_ long = wf.int64, wf.float32
    complex128 cdouble = wf.complex64, the only type of complex numbers
    double half = wf.float64, wf.float16
    savez savez_compressed savetxt = wf.save("file.npz", {"x": x})
    loadtxt genfromtxt fromfile = wf.load, or NumPy's and wf.asarray
    heaviside = wf.where
    hanning hamming blackman bartlett kaiser = wf.signal.hann_window, hamming_window, blackman_window, bartlett_window or kaiser_window
    i0 = wf.special.i0
    erf lgamma digamma = wf.special.erf, wf.special.gammaln or wf.special.digamma
    logsumexp = wf.special.logsumexp
    relu sigmoid softmax gelu = wf.nn.relu, wf.nn.sigmoid, wf.nn.softmax or wf.nn.gelu
    norm = wf.linalg.vector_norm or wf.linalg.matrix_norm
    svd inv solve qr eigh cholesky det = wf.linalg.svd, and so on
    ndim shape size = x.ndim, x.shape and x.size
    jit = wf.compile
    manual_seed = wf.random.seed
    rand randn randint = wf.random.uniform, wf.random.normal or wf.random.integers
    no_grad = nothing: outside of wf.grad nothing is recorded
    jacfwd jacrev = wf.jacobian with mode="forward" or mode="reverse"
    lax tree tree_util = wf.scan, wf.cond, wf.tree_map and their kin
    nonzero_ = wf.nonzero
    apply_along_axis vectorize = wf.vmap
    set_printoptions = str and repr of x.numpy()
    matrix = wf.asarray
    unravel_index ravel_multi_index = arithmetic by // and %
    put place putmask put_along_axis copyto = x.at[index].set(values)
    tril_indices triu_indices = wf.nonzero(wf.tril(wf.ones((n, n))))
"""

_LINALG = """
    norm = wf.linalg.vector_norm or wf.linalg.matrix_norm
    dot mm bmm = wf.linalg.matmul or x @ y
    tensorinv tensorsolve = wf.linalg.inv or wf.linalg.solve of reshaped arrays
    pinverse = wf.linalg.pinv
"""

_RANDOM = """
    rand random random_sample sample ranf = wf.random.uniform
    randn standard_normal = wf.random.normal
    randint random_integers = wf.random.integers
    default_rng RandomState Generator PRNGKey = wf.random.key, or wf.random.seed for the numbers without a key
    shuffle = wf.random.permutation
    chisquare standard_t = wf.random.chi_square and wf.random.student_t
    lognormal = wf.exp(wf.random.normal(shape))
    standard_exponential standard_gamma standard_cauchy = wf.random.exponential, wf.random.gamma or wf.random.cauchy
    manual_seed = wf.random.seed
    fold_in = wf.random.split
    randperm = wf.random.permutation
"""

_FFT = """
    fft2 ifft2 rfft2 irfft2 = wf.fft.fftn, wf.fft.ifftn, wf.fft.rfftn or wf.fft.irfftn with axes=(-2, -1)
"""

_METHODS = """
    copy clone = x itself: an array's values do not change; wf.asarray(x, copy=True) is another object
    flatten = x.ravel()
    dot mm bmm matmul = x @ y
    view = x.reshape(shape); of another type there is none
    permute = wf.permute_dims(x, axes)
    t = x.T
    unsqueeze = x[None] or wf.expand_dims(x, axis=axis)
    conjugate = x.conj()
    cumsum = x.cumulative_sum()
    cumprod = x.cumulative_prod()
    fill = wf.full_like(x, value)
    put = x.at[index].set(values)
    nonzero = wf.nonzero(x)
    searchsorted = wf.searchsorted(x, values)
    trace = wf.trace(x)
    ptp = wf.ptp(x)
    partition argpartition = wf.partition and wf.argpartition
    compress choose = x[mask] and wf.where
    resize = x.reshape(shape)
    flat = x.ravel()
    tobytes = x.numpy().tobytes()
    tofile dump = wf.save(path, x)
    strides flags data base ctypes = those of x.numpy()
    byteswap setflags getfield setfield = those of x.numpy()
    to cuda = x.to_device(device), or of a type x.astype(dtype)
    cpu = x.to_device("cpu"), or x.numpy()
    detach = wf.stop_gradient(x)
    backward grad requires_grad requires_grad_ = wf.grad of a function
    abs exp log sqrt sin cos tanh = the function wf.abs(x), wf.exp(x) and so on
    norm = wf.linalg.vector_norm(x)
    softmax sigmoid relu = wf.nn.softmax(x), wf.nn.sigmoid(x) or wf.nn.relu(x)
    type float double half long int bool = x.astype(dtype)
    topk = wf.top_k(x, k)
    gather = wf.take_along_axis(x, indices, axis=axis)
    expand expand_as = wf.broadcast_to(x, shape)
    masked_fill = wf.where(mask, value, x)
    add_ sub_ mul_ div_ = x += y and its kin
    block_until_ready = wf.wait(x)
    dim = x.ndim
    numel = x.size
    eq ne lt le gt ge = x == y and its kin
    add sub mul div pow = x + y and its kin
    split = wf.split(x, parts)
    unique = wf.unique_values(x)
    tril triu = wf.tril(x) and wf.triu(x)
    contiguous = x itself, or wf.contiguous(x)
"""

_FEW = {"weft": _FUNCTIONS, "weft.linalg": _LINALG, "weft.random": _RANDOM, "weft.fft": _FFT, "Array": _METHODS}


def _hint(where: str, name: str) -> str:
    for line in _FEW[where].splitlines():
        names, _, hint = line.partition(" = ")
        if name in names.split():
            return hint
    return ""


def missing(where: str, name: str, whole: object = None) -> NoReturn:
    """Raises the AttributeError for a name that a module or an array does not have."""
    hint = "" if name.startswith("__") else _hint(where, name)
    what = "an array of Weft's" if where == "Array" else f"module {where!r}"
    raise AttributeError(
        f"{what} has no attribute {name!r}" + (f": here it is {hint}" if hint else ""), name=name, obj=whole
    )


def of_module(where: str) -> Any:
    """The __getattr__ of a module."""

    def __getattr__(name: str) -> Any:
        missing(where, name)

    return __getattr__


def of_array(x: Any, name: str) -> Any:
    """The __getattr__ of arrays."""
    missing("Array", name, x)
