"""Functions of functions: derivatives, batches, compiled functions, control flow. Arguments and results are trees."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any, Callable, Iterable, Sequence

from . import _core
from ._devices import current_precision
from ._tree import Array, fixed, matched, require_no_hidden_arrays, tree_flatten, tree_unflatten

Function = Callable[..., Any]


def _asarray(x: Any) -> Any:
    return x if type(x) is Array else _core.asarray(x, None, None, None)


def _with_numbers(tree: Any) -> Any:
    """A float alone is an array where derivatives are asked for."""
    return _asarray(tree) if isinstance(tree, (float, complex)) else tree


def _numbers(argnums: int | Sequence[int], count: int, function: str) -> tuple[int, ...]:
    is_row = isinstance(argnums, (tuple, list, range)) and all(isinstance(i, int) for i in argnums)
    if not isinstance(argnums, int) and not is_row:
        raise TypeError(f"{function}: argnums is {argnums!r}, expected the place of an argument, or a tuple of places")
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    normal = tuple(i + count if i < 0 else i for i in chosen)
    for i, given in zip(normal, chosen):
        if not 0 <= i < count:
            raise ValueError(f"{function}: argument {given} of {count} positional arguments")
    return normal


def _named(thing: Any) -> str:
    """What it is, for messages."""
    text = repr(thing)
    return f"{text if len(text) <= 40 else 'an object'} of the type {type(thing).__name__}"


def _row(function: str, name: str, given: Any) -> tuple[Any, ...]:
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{function}: {name} is {_named(given)}, expected a tuple with one for each argument: ({name[:-1]},)")
    return tuple(given)


class _Run:
    """A run of a function that is differentiated for some of its arguments."""

    def __init__(self, name: str, args: tuple[Any, ...], argnums: int | Sequence[int]) -> None:
        self.single = isinstance(argnums, int)
        chosen = _numbers(argnums, len(args), name)
        self.derivation = _core.Derivation(name)
        try:
            self.args = list(args)
            self.forms = []
            self.counts = []
            for i in chosen:
                leaves, form = tree_flatten(_with_numbers(args[i]))
                require_no_hidden_arrays(name, form)
                if self.single and not leaves:
                    raise TypeError(
                        f"{name}: argument {i} is {_named(args[i])}, expected arrays of real or complex numbers, alone or "
                        "in a tree, or a float"
                    )
                self.forms.append(form)
                self.counts.append(len(leaves))
                self.args[i] = tree_unflatten(form, [self.derivation.variable(x) for x in leaves])
            self.derivation.require_variables()
        except BaseException:
            self.derivation.end()
            raise

    def call(self, function: Function, kwargs: dict[str, Any], has_aux: bool) -> Any:
        """(result, its arrays, its form, what else the function gave)"""
        try:
            result = function(*self.args, **kwargs)
            aux = None
            if has_aux:
                result, aux = result
            leaves, form = tree_flatten(_with_numbers(result))
            others, aux_form = tree_flatten(aux)
            self.derivation.finish(leaves + others)
            return leaves, form, aux
        except BaseException:
            self.derivation.end()
            raise

    def derivatives(self, tensors: list[Any]) -> Any:
        """In the form of the arguments: one alone, or a tuple."""
        made, at = [], 0
        for form, count in zip(self.forms, self.counts):
            made.append(tree_unflatten(form, tensors[at : at + count]))
            at += count
        return made[0] if self.single else tuple(made)


def value_and_grad(function: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Function:
    """The function that gives (result, gradient) for the arguments that are named by their places.

    >>> import weft as wf
    >>> wf.value_and_grad(lambda x: (x**2).sum())(wf.asarray([1.0, 2.0]))
    (Array(5., dtype=float32), Array([2., 4.], dtype=float32))

    The result is one real number. With has_aux the function returns a pair, of which the second is handed on.
    """

    @functools.wraps(function, updated=())
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        run = _Run("grad", args, argnums)
        leaves, form, aux = run.call(function, kwargs, has_aux)
        if len(leaves) != 1:
            raise TypeError(f"grad: the function returned {len(leaves)} arrays, expected one")
        run.derivation.require_scalar()
        value = tree_unflatten(form, leaves)
        gradient = run.derivatives(run.derivation.gradient())
        run.derivation.end()
        return ((value, aux), gradient) if has_aux else (value, gradient)

    return value_and_gradient


def grad(function: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Function:
    """The function that gives the gradient, as value_and_grad() does; with has_aux (gradient, what else it gave).

    >>> import weft as wf
    >>> wf.grad(lambda x: x**3)(2.0)
    Array(12., dtype=float32)
    >>> wf.grad(wf.grad(lambda x: x**3))(2.0)
    Array(12., dtype=float32)
    >>> wf.grad(lambda net, x: (net["w"] * x).sum())({"w": wf.ones(2)}, wf.asarray([3.0, 4.0]))
    {'w': Array([3., 4.], dtype=float32)}
    """
    both = value_and_grad(function, argnums, has_aux=has_aux)

    @functools.wraps(function, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, g = both(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return gradient


def vjp(function: Function, *primals: Any, has_aux: bool = False) -> Any:
    """(result, pull_back): pull_back(cotangents in the result's form) gives a tuple of those of the arguments.

    >>> import weft as wf
    >>> y, pull_back = wf.vjp(lambda x: x**2, wf.asarray([1.0, 3.0]))
    >>> pull_back(wf.ones(2))
    (Array([2., 6.], dtype=float32),)
    """
    run = _Run("vjp", primals, range(len(primals)))
    leaves, form, aux = run.call(function, {}, has_aux)

    def pull_back(cotangents: Any) -> Any:
        given, given_form = tree_flatten(_with_numbers(cotangents))
        given = matched("vjp: the cotangent", form, given_form, given)
        return run.derivatives(run.derivation.pull_back(given))

    value = tree_unflatten(form, leaves)
    return (value, pull_back, aux) if has_aux else (value, pull_back)


def linearize(function: Function, *primals: Any) -> Any:
    """(result, tangent map): the second takes a tangent for each argument and gives those of the result.

    >>> import weft as wf
    >>> y, push_forward = wf.linearize(wf.exp, wf.asarray(0.0))
    >>> push_forward(wf.asarray(2.0))
    Array(2., dtype=float32)
    """
    run = _Run("jvp", primals, range(len(primals)))
    leaves, form, _ = run.call(function, {}, False)

    def push_forward(*tangents: Any) -> Any:
        if len(tangents) != len(run.forms):
            raise ValueError(f"jvp: {len(tangents)} tangents for {len(run.forms)} arguments")
        given = []
        for i, (tangent, own) in enumerate(zip(tangents, run.forms)):
            its, its_form = tree_flatten(_with_numbers(tangent))
            given += matched(f"jvp: tangent {i}", own, its_form, its)
        return tree_unflatten(form, run.derivation.push_forward(given))

    return tree_unflatten(form, leaves), push_forward


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """(result, its tangents), for arguments and a tangent for each.

    >>> import weft as wf
    >>> wf.jvp(lambda x: x**2, (wf.asarray(3.0),), (wf.asarray(1.0),))
    (Array(9., dtype=float32), Array(6., dtype=float32))
    """
    primals, tangents = _row("jvp", "primals", primals), _row("jvp", "tangents", tangents)
    value, push_forward = linearize(function, *primals)
    return value, push_forward(*tangents)


def jacobian(function: Function, argnums: int = 0, *, mode: str = "auto") -> Function:
    """The function that gives the derivatives of all elements of the result, an array, for all elements of an argument,
    in the shape [result's…, argument's…]. The mode is "forward", "reverse", or "auto": which has fewer columns.

    >>> import weft as wf
    >>> wf.jacobian(lambda x: x**2)(wf.asarray([1.0, 3.0]))
    Array([[2., 0.],
           [0., 6.]], dtype=float32)
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"jacobian: mode is {mode!r}, expected 'auto', 'forward' or 'reverse'")

    @functools.wraps(function, updated=())
    def matrix(*args: Any, **kwargs: Any) -> Any:
        run = _Run("jacobian", args, argnums)
        leaves, _, _ = run.call(function, kwargs, False)
        if len(leaves) != 1 or run.counts != [1]:
            raise TypeError(f"jacobian: {len(leaves)} arrays of {run.counts[0]}, expected one of one")
        size = _asarray(args[argnums]).size
        made = run.derivation.jacobian(mode == "forward" or (mode == "auto" and size < leaves[0].size))
        run.derivation.end()
        return made

    return matrix


def hessian(function: Function, argnums: int = 0) -> Function:
    """The function that gives the second derivatives of a result that is one number.

    >>> import weft as wf
    >>> wf.hessian(lambda x: x[0] * x[1])(wf.asarray([1.0, 3.0]))
    Array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    return jacobian(grad(function, argnums), argnums, mode="forward")


def vmap(function: Function, in_axes: Any = 0, out_axes: int = 0) -> Function:
    """The function on batches: it is called once, for an entry that has types and no values.

    >>> import weft as wf
    >>> wf.vmap(lambda x, y: x @ y, in_axes=(0, None))(wf.ones((3, 2)), wf.ones(2))
    Array([2., 2., 2.], dtype=float32)

    in_axes: the axis of the batch in each argument, None for one that all entries share; a number is that of all.
    """

    @functools.wraps(function, updated=())
    def batched(*args: Any, **kwargs: Any) -> Any:
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ValueError(f"vmap: in_axes has {len(axes)} axes for {len(args)} arguments")
        trees = [tree_flatten(a) for a in args]
        for axis, (_, form) in zip(axes, trees):
            if axis is not None:
                require_no_hidden_arrays("vmap", form)
        named, named_form = tree_flatten(kwargs)
        of_leaves = [axis for axis, (leaves, _) in zip(axes, trees) for _ in leaves] + [0] * len(named)
        call = _core.BatchedCall(of_leaves, out_axes)
        try:
            count = 0
            entries = []
            for leaves, form in [*trees, (named, named_form)]:
                entries.append(tree_unflatten(form, [call.entry(x, count + i) for i, x in enumerate(leaves)]))
                count += len(leaves)
            leaves, form = tree_flatten(_with_numbers(function(*entries[:-1], **entries[-1])))
            return tree_unflatten(form, call.finish(leaves))
        finally:
            call.end()

    return batched


def stop_gradient(tree: Any) -> Any:
    """The tree's arrays, constant for derivatives.

    >>> import weft as wf
    >>> wf.grad(lambda x: x * wf.stop_gradient(x))(3.0)
    Array(3., dtype=float32)
    """
    leaves, form = tree_flatten(tree)
    return tree_unflatten(form, [_core.stop_gradient(x) for x in leaves])


def checkpoint(function: Function) -> Function:
    """The function, whose intermediates are computed again for its derivative: less memory for more time.

    >>> import weft as wf
    >>> wf.grad(wf.checkpoint(lambda x: wf.sin(x)))(0.0)
    Array(1., dtype=float32)
    """

    @functools.wraps(function, updated=())
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        operands, form = tree_flatten((args, kwargs))
        result_form = None

        def run(tensors: list[Any]) -> list[Any]:
            nonlocal result_form
            own_args, own_kwargs = tree_unflatten(form, tensors)
            leaves, result_form = tree_flatten(function(*own_args, **own_kwargs))
            return leaves

        made = _core.checkpointed(operands, run)
        return tree_unflatten(result_form, made)

    return checkpointed


class _Custom:
    """A function with a derivative of the program's own."""

    def __init__(self, function: Function, rule: Function | None = None) -> None:
        self._function, self._rule = function, rule
        functools.update_wrapper(self, function, updated=())

    def _apart(self, args: tuple[Any, ...]) -> Any:
        operands, form = tree_flatten(args)
        result = self._function(*args)
        results, result_form = tree_flatten(result)
        return operands, form, results, result_form

    def _require_rule(self) -> Function:
        if self._rule is None:
            raise TypeError(f"{type(self).__name__}: the function has no rule yet; {self._setter}() sets it")
        return self._rule

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    _setter = ""


class custom_vjp(_Custom):
    """The function with a rule for cotangents: pull_back(arguments, result, cotangents of the result) gives those of
    the arguments, a tuple, or of a single argument its own. As a decorator, defvjp() sets the rule.

    >>> import weft as wf
    >>> @wf.custom_vjp
    ... def rounded(x):
    ...     return wf.round(x)
    >>> @rounded.defvjp
    ... def pull_back(arguments, result, cotangent):
    ...     return cotangent  # as if it were not rounded
    >>> wf.grad(lambda x: rounded(x).sum())(wf.asarray([0.4, 1.6]))
    Array([1., 1.], dtype=float32)
    """

    _setter = "defvjp"

    def defvjp(self, pull_back: Function) -> Function:
        """Sets the rule, and gives it."""
        self._rule = pull_back
        return pull_back

    def __call__(self, *args: Any) -> Any:
        pull_back = self._require_rule()
        operands, form, results, result_form = self._apart(args)

        def rule(given: list[Any], made: list[Any], cotangents: list[Any]) -> list[Any]:
            own = tree_unflatten(form, given)
            back = pull_back(
                own, tree_unflatten(result_form, made), tree_unflatten(result_form, _core.filled(cotangents, made))
            )
            back = back if isinstance(back, tuple) and len(args) != 1 else (back[0],) if isinstance(back, tuple) else (back,)
            return _derivatives_like(own, back, "custom_vjp")

        return tree_unflatten(result_form, _core.with_rules(operands, results, rule, None))


class custom_jvp(_Custom):
    """The function with a rule for tangents: push_forward(arguments, result, tangents of the arguments) gives those of
    the result, linear in the tangents. As a decorator, defjvp() sets the rule."""

    _setter = "defjvp"

    def defjvp(self, push_forward: Function) -> Function:
        """Sets the rule, and gives it."""
        self._rule = push_forward
        return push_forward

    def __call__(self, *args: Any) -> Any:
        push_forward = self._require_rule()
        operands, form, results, result_form = self._apart(args)

        def rule(given: list[Any], made: list[Any], tangents: list[Any]) -> list[Any]:
            result = tree_unflatten(result_form, made)
            pushed = push_forward(
                tree_unflatten(form, given), result, tree_unflatten(form, _core.filled(tangents, given))
            )
            return _derivatives_like(result, pushed, "custom_jvp")

        return tree_unflatten(result_form, _core.with_rules(operands, results, None, rule))


def _derivatives_like(tree: Any, derivatives: Any, function: str) -> list[Any]:
    """The arrays of derivatives, None where there is none, for each array of the tree."""
    if type(tree) is Array:
        return [None if derivatives is None else _asarray(derivatives)]
    if isinstance(tree, (list, tuple)):
        if derivatives is None:
            return [None] * len(tree_flatten(tree)[0])
        if len(tree) != len(derivatives):
            raise ValueError(f"{function}: the rule gave {len(derivatives)} derivatives, expected {len(tree)}")
        return [d for t, own in zip(tree, derivatives) for d in _derivatives_like(t, own, function)]
    count = len(tree_flatten(tree)[0])
    if derivatives is None:
        return [None] * count
    leaves, form = tree_flatten(derivatives)
    return matched(f"{function}: the rule's derivative", tree_flatten(tree)[1], form, leaves)


# ---- Control flow


def _of_lists(function: Function, form: Any, results: list[Any]) -> Function:
    """A function of trees as one of lists of arrays; the form of its result is put into `results`."""

    def run(tensors: list[Any]) -> list[Any]:
        leaves, result_form = tree_flatten(_with_result_numbers(function(*tree_unflatten(form, tensors))))
        if not results:
            results.append(result_form)
        return matched("cond: the branches give results of different forms", results[0], result_form, leaves, TypeError, exact=True)

    return run


def _with_result_numbers(tree: Any) -> Any:
    return _asarray(tree) if isinstance(tree, (bool, int, float, complex)) else tree


def cond(predicate: Any, then: Function, otherwise: Function, *operands: Any) -> Any:
    """then(operands…) where the predicate, one bool, is true, else otherwise(operands…): only that one is computed.

    >>> import weft as wf
    >>> wf.cond(wf.asarray(True), lambda x: x + 1, lambda x: x - 1, wf.asarray(5))
    Array(6, dtype=int32)
    """
    leaves, form = tree_flatten(operands)
    results: list[Any] = []
    made = _core.cond(_asarray(predicate), leaves, _of_lists(then, form, results), _of_lists(otherwise, form, results))
    return tree_unflatten(results[0], made)


def while_loop(condition: Function, body: Function, initial: Any) -> Any:
    """body(body(… initial)), as often as condition(value) is true in front of the body.

    >>> import weft as wf
    >>> wf.while_loop(lambda x: x < 100, lambda x: x * 2, wf.asarray(3))
    Array(192, dtype=int32)
    """
    leaves, form = tree_flatten(_with_result_numbers(initial))

    def check(tensors: list[Any]) -> list[Any]:
        return [_asarray(condition(tree_unflatten(form, tensors)))]

    def turn(tensors: list[Any]) -> list[Any]:
        return _carried("while_loop", body(tree_unflatten(form, tensors)), form)

    return tree_unflatten(form, _core.while_loop(leaves, check, turn))


def fori_loop(first: int, end: int, body: Function, initial: Any) -> Any:
    """body(i, value) for i = first … end - 1, an int32 array without axes.

    >>> import weft as wf
    >>> wf.fori_loop(0, 5, lambda i, x: x + i, 0)
    Array(10, dtype=int32)
    """
    leaves, form = tree_flatten(_with_result_numbers(initial))

    def turn(tensors: list[Any]) -> list[Any]:
        return _carried("fori_loop", body(tensors[0], tree_unflatten(form, tensors[1:])), form)

    return tree_unflatten(form, _core.fori_loop(first, end, leaves, turn))


def scan(
    body: Function, initial: Any, xs: Any = None, length: int | None = None, *, reverse: bool = False
) -> tuple[Any, Any]:
    """(last carry, results): body(carry, x) gives the next carry and a result for each slice x of xs along the first
    axis; results are stacked. Without xs x is None, and it turns `length` times.

    >>> import weft as wf
    >>> last, sums = wf.scan(lambda s, x: (s + x, s + x), 0, wf.asarray([1, 2, 3]))
    >>> sums
    Array([1, 3, 6], dtype=int32)
    """
    leaves, form = tree_flatten(_with_result_numbers(initial))
    slices, slices_form = tree_flatten(xs)
    result_form = None

    def turn(tensors: list[Any]) -> list[Any]:
        nonlocal result_form
        n = 1 + len(leaves)
        carry, result = body(tree_unflatten(form, tensors[1:n]), tree_unflatten(slices_form, tensors[n:]))
        made, result_form = tree_flatten(result)
        return _carried("scan", carry, form) + made

    if not slices and length is None:
        raise ValueError("scan: there are no slices in xs, and no length")
    made = _core.scan(leaves, slices, None if slices else length, reverse, turn)
    return tree_unflatten(form, made[: len(leaves)]), tree_unflatten(result_form, made[len(leaves) :])


def _carried(function: str, tree: Any, form: Any) -> list[Any]:
    leaves, own = tree_flatten(_with_result_numbers(tree))
    return matched(f"{function}: the body gives a carry of another form than it takes", form, own, leaves, TypeError, exact=True)


# ---- Compiled functions

_ARRAY = ("array",)


@functools.lru_cache(maxsize=None)
def _arrays_alone(count: int) -> Any:
    return (tuple, None, (_ARRAY,) * count)


def _places(name: str, given: Any) -> frozenset[int]:
    row = (given,) if isinstance(given, int) else tuple(given) if hasattr(given, "__iter__") else (None,)
    if not all(isinstance(i, int) for i in row):
        raise TypeError(f"compile: {name} is {given!r}, expected the place of an argument, or several")
    return frozenset(row)


def _names(name: str, given: Any) -> frozenset[str]:
    row = (given,) if isinstance(given, str) else tuple(given) if hasattr(given, "__iter__") else (None,)
    if not all(isinstance(n, str) for n in row):
        raise TypeError(f"compile: {name} is {given!r}, expected the name of an argument, or several")
    return frozenset(row)


class Compiled:
    """A function that is traced and compiled for each new combination of types. compile() makes it."""

    def __init__(
        self,
        function: Function,
        static_argnums: int | Iterable[int],
        static_argnames: str | Iterable[str],
        donate_argnums: int | Iterable[int],
        precision: str | None,
        fusion: bool,
    ) -> None:
        self._function = function
        if not callable(function):
            raise TypeError(f"compile: {_named(function)}, expected a function")
        if not isinstance(fusion, bool):
            raise TypeError(f"compile: fusion is {_named(fusion)}, expected True or False")
        if precision is not None and not isinstance(precision, str):
            raise TypeError(f"compile: precision is {_named(precision)}, expected 'float32', 'float16', 'auto' or None")
        self._static = _places("static_argnums", static_argnums)
        self._static_names = _names("static_argnames", static_argnames)
        self._donate = _places("donate_argnums", donate_argnums)
        if self._static or self._static_names or self._donate:
            self._find_arguments(function)
        self._precision, self._fusion = precision, fusion
        self._traced: dict[str | None, Any] = {precision: _core.TracedFunction(precision, fusion)}
        self._keys: dict[Any, bytes] = {}
        # Forms of results, which stand here and not with what was compiled: so Python finds cycles through them.
        self._results: list[Any] = []
        self._lock = threading.Lock()
        functools.update_wrapper(self, function, updated=())

    def _find_arguments(self, function: Function) -> None:
        """Checks the places and names of arguments, and finds the names of places and the places of names."""
        import inspect

        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # of a function that is not Python's nobody knows
            return
        kinds = inspect.Parameter
        ordered = [p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
        named = {p.name for p in parameters if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
        takes_more = any(p.kind is kinds.VAR_POSITIONAL for p in parameters)
        takes_names = any(p.kind is kinds.VAR_KEYWORD for p in parameters)

        def normal(name: str, places: frozenset[int]) -> frozenset[int]:
            made = set()
            for i in places:
                at = i + len(ordered) if i < 0 and not takes_more else i
                if at < 0 or (at >= len(ordered) and not takes_more):
                    raise ValueError(f"compile: {name} has {i}, and the function takes {len(ordered)} arguments by place")
                made.add(at)
            return frozenset(made)

        self._static = normal("static_argnums", self._static)
        self._donate = normal("donate_argnums", self._donate)
        for n in self._static_names:
            if n not in named and not takes_names:
                raise ValueError(f"compile: static_argnames has {n!r}, and the function has no argument of that name")
        by_place = {ordered[i] for i in self._static if i < len(ordered) and ordered[i] in named}
        self._static |= {i for i, n in enumerate(ordered) if n in self._static_names}
        self._static_names |= by_place

    def _apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
        """The arrays among the arguments, and all else of them."""
        if not kwargs and not self._static:
            for a in args:
                if type(a) is not Array:
                    break
            else:
                return list(args), _arrays_alone(len(args))
        leaves: list[Any] = []
        forms: list[Any] = []
        for i, a in enumerate(args):
            if type(a) is Array and i not in self._static:
                leaves.append(a)
                forms.append(_ARRAY)
            elif i in self._static:
                forms.append(fixed(a))
            else:
                own, form = tree_flatten(a)
                leaves += own
                forms.append(form)
        if not kwargs:
            return leaves, (tuple, None, tuple(forms))
        named = []
        for k, v in kwargs.items():
            if k in self._static_names:
                named.append((k, fixed(v)))
            else:
                own, form = tree_flatten(v)
                leaves += own
                named.append((k, form))
        return leaves, ((tuple, None, tuple(forms)), tuple(named))

    def _call_on(self, form: Any, leaves: list[Any]) -> Any:
        rest = iter(leaves)
        if form[0] is tuple:
            return self._function(*tree_unflatten(form, rest))
        args, named = form
        whole = (tuple, None, (args, (dict, tuple(k for k, _ in named), tuple(f for _, f in named))))
        own_args, own_kwargs = tree_unflatten(whole, rest)
        return self._function(*own_args, **own_kwargs)

    def _key(self, form: Any) -> bytes:
        try:
            key = self._keys.get(form)
        except TypeError as error:
            raise TypeError(
                f"compile: what is no array among the arguments is part of what is compiled, and must be hashable: {error}"
            ) from None
        if key is None:
            with self._lock:
                key = self._keys.setdefault(form, str(len(self._keys)).encode())
        return key

    def _trace(self, form: Any) -> Function:
        def trace(stand_ins: list[Any]) -> tuple[Any, list[Any]]:
            leaves, result_form = tree_flatten(_with_result_numbers(self._call_on(form, stand_ins)))
            with self._lock:
                if result_form not in self._results:
                    self._results.append(result_form)
                return self._results.index(result_form), leaves

        return trace

    def _donated(self, args: tuple[Any, ...]) -> list[int]:
        """The places of donated arguments' arrays among all."""
        donated: list[int] = []
        count = 0
        for i, a in enumerate(args):
            if i in self._static:
                continue
            own = len(tree_flatten(a)[0])
            if i in self._donate:
                donated += range(count, count + own)
            count += own
        return donated

    def _calls(self) -> Any:
        precision = self._precision or current_precision.get()
        calls = self._traced.get(precision)
        return calls or self._traced.setdefault(precision, _core.TracedFunction(precision, self._fusion))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, form = self._apart(args, kwargs)
        made = self._calls()(self._key(form), leaves, self._trace(form), self._donated(args) if self._donate else ())
        if made is None:
            return self._function(*args, **kwargs)
        index, results = made
        result_form = self._results[index]
        if result_form == _ARRAY:
            return results[0]
        return tree_unflatten(result_form, results)

    def graph(self, *args: Any, **kwargs: Any) -> Any:
        """What the function computes of arguments of these types, as a graph."""
        leaves, form = self._apart(args, kwargs)
        return _core.traced_graph(leaves, self._trace(form))

    def save(self, path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """Writes that graph to a file, which load_graph() reads."""
        _core.save_graph(os.fspath(path), self.graph(*args, **kwargs))

    @property
    def cached(self) -> int:
        """How many executables are kept."""
        return sum(calls.cached for calls in self._traced.values())

    def clear(self) -> None:
        """Forgets what was compiled."""
        for calls in self._traced.values():
            calls.clear()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self._function!r}>"


def compile(
    function: Function | None = None,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Iterable[int] = (),
    precision: str | None = None,
    fusion: bool = True,
) -> Any:
    """The function, traced once for each combination of types and compiled; also a decorator.

    >>> import weft as wf
    >>> @wf.compile
    ... def scaled(x, factor):
    ...     return x / x.sum() * factor
    >>> scaled(wf.asarray([1.0, 3.0]), 2)
    Array([0.5, 1.5], dtype=float32)
    >>> scaled(wf.asarray([3.0, 1.0]), 2), scaled.cached  # nothing is traced again
    (Array([1.5, 0.5], dtype=float32), 1)

    Arrays among the arguments may stand in trees. Numbers, strings and whatever else is hashable are fixed: for other
    values it is traced again (0.0 and -0.0 are two, as 1 and 1.0 are); arguments that are named static are never looked
    into. While it is traced its arrays have types and no values. The memory of donated arguments becomes that of results
    of the same types, where nothing else holds it; these arrays are empty afterwards. precision: "float32" (the
    default), "float16" where weights and products allow it, or "auto", where that keeps the error small.
    """
    if function is None:
        return functools.partial(
            compile,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            precision=precision,
            fusion=fusion,
        )
    return Compiled(function, static_argnums, static_argnames, donate_argnums, precision, fusion)
