"""Libraries that take arrays of any kind: scikit-learn, SciPy, einops, opt_einsum, array-api-extra, array-api-compat."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported

import numpy as np
import pytest

import weft as wf

on_gpu = wf.device().is_gpu


def require(name, reason=None):
    return pytest.importorskip(name, reason=reason or f"{name} is not installed")


def numpy(x):
    return np.asarray(x) if isinstance(x, wf.Array) else x


def close(got, wanted, tolerance=1e-4):
    np.testing.assert_allclose(numpy(got), numpy(wanted), rtol=tolerance, atol=tolerance)


# ---- scikit-learn


@pytest.fixture(scope="module")
def dispatch():
    sklearn = require("sklearn", "scikit-learn is not installed (Debian: python3-sklearn)")
    try:
        sklearn.set_config(array_api_dispatch=True)
    except (ImportError, RuntimeError) as e:
        pytest.skip(f"scikit-learn cannot dispatch: {e}")
    yield
    sklearn.set_config(array_api_dispatch=False)


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 5)).astype("float32")
    classes = (x[:, 0] + 0.3 * random.normal(size=60) > 0).astype("int32")
    target = (x @ np.arange(5) + 1 + 0.1 * random.normal(size=60)).astype("float32")
    return x, classes, target


def compare(run, tolerance=1e-3, signs=False):
    """run(x, classes, target, module) of Weft's arrays gives one of its own that has NumPy's values; with `signs`
    columns may have another one."""
    given = data()
    got = run(*map(wf.asarray, given), wf)
    wanted = run(*given, np)
    for own, its in zip(got, wanted, strict=True) if isinstance(got, tuple) else [(got, wanted)]:
        if np.ndim(its) > 0:
            assert type(own) is wf.Array
        if signs:
            own, its = abs(numpy(own)), abs(its)
        close(own, its, tolerance)


PREPROCESSING = ["StandardScaler()", "MinMaxScaler()", "MaxAbsScaler()", "Normalizer()", "Normalizer(norm='l1')",
                 "Binarizer()", "PolynomialFeatures(2)"]  # fmt: skip


@pytest.mark.parametrize("text", PREPROCESSING)
def test_preprocessing(dispatch, text):
    from sklearn import preprocessing

    compare(lambda x, classes, target, m: eval(text, vars(preprocessing)).fit_transform(x))


# The same solver with NumPy's arrays: "auto" may choose another one for them.
@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "randomized"])
def test_principal_components(dispatch, solver):
    from sklearn.decomposition import PCA

    def run(x, classes, target, m, whiten=False):
        pca = PCA(2, svd_solver=solver, power_iteration_normalizer="QR", random_state=0, whiten=whiten)
        return pca.fit(x).transform(x), pca.explained_variance_ratio_, pca.components_

    compare(run, signs=True)

    def back(x, classes, target, m):
        pca = PCA(3, svd_solver=solver, power_iteration_normalizer="QR", random_state=0, whiten=True).fit(x)
        return pca.inverse_transform(pca.transform(x))

    compare(back)


def test_linear_models(dispatch):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge, RidgeClassifier

    def ridge(x, classes, target, m):
        model = Ridge(alpha=0.5, solver="svd").fit(x, target)
        return model.predict(x), model.coef_

    def discriminant(x, classes, target, m):
        model = LinearDiscriminantAnalysis().fit(x, classes)
        return model.predict(x), model.predict_proba(x), model.decision_function(x)

    compare(ridge)
    compare(lambda x, classes, target, m: RidgeClassifier(solver="svd").fit(x, classes).predict(x))
    compare(discriminant)


def test_pipelines(dispatch):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def steps(x, classes, target, m):
        return make_pipeline(StandardScaler(), PCA(2, svd_solver="full"), LinearDiscriminantAnalysis()).fit(x, classes).predict(x)

    compare(steps)
    compare(lambda x, classes, target, m: tuple(train_test_split(x, classes, random_state=0)))
    x, _, target = map(wf.asarray, data())
    search = GridSearchCV(Ridge(solver="svd"), {"alpha": [1e-3, 1e3]}, cv=3).fit(x, target)
    assert search.best_params_ == {"alpha": 1e-3}


def test_mixture_and_bayes(dispatch):
    from sklearn.mixture import GaussianMixture
    from sklearn.naive_bayes import GaussianNB

    compare(lambda x, classes, target, m: GaussianNB().fit(x, classes).predict(x))
    mixture = GaussianMixture(2, init_params="random", random_state=0).fit(wf.asarray(data()[0]))
    assert type(mixture.means_) is wf.Array and mixture.converged_ in (True, False)


OF_CLASSES = ["accuracy_score", "balanced_accuracy_score", "zero_one_loss", "hamming_loss", "f1_score", "precision_score",
              "recall_score", "jaccard_score", "confusion_matrix", "multilabel_confusion_matrix", "cohen_kappa_score"]
OF_SCORES = ["log_loss", "brier_score_loss", "roc_auc_score", "average_precision_score"]
OF_TARGETS = ["r2_score", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "max_error",
              "mean_absolute_percentage_error", "explained_variance_score", "mean_pinball_loss", "median_absolute_error",
              "d2_absolute_error_score", "mean_squared_log_error", "mean_tweedie_deviance"]  # fmt: skip


@pytest.mark.parametrize("name", [*OF_CLASSES, *OF_SCORES, *OF_TARGETS])
def test_metrics(dispatch, name):
    from sklearn import metrics

    function = getattr(metrics, name)

    def run(x, classes, target, m):
        if name in OF_CLASSES:
            return function(classes, m.asarray(x[:, 0] > 0.2, dtype=m.int32))
        if name in OF_SCORES:
            return function(classes, 1 / (1 + m.exp(-x[:, 0])))
        return function(abs(target), abs(target) + 0.1 * x[:, 0] ** 2)

    compare(run)


PAIRWISE = ["cosine_similarity", "cosine_distances", "euclidean_distances", "linear_kernel", "polynomial_kernel",
            "rbf_kernel", "sigmoid_kernel", "laplacian_kernel", "chi2_kernel", "additive_chi2_kernel", "manhattan_distances",
            "paired_cosine_distances", "paired_euclidean_distances", "paired_manhattan_distances"]  # fmt: skip


@pytest.mark.parametrize("name", PAIRWISE)
def test_pairwise(dispatch, name):
    from sklearn.metrics import pairwise

    function = getattr(pairwise, name)
    given = [abs(a) for a in np.split(data()[0], 2)]
    got = function(*map(wf.asarray, given))
    close(got, function(*given), 2e-3)  # of float32's differences of squares


# ---- SciPy


def test_scipy():
    require("scipy", "SciPy is not installed (Debian: python3-scipy)")
    from scipy import special, stats

    x = data()[0]
    for function in (special.expit, special.gammaln, special.entr):
        got = function(wf.asarray(abs(x)))
        close(got, function(abs(x)))
    for function in (stats.zscore, stats.skew, stats.kurtosis, stats.gmean):
        got = function(wf.asarray(abs(x)))
        assert type(got) is wf.Array
        close(got, function(abs(x)), 1e-3)


# ---- einops, opt_einsum


def test_einops():
    require("einops")
    from einops import array_api as einops

    x = np.arange(2 * 4 * 6, dtype="float32").reshape(2, 4, 6)
    w = wf.asarray(x)
    close(einops.rearrange(w, "b (h k) c -> (b h) c k", k=2), einops.rearrange(x, "b (h k) c -> (b h) c k", k=2))
    close(einops.reduce(w, "b h c -> b c", "max"), x.max(1))
    close(einops.reduce(w, "b (h k) c -> b h c", "mean", k=2), x.reshape(2, 2, 2, 6).mean(2))
    close(einops.repeat(w, "b h c -> b h (c k)", k=2), np.repeat(x, 2, axis=2))
    packed, shapes = einops.pack([w, w[:, 0, :]], "b * c")
    assert packed.shape == (2, 5, 6)
    close(einops.unpack(packed, shapes, "b * c")[1], x[:, 0])
    gradient = wf.grad(lambda w: einops.reduce(w**2, "b h c ->", "sum"))(w)
    close(gradient, 2 * x)


def test_opt_einsum():
    contract = require("opt_einsum").contract
    random = np.random.default_rng(0)
    a, b, c = (random.normal(size=s).astype("float32") for s in ((3, 4), (4, 5), (5, 3)))
    for text in ("ij,jk,kl->il", "ij,jk,ki->", "ij,jk,kl->ijl"):
        got = contract(text, *map(wf.asarray, (a, b, c)))
        assert type(got) is wf.Array
        close(got, contract(text, a, b, c))
    path = require("opt_einsum").contract_expression("ij,jk->ik", (3, 4), (4, 5))
    close(path(wf.asarray(a), wf.asarray(b)), a @ b)
    gradient = wf.grad(lambda a: contract("ij,jk,ki->", a, wf.asarray(b), wf.asarray(c)))(wf.asarray(a))
    close(gradient, (b @ c).T)


# ---- array-api-compat, array-api-extra


def test_array_api_compat():
    compat = require("array_api_compat")
    x = wf.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert compat.is_array_api_obj(x)
    assert compat.array_namespace(x, wf.ones(2)) is wf
    assert compat.array_namespace(x, 1.0, None) is wf
    assert compat.size(x) == 4
    assert compat.device(x) == x.device
    assert compat.device(compat.to_device(x, wf.device("cpu"))) == wf.device("cpu")
    assert not compat.is_lazy_array(x)
    assert not compat.is_numpy_array(x)
    with pytest.raises(TypeError):
        compat.array_namespace(x, np.ones(2))


def test_array_api_extra():
    xpx = require("array_api_extra")
    x = wf.asarray([[1.0, 2.0, 4.0], [3.0, 5.0, 0.5]])
    n = np.asarray(x)
    close(xpx.atleast_nd(wf.asarray(1.0), ndim=2), [[1.0]])
    close(xpx.cov(x), np.cov(n))
    close(xpx.create_diagonal(x[0]), np.diag(n[0]))
    close(xpx.expand_dims(x, axis=(0, 2)), n[None, :, None])
    close(xpx.kron(x, x), np.kron(n, n))
    assert int(xpx.nunique(wf.asarray([1, 2, 1]))) == 2
    close(xpx.one_hot(wf.asarray([0, 2]), 3, dtype=wf.float32), np.eye(3)[[0, 2]])
    close(xpx.pad(x, 1), np.pad(n, 1))
    close(xpx.setdiff1d(wf.asarray([1, 2, 3]), wf.asarray([2])), [1, 3])
    close(xpx.sinc(x), np.sinc(n))
    close(xpx.isclose(x, x + 1e-9), n == n)
    close(xpx.nan_to_num(wf.asarray([float("nan"), 1.0])), [0, 1])
    close(xpx.apply_where(x > 2, x, lambda v: v * 10, fill_value=-1.0), np.where(n > 2, n * 10, -1))
    close(xpx.at(x)[0, :].set(7.0, copy=True), [[7, 7, 7], n[1]])
    close(x, n)
    close(xpx.at(x, x > 2).add(1.0, copy=True), np.where(n > 2, n + 1, n))
    assert xpx.default_dtype(wf) == wf.float32
    close(xpx.partition(x, 1, axis=-1)[..., 1], np.partition(n, 1)[..., 1])
