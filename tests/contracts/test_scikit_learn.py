import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mvlvm import MVARFLVM, NGMVLVM

ESTIMATORS = (NGMVLVM, MVARFLVM)
# the checks fit several hundred times and test the format of results, not their quality
SMALL = {"n_points": 10, "max_iter": 200}
POSTERIOR_OF_NEW_ROWS = (
    "fit_transform returns latents learned jointly with all parameters; transform returns the posterior of each row "
    "given the trained parameters"
)
PREDICTS_A_VIEW = "predict returns a view, not one value per row"
RANDOM_DRAWS = "latents of repeated rows are drawn independently; only the bound at given latents is equal"
MATCHED_BY_NAME = "columns in another order are matched by name; scikit-learn expects an error"
EXPECTED_FAILURES = {
    "check_dataframe_column_names_consistency": MATCHED_BY_NAME,  # its other parts: tests/views/test_column_names.py
    "check_sample_weight_equivalence_on_dense_data": RANDOM_DRAWS,
    "check_sample_weight_equivalence_on_sparse_data": RANDOM_DRAWS,
    "check_transformer_general": POSTERIOR_OF_NEW_ROWS,
    "check_transformer_data_not_an_array": POSTERIOR_OF_NEW_ROWS,
    "check_estimator_sparse_matrix": PREDICTS_A_VIEW,
    "check_estimator_sparse_array": PREDICTS_A_VIEW,
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(100, 2)) @ rng.normal(size=(2, 12)) + 0.1 * rng.normal(size=(100, 12))


# some data sets of the checks have constant columns, and training on pure noise does not converge
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning")
@pytest.mark.usefixtures("no_type_checks")
@parametrize_with_checks(
    [NGMVLVM(**SMALL), MVARFLVM(**SMALL)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clone_copies_parameters_but_no_fitted_attributes(estimator, rows):
    fitted = estimator(n_components=3, n_mixtures=1, max_iter=3, tol=0.0).fit(rows)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert "embedding_" not in vars(copy)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pipelines_return_the_embedding(estimator, rows):
    embedding = make_pipeline(StandardScaler(), estimator(max_iter=5, tol=0.0, random_state=0)).fit_transform(rows)
    without_pipeline = estimator(max_iter=5, tol=0.0, random_state=0).fit_transform(
        StandardScaler().fit_transform(rows)
    )
    np.testing.assert_array_equal(embedding, without_pipeline)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_grid_search_selects_the_dimension_of_the_data(estimator, rows):
    search = GridSearchCV(
        estimator(max_iter=300, tol=0.0, n_points=20, random_state=0),
        {"n_components": [1, 2]},
        cv=2,
    )
    search.fit(rows)
    assert search.best_params_ == {"n_components": 2}
