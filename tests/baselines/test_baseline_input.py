"""Too small data are rejected with clear messages, not by errors of the wrapped libraries."""

from importlib.util import find_spec

import numpy as np
import pytest

from mvlvm import baselines

WIDE = {"a": (5, 20), "b": (5, 20)}
LONG = {"a": (30, 3), "b": (30, 3)}
COMPONENTS = [
    ("PCA", LONG, 6), ("PCA", WIDE, 4), ("MOFA", LONG, 6), ("MOFA", WIDE, 4), ("BGPLVM", LONG, 6), ("MRD", WIDE, 4),
    ("MCCA", LONG, 3), ("MCCA", WIDE, 4), ("t-SNE", LONG, 6), ("Isomap", WIDE, 4),
    pytest.param("UMAP", WIDE, 3, marks=pytest.mark.xdist_group("umap")),
]  # fmt: skip
QUICK = {
    "MOFA": {"max_iter": 3}, "BGPLVM": {"max_iter": 2, "n_inducing": 4}, "MRD": {"max_iter": 2, "n_inducing": 4},
    "t-SNE": {"perplexity": 4.0, "max_iter": 250}, "UMAP": {"max_iter": 5, "n_neighbors": 4},
    "Isomap": {"n_neighbors": 4},
}  # fmt: skip
# a few iterations suffice here
pytestmark = pytest.mark.filterwarnings("ignore::mvlvm.ConvergenceWarning")


def draw(shapes):
    draws = np.random.default_rng(0)
    return {name: draws.normal(size=shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(("name", "shapes", "most"), COMPONENTS)
def test_maximum_number_of_components_is_accepted_and_more_are_rejected(name, shapes, most):
    package = next(entry.package for entry in baselines.list() if entry.name == name)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    views, parameters = draw(shapes), QUICK.get(name, {})
    X = baselines.get(name)(n_components=most, random_state=0, **parameters).fit_transform(views)
    assert X.shape == (len(views["a"]), most)
    with pytest.raises(ValueError, match=f"at most {most} components.*Got n_components={most + 1}.*or VAE or MVAE"):
        baselines.get(name)(n_components=most + 1, random_state=0, **parameters).fit(views)


@pytest.mark.parametrize(("name", "message"), [
    ("Isomap", "n_neighbors must be below the number of rows. Got n_neighbors=5 for 5 rows"),
    ("t-SNE", "perplexity must be below the number of rows. Got perplexity=30 for 5 rows"),
])  # fmt: skip
def test_neighbourhood_not_smaller_than_number_of_rows_is_rejected(name, message):
    with pytest.raises(ValueError, match=message):
        baselines.get(name)(n_components=2).fit(draw(WIDE))


@pytest.mark.parametrize("name", ["GPLVM-SVI", "MV-GPLVM", "RFLVM"])
def test_pca_initialisation_does_not_advise_another_init(name):
    with pytest.raises(ValueError, match=r"n_components=9 is too large.*Use n_components <= 6\.$"):
        baselines.get(name)(n_components=9).fit(draw(LONG))
