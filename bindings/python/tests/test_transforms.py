"""Derivatives, batches, compiled functions and control flow, on trees."""

import collections
import dataclasses
import time
import types

import numpy as np
import pytest

import weft as wf

X = wf.asarray([1.0, 2.0, 3.0])


def close(a, b, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


Pair = collections.namedtuple("Pair", "w b")


@dataclasses.dataclass(frozen=True)
class Layer:
    w: object
    b: object
    act: str = "relu"


class Point:
    def __init__(self, a):
        self.a = a


wf.register_tree(Point, lambda p: ((p.a,), None), lambda _, children: Point(children[0]))


def test_trees():
    tree = {"a": [X, (X, 3)], "l": Layer(X, None), "p": Pair(X, "s"), "q": Point(X)}
    leaves, form = wf.tree_flatten(tree)
    assert len(leaves) == 5
    again = wf.tree_unflatten(form, [x * 2 for x in leaves])
    assert again["a"][1][1] == 3 and isinstance(again["p"], Pair) and again["l"].act == "relu"
    close(again["q"].a, X * 2)
    close(wf.tree_map(lambda a, b: a + b, tree, again)["l"].w, X * 3)
    assert hash(form) == hash(wf.tree_flatten(tree)[1])
    with pytest.raises(ValueError):
        wf.tree_unflatten(form, leaves + leaves)
    with pytest.raises(ValueError):
        wf.tree_map(lambda a, b: a, tree, [X])


def test_gradients():
    value, g = wf.value_and_grad(lambda p: (p["w"] * p["b"][0]).sum())({"w": X, "b": [X * 2, 3]})
    close(value, 28)
    close(g["w"], [2, 4, 6])
    close(g["b"][0], X)
    assert g["b"][1] == 3
    close(wf.grad(lambda x: x**3)(2.0), 12)
    close(wf.grad(wf.grad(lambda x: x**3))(2.0), 12)
    a, b = wf.grad(lambda a, b: (a * b).sum(), argnums=(0, -1))(X, X + 1)
    close(a, X + 1)
    close(b, X)
    g, aux = wf.grad(lambda x: ((x**2).sum(), {"y": x + 1}), has_aux=True)(X)
    close(g, X * 2)
    close(aux["y"], X + 1)
    assert wf.grad(lambda p: (p[0] ** 2).sum())([X, wf.asarray([1, 2])])[1] is None
    close(wf.grad(lambda p: (p.a**2).sum())(Point(X)).a, X * 2)
    close(wf.grad(lambda x, *, k: (x * k).sum())(X, k=X), X)
    for wrong, error in [(lambda x: x * 2, ValueError), (lambda x: (x.sum(), x.sum()), TypeError)]:
        with pytest.raises(error):
            wf.grad(wrong)(X)
    with pytest.raises(TypeError):
        wf.grad(lambda i: i.sum())(wf.asarray([1, 2]))
    with pytest.raises(ValueError):
        wf.grad(lambda x: x.sum(), argnums=1)(X)


def test_errors_in_functions_leave_nothing_behind():
    for transformed in (wf.grad(lambda x: 1 / 0), wf.vmap(lambda x: 1 / 0), wf.jacobian(lambda x: 1 / 0),
                        wf.compile(lambda x: 1 / 0), wf.checkpoint(lambda x: 1 / 0)):  # fmt: skip
        try:
            transformed(X)
        except ZeroDivisionError as error:
            kept = error  # its traceback holds what the function had
        close(wf.grad(lambda x: (x * x).sum())(X), X * 2)
    assert kept


def test_both_modes():
    value, pull_back = wf.vjp(lambda a, b: (a * b, {"s": a + b}), X, X + 1)
    ca, cb = pull_back((wf.ones_like(X), {"s": wf.zeros_like(X)}))
    close(ca, X + 1)
    close(cb, X)
    value, tangent = wf.jvp(lambda a: a**2, (X,), (wf.ones_like(X),))
    close(tangent, X * 2)
    value, push_forward = wf.linearize(lambda a: [a**2], X)
    close(push_forward(X)[0], X * X * 2)
    with pytest.raises(ValueError):
        pull_back(wf.ones_like(X))


def test_matrices():
    function = lambda x: wf.stack([x[0] * x[1], x[2] ** 2])  # noqa: E731
    for mode in ("auto", "forward", "reverse"):
        close(wf.jacobian(function, mode=mode)(X), [[2, 1, 0], [0, 0, 6]])
    close(wf.hessian(lambda x: (x**3).sum())(X), np.diag([6, 12, 18]))
    with pytest.raises(ValueError):
        wf.jacobian(function, mode="sideways")


def test_batches():
    a = wf.asarray(np.arange(12.0, dtype="float32").reshape(4, 3))
    close(wf.vmap(lambda a, b: (a * b).sum())(a, a), (a * a).sum(axis=1))
    close(wf.vmap(lambda a, b: a + b, in_axes=(0, None))(a, X), a + X)
    close(wf.vmap(lambda a: a * 2, in_axes=1, out_axes=1)(a), a * 2)
    close(wf.vmap(lambda p: {"s": p["x"].sum()})({"x": a})["s"], a.sum(axis=1))
    close(wf.vmap(wf.grad(lambda x: (x**2).sum()))(a), a * 2)
    close(wf.vmap(lambda a, *, b: a + b)(a, b=a), a * 2)
    with pytest.raises(ValueError):
        wf.vmap(lambda a, b: a, in_axes=(0,))(a, a)
    with pytest.raises(ValueError):
        wf.vmap(lambda a, b: a + b)(a, X)
    with pytest.raises(ValueError, match="vmap"):
        wf.vmap(lambda a: a if a.sum() > 0 else -a)(a)


def test_compiled_functions():
    traces = []

    @wf.compile
    def step(net, x, *, rate=0.1):
        """A step."""
        traces.append(rate)
        value, g = wf.value_and_grad(lambda net: ((net.w @ x + net.b) ** 2).mean())(net)
        return value, wf.tree_map(lambda p, d: p - rate * d, net, g)

    assert step.__doc__ == "A step." and step.__name__ == "step"
    net = Layer(wf.random.normal((2, 3), key=wf.random.key(1)), wf.asarray([0.0, 1.0]))
    values = []
    for _ in range(5):
        value, net = step(net, X)
        values.append(value.item())
    assert len(traces) == 1 and isinstance(net, Layer) and values == sorted(values, reverse=True)
    step(net, X, rate=0.2)
    step(net, wf.asarray([1.0, 2.0, 3.0]), rate=0.2)
    assert traces == [0.1, 0.2] and step.cached == 2
    step(Layer(net.w, net.b, "gelu"), X)
    assert len(traces) == 3
    value, pair = step(Pair(net.w, net.b), X)
    assert isinstance(pair, Pair)
    step.clear()
    assert step.cached == 0
    assert "matmul" in str(step.graph(net, X))


def test_static_arguments():
    @wf.compile(static_argnums=1, static_argnames="how")
    def f(x, n, how="plain"):
        y = x * n if n > 1 else x
        return y + 1 if how == "more" else y

    close(f(X, 3), X * 3)
    close(f(X, 1), X)
    close(f(X, 1, how="more"), X + 1)
    close(f(X, 1, "more"), X + 1)
    assert f.cached == 4
    with pytest.raises(TypeError, match="hashable"):
        f(X, [1])
    assert wf.compile(lambda x, n: x * n)(X, 2).dtype is wf.float32
    assert wf.compile(lambda x, n: x * n)(wf.asarray([1]), 2.0).dtype is wf.float32


def test_donation():
    step = wf.compile(lambda state, x: {"s": state["s"] * 2 + x}, donate_argnums=0)
    state = {"s": wf.asarray([1.0, 2.0, 3.0])}
    old, address = state["s"], None
    for turn in range(3):
        state = step(state, X)
        if not wf.device().is_gpu:
            now = np.asarray(state["s"]).ctypes.data
            assert address in (None, now)  # the same memory in each turn
            address = now
    close(state["s"], [15, 30, 45])
    assert repr(old) == "Array(donated)"
    for use in (lambda: old + 1, lambda: old.shape, lambda: len(old), lambda: old[0], lambda: float(old), lambda: step({"s": old}, X)):
        with pytest.raises(ValueError, match="undefined"):
            use()
    assert step.cached == 1
    # What others hold stays as it is.
    a = wf.asarray([1.0, 2.0, 3.0])
    held, view = a.at[0].set(1.0) * 1, np.asarray(a)
    state = step({"s": a}, X)
    close(state["s"], [3, 6, 9])
    assert view.tolist() == [1, 2, 3] and held.tolist() == [1, 2, 3]
    # An argument that is a result, too.
    both = wf.compile(lambda s: (s, s + 1), donate_argnums=0)
    one, two = both(wf.asarray([1.0, 2.0]))
    assert one.tolist() == [1, 2] and two.tolist() == [2, 3]
    shared = wf.asarray([1.0])
    pair = wf.compile(lambda a, b: a + b, donate_argnums=(0,))(shared, shared)
    assert pair.tolist() == [2]
    # Errors take nothing away.
    kept = wf.asarray([1.0])
    with pytest.raises(ZeroDivisionError):
        wf.compile(lambda s: 1 / 0, donate_argnums=0)(kept)
    assert kept.tolist() == [1]


def test_compiled_inside_others():
    f = wf.compile(lambda x: wf.exp(x).sum())
    close(wf.grad(f)(X), np.exp([1, 2, 3]), 1e-4)
    close(wf.compile(wf.grad(f))(X), np.exp([1, 2, 3]), 1e-4)
    close(wf.vmap(f)(wf.stack([X, X])), [np.exp([1, 2, 3]).sum()] * 2, 1e-4)
    with pytest.raises(ValueError, match="traces a function"):
        wf.compile(lambda x: x if x.sum() > 0 else -x)(X)

    class Model:
        def __init__(self):
            self.scale = 2.0

        @wf.compile(static_argnums=0)
        def __call__(self, x):
            return x * self.scale

    close(Model()(X), X * 2)


def test_captured_arrays_are_read_when_it_runs():
    w = wf.asarray([1.0, 1.0, 1.0])
    f = wf.compile(lambda x: x * w)
    close(f(X), X)
    w += 1
    close(f(X), X * 2)


def test_precision():
    a = wf.random.normal((64, 64), key=wf.random.key(2))
    exact = wf.compile(lambda a: wf.exp(a @ a * 0.1))
    half = wf.compile(lambda a: wf.exp(a @ a * 0.1), precision="float16")
    close(exact(a), half(a), 2e-2)
    with wf.precision("float16"):
        close(exact(a), half(a), 2e-2)
    assert exact.cached == 2
    with pytest.raises(ValueError, match="precision"):
        wf.compile(lambda a: a, precision="float8")


def test_control_flow():
    for sign in (1, -1):
        close(wf.cond((X * sign).sum() > 0, lambda x: {"y": x * 2}, lambda x: {"y": -x}, X)["y"], X * (2 if sign > 0 else -1))
    with pytest.raises(TypeError, match="forms"):
        wf.cond(X.sum() > 0, lambda x: (x,), lambda x: [x], X)
    turns, value = wf.while_loop(lambda s: s[1] > 1e-3, lambda s: (s[0] + 1, s[1] / 2), (wf.asarray(0), wf.asarray(1.0)))
    assert turns.item() == 10 and value.item() == 2**-10
    close(wf.fori_loop(0, 10, lambda i, x: x + i, X), X + 45)
    carry, results = wf.scan(lambda c, x: (c + x, {"p": c * x}), wf.asarray(0.0), X)
    close(carry, 6)
    close(results["p"], [0, 2, 9])
    carry, results = wf.scan(lambda c, _: (c * 2, None), wf.asarray(1.0), length=5)
    assert carry.item() == 32 and results is None
    _, results = wf.scan(lambda c, x: (c + x, c), wf.asarray(0.0), X, reverse=True)
    close(results, [5, 3, 0])
    close(wf.grad(lambda x: wf.scan(lambda c, u: (c * u, c), wf.asarray(1.0), x)[0])(X), [6, 3, 2])
    close(wf.compile(lambda x: wf.fori_loop(0, 3, lambda i, x: x * 2, x))(X), X * 8)
    with pytest.raises(ValueError):
        wf.scan(lambda c, _: (c, c), X)
    with pytest.raises(TypeError):
        wf.fori_loop(0, 3, lambda i, x: (x, x), X)


def test_rules_of_ones_own():
    @wf.custom_vjp
    def cube(x):
        return x**3

    with pytest.raises(TypeError, match="defvjp"):
        cube(X)

    @cube.defvjp
    def _(arguments, result, cotangent):
        close(result, X**3)
        return cotangent * 100

    close(wf.grad(lambda x: cube(x).sum())(X), [100] * 3)
    close(cube(X), X**3)
    times = wf.custom_vjp(lambda a, b: a * b, lambda arguments, result, c: (c * arguments[1], None))
    close(wf.grad(lambda a: times(a, X).sum())(X), X)
    close(wf.compile(wf.grad(lambda a: times(a, X).sum()))(X), X)
    square = wf.custom_jvp(lambda a: a**2, lambda arguments, result, tangents: tangents[0] * 7)
    close(wf.jvp(square, (X,), (X,))[1], X * 7)
    close(wf.grad(lambda a: square(a).sum())(X), [7] * 3)
    tree = wf.custom_vjp(lambda p: p["a"] * 2, lambda arguments, result, c: {"a": c * 5})
    close(wf.grad(lambda p: tree(p).sum())({"a": X})["a"], [5] * 3)


def test_checkpoints():
    exact = np.exp([1, 2, 3]) * np.array([2, 3, 4])
    close(wf.grad(lambda x: wf.checkpoint(lambda x: wf.exp(x) * x)(x).sum())(X), exact, 1e-4)
    close(wf.grad(lambda x: (wf.stop_gradient(x) * x).sum())(X), X)


# ---- Trees


def test_dicts_are_matched_by_their_keys():
    w, b = wf.asarray([1.0, 2.0]), wf.asarray([3.0, 4.0])
    first, second = {"w": w, "b": b}, {"b": b * 10, "w": w * 10}
    sums = wf.tree_map(lambda x, y: x + y, first, second)
    assert list(sums) == ["w", "b"]
    close(sums["w"], w * 11)
    close(sums["b"], b * 11)
    f = lambda t: t["w"] ** 2 * t["b"]  # noqa: E731
    close(wf.jvp(f, (first,), ({"b": wf.zeros(2), "w": wf.ones(2)},))[1], 2 * w * b)
    value, pull_back = wf.vjp(lambda x: {"w": x, "b": 2 * x}, w)
    close(pull_back({"b": wf.zeros(2), "w": wf.ones(2)})[0], wf.ones(2))
    nested = wf.tree_map(lambda x, y: x - y, [{"a": {"u": w, "v": b}}, w], [{"a": {"v": b, "u": w}}, w])
    close(nested[0]["a"]["v"], wf.zeros(2))


def test_trees_that_do_not_match_say_where():
    x, y = wf.ones(2), wf.ones(2)
    add = lambda a, b: a + b  # noqa: E731
    with pytest.raises(ValueError, match=r"tree 2: the key 'a' is missing; there are 'b'"):
        wf.tree_map(add, {"a": x}, {"b": y})
    with pytest.raises(ValueError, match=r"at \[1\]\['p'\] there is a key 'z' that is not expected"):
        wf.tree_map(add, [x, {"p": {"a": x}}], [x, {"p": {"a": y, "z": y}}])
    with pytest.raises(ValueError, match=r"at \[0\] has 1 elements, expected 2"):
        wf.tree_map(add, ([x, x],), ([y],))
    with pytest.raises(ValueError, match="is 3, which is no array, expected an array"):
        wf.tree_map(add, {"a": x}, {"a": 3})
    _, pull_back = wf.vjp(lambda t: t * 2, x)
    with pytest.raises(ValueError, match="vjp: the cotangent: is a tuple, expected an array"):
        pull_back((y,))
    with pytest.raises(ValueError, match=r"jvp: tangent 0: the key 'w' is missing"):
        wf.jvp(lambda t: t["w"], ({"w": x},), ({"v": y},))
    with pytest.raises(ValueError, match="jvp: 2 tangents for 1 arguments"):
        wf.jvp(lambda t: t, (x,), (x, y))


def test_control_flow_matches_dicts_by_their_keys():
    x = wf.asarray(3.0)
    made = wf.cond(wf.asarray(False), lambda x: {"a": x, "b": -x}, lambda x: {"b": x * 10, "a": x * 20}, x)
    assert float(made["a"]) == 60 and float(made["b"]) == 30
    last, _ = wf.scan(lambda c, _: ({"n": c["n"] * 2, "m": c["m"] + 1}, None), {"m": wf.asarray(0), "n": wf.asarray(1)}, length=3)
    assert int(last["m"]) == 3 and int(last["n"]) == 8
    last = wf.fori_loop(0, 3, lambda i, c: {"n": c["n"] * 2, "m": c["m"] + 1}, {"m": wf.asarray(0), "n": wf.asarray(1)})
    assert int(last["m"]) == 3 and int(last["n"]) == 8
    last = wf.while_loop(lambda c: c["n"] < 5, lambda c: {"n": c["n"] * 2, "m": c["m"] + 1}, {"m": wf.asarray(0), "n": wf.asarray(1)})
    assert int(last["m"]) == 3 and int(last["n"]) == 8
    with pytest.raises(TypeError, match=r"scan: .* another form than it takes: the key 'b' is missing"):
        wf.scan(lambda c, _: ({"a": x}, None), {"a": x, "b": x}, length=2)
    with pytest.raises(TypeError, match=r"at \['k'\] is 1, which is no array, expected 0.*; what changes has to be an array"):
        wf.fori_loop(0, 2, lambda i, c: {"a": c["a"], "k": 1}, {"a": x, "k": 0})


class OwnDict(dict):
    pass


class OwnList(list):
    pass


class Attributes(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Slots(dict):
    __slots__ = ("x",)


class Hidden:
    def __init__(self, x):
        self.inner = [x]


def test_subclasses_of_containers_are_trees():
    x = wf.asarray([1.0, 2.0])
    own = OwnDict(a=x, b="text")
    own.extra = x * 3
    row = OwnList([x, 5])
    for tree in (
        collections.OrderedDict(a=x, b=x + 1),
        collections.defaultdict(list, a=x),
        own,
        row,
        collections.deque([x, x], maxlen=3),
        types.MappingProxyType({"a": x}),
        Attributes(a=x),
    ):
        made = wf.tree_map(lambda v: v * 2, tree)
        assert type(made) is type(tree)
        for before, after in zip(wf.tree_leaves(tree), wf.tree_leaves(made), strict=True):
            close(after, before * 2)
        g = wf.grad(lambda t: sum((v**2).sum() for v in wf.tree_leaves(t)))(tree)
        assert type(g) is type(tree)
        close(wf.tree_leaves(g)[0], wf.tree_leaves(tree)[0] * 2)
    made = wf.tree_map(lambda v: v * 2, own)
    assert made["b"] == "text"
    close(made.extra, x * 6)
    assert wf.tree_map(lambda v: v, collections.defaultdict(list, a=x)).default_factory is list
    assert wf.tree_map(lambda v: v, collections.deque([x], maxlen=3)).maxlen == 3
    attributes = wf.tree_map(lambda v: v, Attributes(a=x))
    assert attributes.a is attributes["a"]
    compiled = wf.compile(lambda t: collections.OrderedDict((k, v * 2) for k, v in t.items()))
    made = compiled(collections.OrderedDict(b=x, a=x))
    assert type(made) is collections.OrderedDict and list(made) == ["b", "a"]
    close(wf.tree_map(lambda u, v: u + v, {"a": x}, collections.OrderedDict(a=x))["a"], x * 2)
    moment = time.gmtime(0)
    assert wf.tree_map(lambda v: v, (x, moment))[1] is moment


def test_what_hides_arrays_is_refused():
    x = wf.asarray([1.0, 2.0])
    for tree in (Slots(a=x), collections.ChainMap({"a": x}), collections.UserDict(a=x), collections.UserList([x])):
        with pytest.raises(TypeError, match="register_tree"):
            wf.tree_map(lambda v: v, tree)
        with pytest.raises(TypeError, match="register_tree"):
            wf.grad(lambda t: t["a"].sum())(tree)
    with pytest.raises(TypeError, match=r"grad: an object of the class Hidden.*register_tree\(Hidden"):
        wf.grad(lambda t: t[0].inner[0].sum())((Hidden(x), x))
    with pytest.raises(TypeError, match="vmap: .*register_tree"):
        wf.vmap(lambda t: t.inner[0].sum())(Hidden(x))
    # What does not change stays as it is.
    close(wf.grad(lambda v, t: (v * t.inner[0]).sum())(x, Hidden(x)), x)
    close(wf.vmap(lambda t, v: t.inner[0].sum() * v, in_axes=(None, 0))(Hidden(x), x), x * 3)


@dataclasses.dataclass(frozen=True)
class Setting:
    scale: float
    names: tuple = ()


def test_constants_differ_by_type_and_bits():
    x = wf.ones(2)
    f = wf.compile(lambda x, c: wf.copysign(x, wf.asarray(c, dtype="float32")))
    close(f(x, 0.0), x)
    close(f(x, -0.0), -x)
    for a, b in [((1,), (1.0,)), (frozenset({1}), frozenset({1.0})), (Setting(0.0), Setting(-0.0)), (1, True), ((True,), (1,))]:
        seen = []
        f = wf.compile(lambda x, c: seen.append(c) or x * 1, static_argnums=1)
        for c in (a, b, a, b):
            f(x, c)
        assert [repr(c) for c in seen] == [repr(a), repr(b)]
    seen = []
    f = wf.compile(lambda x, c: seen.append(c) or x * 1)
    for _ in range(3):
        f(x, float("nan"))
    f(x, (float("nan"),))
    f(x, (float("nan"),))
    assert len(seen) == 2
    returned = wf.compile(lambda x, c: (x, c))
    assert str(returned(x, 0.0)[1]) == "0.0" and str(returned(x, -0.0)[1]) == "-0.0"
    with pytest.raises(TypeError, match="hashable"):
        f(x, {1, 2})


def test_arguments_that_cannot_be():
    x = wf.ones(2)
    with pytest.raises(TypeError, match="compile: 3 of the type int, expected a function"):
        wf.compile(3)
    with pytest.raises(TypeError, match="fusion is"):
        wf.compile(lambda x: x, fusion=x)
    with pytest.raises(ValueError, match="static_argnums has 2, and the function takes 2 arguments"):
        wf.compile(lambda x, n: x, static_argnums=2)
    with pytest.raises(ValueError, match="static_argnames has 'm'"):
        wf.compile(lambda x, n: x, static_argnames="m")
    with pytest.raises(ValueError, match="donate_argnums has 1"):
        wf.compile(lambda x: x, donate_argnums=1)
    with pytest.raises(TypeError, match="static_argnums is 'n'"):
        wf.compile(lambda x, n: x, static_argnums="n")
    seen = []
    f = wf.compile(lambda x, n: seen.append(n) or x, static_argnums=-1)
    f(x, [1].__len__)  # hashable, and never looked into
    assert len(seen) == 1
    f = wf.compile(lambda x, n: x * n["k"], static_argnums=1)
    with pytest.raises(TypeError, match="hashable"):
        f(x, n={"k": 2})  # static by its name, too
    with pytest.raises(TypeError, match="grad: argument 0 is 3 of the type int"):
        wf.grad(lambda x: x)(3)
    with pytest.raises(TypeError, match="argnums is 'x'"):
        wf.grad(lambda x: x.sum(), argnums="x")(x)
    with pytest.raises(TypeError, match=r"jvp: primals is .*Array, expected a tuple .*\(primal,\)"):
        wf.jvp(lambda x: x, x, x)
    with pytest.raises(TypeError, match="jvp: tangents is"):
        wf.jvp(lambda x: x, (x,), x)
