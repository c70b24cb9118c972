"""Functions of rows: which module has them, and what they and their parameters are called.

A row (docs/ops.md) has operands and attributes by the library's names. Here are the names that Python has for them,
those of the array API standard and of NumPy, where they differ; all else is made from the rows.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core

if TYPE_CHECKING:
    import inspect

# ---- Names of functions: the module, then the rows; "row=name" where Python's name differs.

MODULES: dict[str, str] = {
    "weft": """
        add sub=subtract mul=multiply divide floor_divide remainder rem=fmod pow neg=negative positive abs ceil
        floor trunc sqrt rsqrt cbrt reciprocal square exp exp2 expm1 log log2 log10 log1p logaddexp sin cos tan
        asin acos atan sinh cosh tanh asinh acosh atanh atan2 hypot copysign nextafter fmin fmax gcd lcm fma lerp
        maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
        logical_not bitwise_and bitwise_or bitwise_xor bitwise_not=bitwise_invert shift_left=bitwise_left_shift
        shift_right=bitwise_right_shift popcount=bitwise_count clz=count_leading_zeros
        signbit imag angle isclose allclose nan_to_num sinc

        all any sum prod mean max min argmax argmin count_nonzero variance=var deviation=std median ptp average
        cumulative_sum cumulative_prod cummax cummin diff trapezoid cumulative_trapezoid nonzero
        nansum nanprod nanmean nanmax nanmin nanargmax nanargmin nanmedian nanstd nanvar nancumsum nancumprod
        quantile nanquantile quantiles nanquantiles histogram histogram2d bincount digitize cov corrcoef mode

        partition argpartition lexsort top_k union1d intersect1d setdiff1d setxor1d
        compress scatter_elements

        broadcast_arrays broadcast_to flip flatten=ravel matrix_transpose moveaxis permute=permute_dims
        stack unstack unflatten flatten_axes tile tril triu diag diagonal pad
        vecdot inner outer kron cross trace multi_dot
        polyval polyfit vander interp gradient gradients unwrap convolve correlate
        contiguous optimization_barrier logspace geomspace one_hot
        dynamic_slice dynamic_update_slice gather_nd scatter_nd
        segment_sum segment_mean segment_max segment_min segment_prod segment_softmax
    """,
    "weft.linalg": """
        cholesky cholesky_ex cholesky_inverse cholesky_solve cross det diagonal eig eigh eigh_ex
        eigvals eigvalsh expm inv inv_ex lstsq lstsq_svd lu lu_factor lu_solve matrix_power
        matrix_transpose multi_dot outer qr slogdet solve solve_ex solve_triangular svd svdvals trace
        vecdot vector_norm
    """,
    "weft.fft": """
        fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftshift ifftshift dct idct
    """,
    "weft.random": """
        random::bernoulli random::beta random::binomial random::categorical random::cauchy random::chi_square
        random::choice random::dirichlet random::exponential random::gamma random::geometric random::gumbel
        random::integers random::key random::laplace random::log_gamma random::logistic random::multinomial
        random::multivariate_normal random::normal random::orthogonal random::permutation random::poisson random::split
        random::student_t random::truncated_normal random::uniform
    """,
    "weft.signal": """
        bartlett_window blackman_window blackman_harris_window gaussian_window hamming_window hann_window kaiser_window
        tukey_window fft_convolve lfilter lfilter_state sosfilt sosfilt_state stft istft unwrap
    """,
    "weft.special": """
        erf erfc erfinv lgamma=gammaln digamma polygamma j0 j1 y0 y1 i0 i0e i1 i1e k0 k1 k0e k1e sigmoid=expit logit
        ndtr log_ndtr ndtri entr xlogy xlog1py gammainc gammaincc gammaincinv gammainccinv betainc betaincinv sinc
        softmax log_softmax reduce_log_sum_exp=logsumexp
    """,
    "weft.losses": """
        cross_entropy nll_loss binary_cross_entropy_with_logits mse_loss l1_loss huber_loss smooth_l1_loss kl_div
    """,
    "weft.nn": """
        relu relu6 leaky_relu elu selu celu gelu silu mish softplus softsign sigmoid logsigmoid=log_sigmoid hardtanh
        hardsigmoid hardswish hardshrink softshrink threshold softmax log_softmax
        layer_norm rms_norm batch_norm group_norm instance_norm attention rotary_embedding
        conv conv_transpose max_pool max_pool_with_indices average_pool lp_pool l2_pool global_average_pool
        global_max_pool global_lp_pool adaptive_average_pool adaptive_max_pool adaptive_max_pool_with_indices max_unpool
        resize resize_by upsample grid_sample affine_grid pixel_shuffle pixel_unshuffle depth_to_space space_to_depth
        unfold fold_columns lstm lstm_cell gru gru_cell rnn rnn_cell one_hot hadamard_transform
    """,
    "weft.quantized": """
        quantize dequantize requantize fake_quantize dynamic_quantize quantize_weights dequantize_weights
        quantized_matmul quantized_embedding matmul_integer conv_integer qlinear_matmul qlinear_conv
    """,
}

# ---- Names of parameters, where they are others: of all functions, then of some.

_PARAMETERS = {
    "keep_dims": "keepdims",
    "axes": "axis",
    "tensors": "arrays",
    "parts": "arrays",
    "vectors": "arrays",
    "operands": "arrays",
    "lambda": "lambd",  # lambda is a word of Python's
}
_PARAMETERS_OF: dict[str, dict[str, str]] = {
    "permute": {"order": "axes"},
    "moveaxis": {"from": "source", "to": "destination"},
    "fftn": {"sizes": "s", "axes": "axes"},
    "ifftn": {"sizes": "s", "axes": "axes"},
    "rfftn": {"sizes": "s", "axes": "axes"},
    "irfftn": {"sizes": "s", "axes": "axes"},
    "fftshift": {"axes": "axes"},
    "ifftshift": {"axes": "axes"},
    "tile": {"counts": "repetitions"},
    "searchsorted": {"sorted": "x1", "values": "x2"},
    "isin": {"x": "x1", "set": "x2", "inverted": "invert"},
    "where": {"a": "x1", "b": "x2"},
    "random::normal": {"mean": "loc", "deviation": "scale"},
    "tril": {"diagonal": "k"},
    "triu": {"diagonal": "k"},
    "eye": {"diagonal": "k"},
    "bincount": {"minimum_length": "minlength"},
}
# What has a default is given by name, as in the standard, but for these.
_POSITIONAL = {"axis", "axes", "shape", "q", "k", "n", "s", "source", "destination"}
# Those in another order than the row's.
_FIRST = {"diff": "n"}
# Rows that take any number of arrays instead of a sequence.
_STARRED = {"broadcast_arrays", "einsum"}

# ---- Results of several arrays.


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


_RESULTS: dict[str, Any] = {
    "eigh": EighResult,
    "eig": EigResult,
    "qr": QRResult,
    "slogdet": SlogdetResult,
    "svd": SVDResult,
}


def _result_type(row: dict[str, Any], name: str) -> Any:
    outputs = row["outputs"]
    if row["name"] in _RESULTS:
        return _RESULTS[row["name"]]
    if len(outputs) < 2 or outputs[-1][1] == "repeated":
        return None
    # In C++ results are structs, and so have names.
    title = "".join(part.capitalize() for part in name.split("_")) + "Result"
    return _Named(title, [o[0] for o in outputs])


class _Named:
    """Makes named tuples, of a class that is made when the first one is."""

    def __init__(self, title: str, names: list[str]) -> None:
        self.title, self.names, self.made = title, names, None

    def __call__(self, *values: Any) -> Any:
        if self.made is None:
            self.made = namedtuple(self.title, self.names, module="weft")
        return self.made._make(values)


# ---- Functions

# What a function was made of: (row, parameters), for its signature and text.
_made: dict[int, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {}


def parameter_name(row: str, name: str) -> str:
    return _PARAMETERS_OF.get(row, {}).get(name) or _PARAMETERS.get(name, name)


def _parameters(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Each as (name, of the row, is required, may be None, is positional, takes all the rest, default)."""
    name, inputs = row["name"], row["inputs"]
    own = [i[0] for i in inputs]
    renamed = {"a": "x1", "b": "x2"} if own == ["a", "b"] else {"a": "x"} if own == ["a"] else {}
    operands, optional, needed, others = [], [], [], []
    for operand, arity, _ in inputs:
        text = _PARAMETERS_OF.get(name, {}).get(operand) or renamed.get(operand) or parameter_name(name, operand)
        starred = arity == "repeated" and name in _STARRED
        given = (text, operand, arity != "optional", arity == "optional", True, starred, None)
        (optional if arity == "optional" else operands).append(given)
    for attribute, kind, default, has_default, is_optional, _, _ in row["attributes"]:
        text = parameter_name(name, attribute)
        required = not has_default and not is_optional
        is_dtype = kind == "text" and attribute in ("dtype", "type")
        if is_dtype or default == ():  # what an empty list means None says, too
            default = None
        positional = required or (text in _POSITIONAL)
        may_be_none = not required and default is None
        target = needed if required else others
        target.append((text, attribute, required, may_be_none, positional, False, default))
    # A starred parameter takes what stands behind it, and so is the last of the positional ones.
    if any(p[5] for p in operands):
        return needed + operands + [(*p[:4], False, *p[5:]) for p in optional + others]
    others.sort(key=lambda p: (not p[4], p[0] != _FIRST.get(name)))
    keywords = [p for p in others if not p[4]]
    return operands + needed + [p for p in others if p[4]] + optional_by_name(name, optional) + keywords


def optional_by_name(row: str, optional: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Optional operands: a layer's weights may be given in their order, keys of random numbers only by name."""
    return [(*p[:4], p[0] not in ("key", "prepend", "append"), *p[5:]) for p in optional]


def make(row_name: str, name: str, module: str) -> Any:
    row = _core.row(row_name)
    parameters = _parameters(row)
    function = _core.make_function(row_name, [p[:6] for p in _ordered(parameters)], _result_type(row, name))
    function.__name__ = name
    function.__qualname__ = name
    function.__module__ = module
    _made[id(function)] = (row, _ordered(parameters))
    return function


def _ordered(parameters: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Positional ones, then those by name: as a signature of Python has them."""
    return [p for p in parameters if p[4]] + [p for p in parameters if not p[4]]


def _signature(parameters: list[tuple[Any, ...]]) -> inspect.Signature:
    import inspect

    kinds = inspect.Parameter
    made = []
    for name, _, required, _, positional, starred, default in parameters:
        if starred:
            made.append(kinds(name, kinds.VAR_POSITIONAL))
            continue
        kind = kinds.POSITIONAL_OR_KEYWORD if positional else kinds.KEYWORD_ONLY
        made.append(kinds(name, kind, default=kinds.empty if required else default))
    return inspect.Signature(made)


def _text(function: Any, row: dict[str, Any], parameters: list[tuple[Any, ...]]) -> str:
    from ._comments import COMMENTS
    from ._texts import in_python, paragraph

    lines = []
    summary = row["summary"].rstrip(".")
    comment = COMMENTS.get(row["name"], "")
    if summary and not comment.lower().startswith(summary.lower()):
        first = summary.split()[0]
        is_letter = len(first) == 1 and first != "a"  # a name: "x without axes of size 1"
        lines.append(paragraph((summary if is_letter else summary[0].upper() + summary[1:]) + "."))
    if comment:
        lines += ["", paragraph(comment)]
    formula = row["formula"]
    if formula and " ".join(formula.split()) not in " ".join(comment.split()):
        lines += ["", "    " + formula.replace("random::", "random.")]
    meanings = {a[0]: a for a in row["attributes"]}
    told = []
    for name, of, *_ in parameters:
        if of in meanings and meanings[of][6]:
            choices = meanings[of][5]
            told.append(f"{name}: {in_python(meanings[of][6])}" + (f" ({', '.join(map(repr, choices))})" if choices else ""))
    if told:
        lines += ["", "Parameters", "----------", *told]
    return "\n".join(lines).strip()


def describe(function: Any, what: str) -> Any:
    """The text or the signature of a function that was made here."""
    row, parameters = _made[id(function)]
    return _signature(parameters) if what == "__signature__" else _text(function, row, parameters)


_core.set_describer(describe)


def names_in(module: str) -> dict[str, str]:
    """Names of Python's, each with its row."""
    found = {}
    for word in MODULES[module].split():
        row, _, name = word.partition("=")
        found[name or row.rpartition("::")[2]] = row
    return found


_functions: dict[tuple[str, str], Any] = {}


def fill(module: str, namespace: dict[str, Any]) -> list[str]:
    """Puts the module's functions into its namespace, and gives their names. One of two modules is the same object."""
    names = names_in(module)
    for name, row in names.items():
        if (row, name) not in _functions:
            _functions[row, name] = make(row, name, module)
        namespace[name] = _functions[row, name]
    return list(names)
