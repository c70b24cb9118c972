"""Trees: arrays in lists, tuples, dicts, dataclasses, named tuples and registered classes.

A tree is taken apart into its arrays, in order, and its form: a nested tuple that can be compared and hashed as far as
what is no array in it can. Numbers, strings, None and whatever else are part of the form, by their types and bits.
"""

from __future__ import annotations

import atexit
import collections
import dataclasses
import struct
import types
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Iterable, Iterator

from . import _core

Array = _core.Array

_LEAF = ("array",)
_registered: dict[type, tuple[Callable[[Any], tuple[Iterable[Any], Any]], Callable[[Any, Any], Any]]] = {}
# Functions of programs would keep what their modules hold beyond the end.
atexit.register(_registered.clear)


def register_tree(
    cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, list[Any]], Any]
) -> None:
    """Makes the class one of trees: flatten(object) gives (children, what is fixed), unflatten(fixed, children) an
    object of them. What is fixed can be hashed.

    >>> import weft as wf
    >>> class Pair:
    ...     def __init__(self, x, y, name):
    ...         self.x, self.y, self.name = x, y, name
    >>> wf.register_tree(Pair, lambda p: ([p.x, p.y], p.name), lambda name, xy: Pair(*xy, name))
    >>> wf.tree_map(lambda x: x + 1, Pair(wf.asarray(1), wf.asarray(2), "p")).y
    Array(3, dtype=int32)
    """
    _registered[cls] = (flatten, unflatten)


# ---- Constants

_PLAIN = frozenset([int, bool, str, bytes, type(None)])


def _key(value: Any) -> Any:
    """What is equal for two values of one type and the same bits: 0.0 and -0.0 differ, 1 and 1.0, and NaN is itself."""
    cls = type(value)
    if cls in _PLAIN:
        return cls, value
    if isinstance(value, float):
        return cls, struct.pack("d", value)
    if isinstance(value, complex):
        return cls, struct.pack("dd", value.real, value.imag)
    if cls is tuple or (isinstance(value, tuple) and cls.__eq__ is tuple.__eq__):
        return cls, tuple([_key(v) for v in value])
    if cls is frozenset:
        return cls, frozenset([_key(v) for v in value])
    if cls is slice:
        return cls, _key((value.start, value.stop, value.step))
    if cls.__module__ == "numpy" and hasattr(value, "tobytes"):  # a scalar
        return cls, value.tobytes()
    parameters = getattr(cls, "__dataclass_params__", None)
    if parameters is not None and parameters.frozen and parameters.eq:
        hash(value)
        fields = [f.name for f in dataclasses.fields(value) if f.compare]
        return cls, tuple([_key(getattr(value, n)) for n in fields])
    return cls, value


class _Constant:
    """A value that is part of a form."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: Any) -> bool:
        return type(other) is _Constant and (self.value is other.value or bool(_key(self.value) == _key(other.value)))

    def __hash__(self) -> int:
        return hash(_key(self.value))

    def __repr__(self) -> str:
        return repr(self.value)


def fixed(value: Any) -> tuple[Any, ...]:
    """The form of what is never looked into."""
    return ("fixed", type(value), _Constant(value))


# ---- Taking apart and putting together


def _has_slots(cls: type) -> bool:
    return any(vars(c).get("__slots__") for c in cls.__mro__)


def _not_made(cls: type) -> TypeError:
    return TypeError(
        f"a {cls.__name__} has arrays inside, and is not made anew of others; register_tree({cls.__name__}, …) says how"
    )


def _apart(tree: Any, leaves: list[Any]) -> tuple[Any, ...]:
    cls = type(tree)
    if cls is Array:
        leaves.append(tree)
        return _LEAF
    if cls is list or cls is tuple:
        return (cls, None, tuple([_apart(t, leaves) for t in tree]))
    if cls is dict:
        return (cls, tuple(tree), tuple([_apart(t, leaves) for t in tree.values()]))
    if cls in _PLAIN or cls is float or cls is complex:
        return fixed(tree)
    if cls in _registered:
        children, own = _registered[cls][0](tree)
        return (cls, _Constant(own), tuple([_apart(t, leaves) for t in children]))
    if isinstance(tree, type):
        return fixed(tree)
    if hasattr(cls, "__dataclass_fields__"):
        names = tuple(tree.__dataclass_fields__)
        return (cls, names, tuple([_apart(getattr(tree, n), leaves) for n in names]))
    if hasattr(cls, "__dlpack__") or hasattr(cls, "__array__"):
        leaves.append(_core.asarray(tree, None, None, None))  # an array of another library
        return _LEAF
    if isinstance(tree, (tuple, list, dict, collections.deque, types.MappingProxyType)):
        return _subclass_apart(cls, tree, leaves)
    if isinstance(tree, (Mapping, Sequence)) and hides_arrays(tree):
        raise _not_made(cls)
    return fixed(tree)


def _subclass_apart(cls: type, tree: Any, leaves: list[Any]) -> tuple[Any, ...]:
    """A container that is no plain list, tuple or dict: its children, then its attributes as a dict."""
    count = len(leaves)
    own: Any = None
    attributes = getattr(tree, "__dict__", None)
    if isinstance(tree, (dict, types.MappingProxyType)):
        factory = tree.default_factory if isinstance(tree, collections.defaultdict) else None
        own = (tuple(tree), factory, attributes is tree)  # of some the keys are their attributes
        children = [_apart(t, leaves) for t in tree.values()]
    else:
        own = tree.maxlen if isinstance(tree, collections.deque) else None
        children = [_apart(t, leaves) for t in tree]
    children.append(_apart(dict(attributes) if attributes and attributes is not tree else None, leaves))
    if isinstance(tree, tuple) and len(leaves) == count:
        return fixed(tree)  # also those that Python does not let be made, as time.struct_time
    if not hasattr(cls, "_fields") and _has_slots(cls):
        if len(leaves) > count:
            raise _not_made(cls)
        return fixed(tree)
    return (cls, own, tuple(children))


def _subclass_together(cls: Any, own: Any, children: list[Any]) -> Any:
    attributes = children.pop()
    if cls is types.MappingProxyType:
        return cls(dict(zip(own[0], children)))
    made: Any
    if issubclass(cls, tuple):
        made = tuple.__new__(cls, children)
    elif issubclass(cls, list):
        made = cls.__new__(cls)
        list.extend(made, children)
    elif issubclass(cls, collections.deque):
        made = cls.__new__(cls)
        collections.deque.__init__(made, children, own)
    else:
        made = cls.__new__(cls)
        keys, factory, is_own_attributes = own
        if issubclass(cls, collections.defaultdict):
            collections.defaultdict.__init__(made, factory)
        put = collections.OrderedDict.__setitem__ if issubclass(cls, collections.OrderedDict) else dict.__setitem__
        for key, value in zip(keys, children):
            put(made, key, value)
        if is_own_attributes:
            made.__dict__ = made
    if attributes:
        made.__dict__.update(attributes)
    return made


def _together(form: tuple[Any, ...], leaves: Iterator[Any]) -> Any:
    if form is _LEAF or form == _LEAF:
        return next(leaves)
    cls = form[0]
    if cls == "fixed":
        return form[2].value
    children = [_together(f, leaves) for f in form[2]]
    if cls is list:
        return children
    if cls is tuple:
        return tuple(children)
    if cls is dict:
        return dict(zip(form[1], children))
    if cls in _registered:
        return _registered[cls][1](form[1].value, children)
    if hasattr(cls, "__dataclass_fields__"):
        made = object.__new__(cls)
        for name, value in zip(form[1], children):
            object.__setattr__(made, name, value)  # a frozen one, too
        return made
    return _subclass_together(cls, form[1], children)


_CODE = (types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


def hides_arrays(thing: Any, depth: int = 3) -> bool:
    """Whether an object that is no tree has arrays in its attributes or elements."""
    if type(thing) is Array:
        return True
    if depth < 0 or isinstance(thing, (*_PLAIN, float, complex, bytearray, memoryview, range, type, *_CODE)):
        return False
    inside: list[Any] = list(getattr(thing, "__dict__", {}).values())
    for cls in type(thing).__mro__:
        names = vars(cls).get("__slots__", ())
        inside += [getattr(thing, n) for n in ((names,) if isinstance(names, str) else names) if hasattr(thing, n)]
    if isinstance(thing, Mapping):
        inside += list(thing.values())
    elif isinstance(thing, (Sequence, collections.deque)):
        inside += list(thing)
    return any(hides_arrays(x, depth - 1) for x in inside)


def require_no_hidden_arrays(function: str, form: tuple[Any, ...]) -> None:
    """Objects that are no trees have no derivatives, and so no arrays."""
    if form == _LEAF:
        return
    if form[0] == "fixed":
        if hides_arrays(form[2].value):
            name = form[1].__name__
            raise TypeError(
                f"{function}: an object of the class {name}, which is no tree, has arrays inside: make {name} a "
                f"dataclass, or register_tree({name}, …) says how it is taken apart"
            )
        return
    for child in form[2]:
        require_no_hidden_arrays(function, child)


# ---- Trees of one form


def _count(form: tuple[Any, ...]) -> int:
    if form == _LEAF:
        return 1
    return 0 if form[0] == "fixed" else sum(_count(f) for f in form[2])


def _keys(form: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The keys of a mapping, without its attributes."""
    cls = form[0]
    if cls is dict:
        keys: tuple[Any, ...] = form[1]
        return keys
    if isinstance(cls, type) and issubclass(cls, (dict, types.MappingProxyType)) and cls not in _registered:
        return form[1][0] if isinstance(form[1], tuple) and not hasattr(cls, "__dataclass_fields__") else None
    return None


def _is_row(form: tuple[Any, ...]) -> bool:
    return form[0] is list or form[0] is tuple


def _told(form: tuple[Any, ...]) -> str:
    if form == _LEAF:
        return "an array"
    if form[0] == "fixed":
        return f"{form[2].value!r}, which is no array"
    return f"a {form[0].__name__}"


def matched(what: str, form: Any, given: Any, leaves: list[Any], error: type = ValueError, exact: bool = False) -> list[Any]:
    """The arrays of a tree of the form `given` in the order of another form, in which mappings have the same keys.
    Throws `error`, which says where the trees differ; exact: also where constants and classes do."""
    if form == given:
        return leaves
    made: list[Any] = []

    def walk(form: Any, given: Any, at: int, path: str) -> None:
        def refuse(text: str) -> None:
            raise error(f"{what}: {'at ' + path + ' ' if path else ''}{text}")

        if form == _LEAF and given == _LEAF:
            made.append(leaves[at])
            return
        if form == _LEAF or given == _LEAF or form[0] == "fixed" or given[0] == "fixed":
            if form[0] == given[0] == "fixed" and (not exact or form == given):
                return
            hint = ""
            if exact and form[0] == given[0] == "fixed":
                hint = "; what changes has to be an array"
            refuse(f"is {_told(given)}, expected {_told(form)}{hint}")
        keys, own = _keys(form), _keys(given)
        starts = [at]
        for child in given[2]:
            starts.append(starts[-1] + _count(child))
        if keys is not None and own is not None and (not exact or form[0] is given[0]):
            places = {key: i for i, key in enumerate(own)}
            for key in keys:
                if key not in places:
                    refuse(f"the key {key!r} is missing; there are {', '.join(map(repr, own)) or 'none'}")
            for key in [k for k in own if k not in set(keys)]:
                refuse(f"there is a key {key!r} that is not expected; expected are {', '.join(map(repr, keys)) or 'none'}")
            for key, child in zip(keys, form[2]):
                i = places[key]
                walk(child, given[2][i], starts[i], f"{path}[{key!r}]")
            if len(form[2]) > len(keys) and len(given[2]) > len(own):
                walk(form[2][-1], given[2][-1], starts[-2], path)  # attributes
            return
        if form[0] is not given[0] and not (not exact and _is_row(form) and _is_row(given)):
            refuse(f"is {_told(given)}, expected {_told(form)}")
        if len(form[2]) != len(given[2]):
            refuse(f"has {len(given[2])} elements, expected {len(form[2])}")
        if form[1] != given[1] and (exact or form[0] not in _registered):
            refuse(f"is a {given[0].__name__} that differs in what is fixed: {given[1]!r}, expected {form[1]!r}")
        names = form[1] if hasattr(form[0], "__dataclass_fields__") and form[0] not in _registered else getattr(form[0], "_fields", None)
        for i, (child, its) in enumerate(zip(form[2], given[2])):
            walk(child, its, starts[i], f"{path}.{names[i]}" if names and i < len(names) else f"{path}[{i}]")

    walk(form, given, 0, "")
    return made


def tree_flatten(tree: Any) -> tuple[list[Any], Any]:
    """The arrays of a tree in order, and its form.

    >>> import weft as wf
    >>> leaves, form = wf.tree_flatten((wf.asarray(1), [wf.asarray(2)]))
    >>> wf.tree_unflatten(form, [x * 10 for x in leaves])
    (Array(10, dtype=int32), [Array(20, dtype=int32)])
    """
    leaves: list[Any] = []
    return leaves, _apart(tree, leaves)


def tree_unflatten(form: Any, leaves: Iterable[Any]) -> Any:
    """The tree of that form with these arrays."""
    rest = iter(leaves)
    tree = _together(form, rest)
    if next(rest, rest) is not rest:
        raise ValueError("tree_unflatten: there are more arrays than the form has places")
    return tree


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The tree with function(array, those at the same places of the other trees…) in place of each array. Dicts are
    matched by their keys.

    >>> import weft as wf
    >>> wf.tree_map(lambda x, y: x + y, {"a": wf.asarray(1)}, {"a": wf.asarray(2)})
    {'a': Array(3, dtype=int32)}
    """
    leaves, form = tree_flatten(tree)
    further = []
    for i, other in enumerate(others):
        own, own_form = tree_flatten(other)
        further.append(matched(f"tree_map: tree {i + 2}", form, own_form, own))
    return tree_unflatten(form, [function(*t) for t in zip(leaves, *further)])


def tree_leaves(tree: Any) -> list[Any]:
    """The arrays of a tree in order.

    >>> import weft as wf
    >>> wf.tree_leaves({"a": wf.asarray(1), "b": [wf.asarray(2), "text"]})
    [Array(1, dtype=int32), Array(2, dtype=int32)]
    """
    return tree_flatten(tree)[0]
