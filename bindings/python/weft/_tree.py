"""Trees: arrays in lists, tuples, dicts, dataclasses, named tuples and registered classes.

A tree is taken apart into its arrays, in order, and its form: a nested tuple that can be compared and hashed as far as
what is no array in it can. Numbers, strings, None and whatever else are part of the form.
"""

from __future__ import annotations

import atexit
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


def _apart(tree: Any, leaves: list[Any]) -> tuple[Any, ...]:
    cls = type(tree)
    if cls is Array:
        leaves.append(tree)
        return _LEAF
    if cls is list or cls is tuple:
        return (cls, None, tuple([_apart(t, leaves) for t in tree]))
    if cls is dict:
        return (cls, tuple(tree), tuple([_apart(t, leaves) for t in tree.values()]))
    if cls in _registered:
        children, fixed = _registered[cls][0](tree)
        return (cls, fixed, tuple([_apart(t, leaves) for t in children]))
    if isinstance(tree, tuple) and hasattr(cls, "_fields"):
        return (cls, None, tuple([_apart(t, leaves) for t in tree]))
    if hasattr(cls, "__dataclass_fields__"):
        names = tuple(tree.__dataclass_fields__)
        return (cls, names, tuple([_apart(getattr(tree, n), leaves) for n in names]))
    if hasattr(tree, "__dlpack__") or (hasattr(tree, "__array__") and not isinstance(tree, type)):
        leaves.append(_core.asarray(tree, None, None, None))  # an array of another library
        return _LEAF
    return ("fixed", cls, tree)


def _together(form: tuple[Any, ...], leaves: Iterator[Any]) -> Any:
    if form is _LEAF or form == _LEAF:
        return next(leaves)
    cls = form[0]
    if cls == "fixed":
        return form[2]
    children = [_together(f, leaves) for f in form[2]]
    if cls is list:
        return children
    if cls is tuple:
        return tuple(children)
    if cls is dict:
        return dict(zip(form[1], children))
    if cls in _registered:
        return _registered[cls][1](form[1], children)
    if issubclass(cls, tuple):
        return cls(*children)
    made = object.__new__(cls)
    for name, value in zip(form[1], children):
        object.__setattr__(made, name, value)  # a frozen one, too
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
    """The tree with function(array, those at the same places of the other trees…) in place of each array.

    >>> import weft as wf
    >>> wf.tree_map(lambda x, y: x + y, {"a": wf.asarray(1)}, {"a": wf.asarray(2)})
    {'a': Array(3, dtype=int32)}
    """
    leaves, form = tree_flatten(tree)
    further = [tree_flatten(o)[0] for o in others]
    for own in further:
        if len(own) != len(leaves):
            raise ValueError(f"tree_map: trees of {len(leaves)} and of {len(own)} arrays")
    return tree_unflatten(form, [function(*t) for t in zip(leaves, *further)])


def tree_leaves(tree: Any) -> list[Any]:
    """The arrays of a tree in order.

    >>> import weft as wf
    >>> wf.tree_leaves({"a": wf.asarray(1), "b": [wf.asarray(2), "text"]})
    [Array(1, dtype=int32), Array(2, dtype=int32)]
    """
    return tree_flatten(tree)[0]
