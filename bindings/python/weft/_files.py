"""Arrays and graphs in files, and models."""

from __future__ import annotations

import os
import threading
from typing import Any, Iterable

from . import _core
from ._core import Array
from ._array_api import asarray


def save(path: str | os.PathLike[str], arrays: Any, *, metadata: dict[str, str] | None = None) -> None:
    """Writes an array, or a dict of them, to a file whose extension says the format: .npy, .npz or .safetensors, which
    alone has metadata. The file is complete or not there.

    >>> import weft as wf
    >>> wf.save("two.npz", {"x": wf.arange(3), "y": wf.ones(2)})
    >>> wf.load("two.npz")["x"]
    Array([0, 1, 2], dtype=int32)
    """
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"save: metadata has {key!r}: {value!r}, expected strings")
    if isinstance(arrays, dict):
        for key in arrays:
            if not isinstance(key, str):
                raise TypeError(f"save: the name of an array is {key!r}, expected a string")
        _core.save_all(os.fspath(path), {k: asarray(v) for k, v in arrays.items()}, metadata or {})
    elif metadata:
        _core.save_all(os.fspath(path), {"tensor": asarray(arrays)}, metadata)
    else:
        _core.save(os.fspath(path), asarray(arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """What a file has: of .npy an array; of .npz and .safetensors a dict of them by name."""
    text = os.fspath(path)
    return _core.load(text) if text.lower().endswith(".npy") else _core.load_all(text)


def load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The metadata of a .safetensors file.

    >>> import weft as wf
    >>> wf.save("x.safetensors", {"x": wf.ones(2)}, metadata={"step": "7"})
    >>> wf.load_metadata("x.safetensors")
    {'step': '7'}
    """
    return _core.load_metadata(os.fspath(path))


class GraphFunction:
    """A graph of a file as a function of arrays, by their places or the names of its inputs. Arrays have the shapes that
    it was recorded with; with_shapes() gives it for others."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.inputs, self.numbers, self.outputs = _core.graph_ports(graph)
        self._executables: dict[Any, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        names = self.inputs + self.numbers
        if len(args) > len(names):
            raise TypeError(f"the graph takes {len(names)} inputs, got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in given or name not in names:
                raise TypeError(f"the graph has no input {name!r} that is free; its inputs are {names}")
            given[name] = value
        missing = [n for n in names if n not in given]
        if missing:
            raise TypeError(f"the graph needs the inputs {missing}")
        device = _core.default_device()
        if device not in self._executables:
            self._executables[device] = _core.compile_graph(self.graph, device)
        made = self._executables[device](
            self.graph, [asarray(given[n]) for n in self.inputs], [given[n] for n in self.numbers]
        )
        return made[0] if len(made) == 1 else dict(zip(self.outputs, made))

    def with_shapes(self, shapes: dict[str, Iterable[int]]) -> GraphFunction:
        """The same graph for inputs of these shapes.

        Sizes must be no part of it: reshape() with a -1, unflatten(), flatten_axes(), expand_dims() and x[1:] are rules,
        reshape() to numbers alone is none, and a ValueError then says where. Some functions keep the sizes that they were
        recorded with and fit others all the same: fft() transforms as many elements as before, and quantile(), median(),
        cov(), gradient(), trapezoid(), updates of parts of arrays and derivatives of sums are for the old sizes.

        >>> import weft as wf
        >>> wf.compile(lambda x: x * 2).save("f.safetensors", wf.ones(3))
        >>> f = wf.load_graph("f.safetensors")
        >>> f.with_shapes({f.inputs[0]: (2,)})(wf.ones(2))
        Array([2., 2.], dtype=float32)
        """
        return GraphFunction(_core.graph_with_shapes(self.graph, {n: tuple(s) for n, s in shapes.items()}))

    def __str__(self) -> str:
        return str(self.graph)


def load_graph(path: str | os.PathLike[str]) -> GraphFunction:
    """The function whose graph is in the file: what save() of a compiled function wrote, or `weft graph`.

    >>> import weft as wf
    >>> f = wf.compile(lambda x: x * 2)
    >>> f.save("f.safetensors", wf.ones(3))
    >>> wf.load_graph("f.safetensors")(wf.asarray([1.0, 2.0, 3.0]))
    Array([2., 4., 6.], dtype=float32)
    """
    return GraphFunction(_core.load_graph(os.fspath(path)))


class SentenceEncoder:
    """Embeddings of sentences by a model of sentence-transformers (BERT and its kin) in a folder.

    encode() gives an array; fit(), transform(), get_params() and set_params() are scikit-learn's, so that it is a step
    of pipelines, which transform() gives NumPy's arrays.

    Parameters
    ----------
    path: the model's folder, as Hugging Face's hub has it: config.json, model.safetensors, tokenizer.json, …
    device: where it computes; by default the default device when it is first used.
    batch_size: sentences that run together, at most: long ones are fewer.
    prompt: the name of the prompt, of those that the model's files have, that is put before each sentence. None: the
        model's default; "none": none.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        device: Any = None,
        *,
        batch_size: int = 32,
        prompt: str | None = None,
    ) -> None:
        self.path = path
        self.device = device
        self.batch_size = batch_size
        self.prompt = prompt
        self._encoder: Any = None
        self._lock = threading.Lock()

    def _loaded(self) -> Any:
        if self._encoder is None:
            device = self.device
            if device is None:
                device = _core.default_device()
            elif isinstance(device, str):
                device = _core.open_device(device)
            self._encoder = _core.load_encoder(os.fspath(self.path), device, self.batch_size, self.prompt)
        return self._encoder

    @property
    def dimension(self) -> int:
        """Of an embedding."""
        with self._lock:
            return self._loaded().dimension

    def encode(self, sentences: str | Iterable[str]) -> Array:
        """The embeddings [sentences, dimension], float32; of one sentence [dimension]. Does not wait for them."""
        single = isinstance(sentences, str)
        with self._lock:
            made = self._loaded().embed([sentences] if single else list(sentences))
        return made[0] if single else made

    def fit(self, sentences: Any = None, y: Any = None) -> SentenceEncoder:
        """Nothing: the model is trained."""
        return self

    def transform(self, sentences: Iterable[str]) -> Any:
        """The embeddings as NumPy's array."""
        return self.encode(list(sentences)).numpy(copy=True)

    def fit_transform(self, sentences: Iterable[str], y: Any = None) -> Any:
        """transform()."""
        return self.transform(sentences)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the dimensions, as scikit-learn asks."""
        import numpy

        return numpy.array([f"sentenceencoder{i}" for i in range(self.dimension)], dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What it was made with, as scikit-learn asks."""
        return {name: getattr(self, name) for name in _ENCODER_PARAMETERS}

    def set_params(self, **params: Any) -> SentenceEncoder:
        """Sets what it was made with, as scikit-learn does."""
        for name, value in params.items():
            if name not in _ENCODER_PARAMETERS:
                raise ValueError(
                    f"SentenceEncoder has no parameter {name!r}; its parameters are {', '.join(_ENCODER_PARAMETERS)}"
                )
            setattr(self, name, value)
        if params:
            self._encoder = None
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, two_d_array=False),
            requires_fit=False,
        )

    def __repr__(self) -> str:
        return f"SentenceEncoder({os.fspath(self.path)!r})"

    def __getstate__(self) -> dict[str, Any]:
        device = None if self.device is None else str(self.device)
        return {**self.get_params(), "device": device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


_ENCODER_PARAMETERS = ("path", "device", "batch_size", "prompt")
