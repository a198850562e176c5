import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mvlvm import MVARFLVM, NGMVLVM

ESTIMATORS = (NGMVLVM, MVARFLVM)
# the checks fit some hundred times, and ask for the form of results, not for their quality
SMALL = {"n_points": 10, "max_iter": 200}
ONE_BY_ONE = (
    "fit_transform gives the places that training found for all rows together with everything else; transform places a "
    "row by itself, with everything else as it is"
)
A_VIEW = "predict gives a view, not one value per row"
DRAWN = "copies of a row have latents of their own, drawn each for itself; a bound at given latents is the same"
NOT_MEANT_FOR_US = {
    "check_sample_weight_equivalence_on_dense_data": DRAWN,
    "check_sample_weight_equivalence_on_sparse_data": DRAWN,
    "check_transformer_general": ONE_BY_ONE,
    "check_transformer_data_not_an_array": ONE_BY_ONE,
    "check_estimator_sparse_matrix": A_VIEW,
    "check_estimator_sparse_array": A_VIEW,
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(100, 2)) @ rng.normal(size=(2, 12)) + 0.1 * rng.normal(size=(100, 12))


# some of the checks' data have constant columns, and noise for data never stops rising
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning")
@pytest.mark.usefixtures("no_type_checks")
@parametrize_with_checks(
    [NGMVLVM(**SMALL), MVARFLVM(**SMALL)], expected_failed_checks=lambda estimator: NOT_MEANT_FOR_US
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clone_copies_parameters_and_nothing_fitted(estimator, rows):
    fitted = estimator(n_components=3, n_mixtures=1, max_iter=3, tol=0.0).fit(rows)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert "embedding_" not in vars(copy)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_pipeline_ends_in_an_embedding(estimator, rows):
    embedding = make_pipeline(StandardScaler(), estimator(max_iter=5, tol=0.0, random_state=0)).fit_transform(rows)
    alone = estimator(max_iter=5, tol=0.0, random_state=0).fit_transform(StandardScaler().fit_transform(rows))
    np.testing.assert_array_equal(embedding, alone)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_grid_search_over_components_finds_the_size_of_the_data(estimator, rows):
    search = GridSearchCV(
        estimator(max_iter=300, tol=0.0, n_points=20, random_state=0),
        {"n_components": [1, 2]},
        cv=2,
    )
    search.fit(rows)
    assert search.best_params_ == {"n_components": 2}
