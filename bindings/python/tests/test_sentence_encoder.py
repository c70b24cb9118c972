"""weft.SentenceEncoder, with the model of `./dev model` where that is on this machine."""

import json
import os
import pathlib
import pickle
import threading

import numpy as np
import pytest

import weft as wf

DATA = pathlib.Path(__file__).resolve().parents[3] / "tests" / "data"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weft"
MODEL = pathlib.Path(os.environ.get("WEFT_MODEL_DIR") or CACHE / "models" / "all-MiniLM-L6-v2")


@pytest.fixture
def encoder():
    if not (MODEL / "model.safetensors").exists():
        pytest.skip("the model is not there; `./dev model` fetches it")
    return wf.SentenceEncoder(MODEL)


def sentences():
    lines = (DATA / "sentences.jsonl").read_text().splitlines()[:40]
    return [line if isinstance(line, str) else line["text"] for line in map(json.loads, lines)]


def test_embeddings_are_sentence_transformers(encoder):
    want = np.load(DATA / "sentence_embeddings.npy")[:40]
    made = encoder.encode(sentences())
    assert made.shape == (40, encoder.dimension) == want.shape and made.dtype == wf.float32
    np.testing.assert_allclose(made, want, atol=2e-5)
    np.testing.assert_allclose(encoder.encode(sentences()[3]), want[3], atol=2e-5)
    assert encoder.encode([]).shape == (0, encoder.dimension)
    with pytest.raises(TypeError, match="a sentence is 3, expected a string"):
        encoder.encode(["A sentence.", 3])


def test_batches_of_other_sizes_give_the_same(encoder):
    given = sentences()[:10]
    want = encoder.transform(given)
    np.testing.assert_allclose(wf.SentenceEncoder(MODEL, batch_size=3).transform(given), want, atol=1e-5)


def test_parameters_as_scikit_learn_asks(encoder):
    assert encoder.get_params() == {"path": MODEL, "device": None, "batch_size": 32, "prompt": None}
    assert encoder.set_params(batch_size=8, device="cpu") is encoder
    assert encoder.batch_size == 8 and encoder.transform(["A sentence."]).shape == (1, encoder.dimension)
    with pytest.raises(ValueError, match="no parameter 'size'; its parameters are path, device, batch_size, prompt"):
        encoder.set_params(size=1)
    assert encoder.fit(["A sentence."]) is encoder
    assert repr(encoder) == f"SentenceEncoder({str(MODEL)!r})"
    again = pickle.loads(pickle.dumps(encoder))
    assert again.get_params() == encoder.get_params()
    assert len(encoder.get_feature_names_out()) == encoder.dimension


def test_a_step_of_a_pipeline(encoder):
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    about_food = ["The soup needs more salt.", "Fresh basil belongs on the pizza.", "Boil the pasta.", "Bake the bread."]
    about_code = ["The compiler found an error.", "Merge the branch.", "The test fails.", "Sort the array in place."]
    texts, labels = about_food + about_code, [0] * 4 + [1] * 4
    pipeline = make_pipeline(encoder, LogisticRegression()).fit(texts, labels)
    assert pipeline.predict(["Grate some cheese over it.", "Rename the variable."]).tolist() == [0, 1]
    assert clone(pipeline).get_params()["sentenceencoder__path"] == MODEL
    search = GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1]}, cv=2).fit(texts, labels)
    assert search.best_score_ > 0.7


def test_any_number_of_threads(encoder):
    made = [None] * 4

    def work(i):
        made[i] = encoder.transform(sentences()[:6])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(m, made[0]) for m in made)


def test_a_folder_that_is_not_there():
    with pytest.raises(OSError):
        wf.SentenceEncoder("there-is-no-such-folder").encode("A sentence.")
