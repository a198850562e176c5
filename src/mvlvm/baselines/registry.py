"""Registry of all methods by their names in the literature; a method is imported on first use."""

import importlib
from dataclasses import dataclass
from typing import Any

from sklearn.utils import get_tags


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A registered method.

    Attributes:
        name: name in the literature.
        path: module and class of the estimator.
        several_views: whether the method models several views; other methods use the concatenated views.
        fewest_views: the minimum number of views.
        package: import name of the optional package that the method requires, if any.
    """

    name: str
    path: str
    several_views: bool = False
    fewest_views: int = 1
    package: str | None = None

    @property
    def estimator(self) -> Any:
        """The estimator class."""
        module, name = self.path.split(":")
        return getattr(importlib.import_module(module), name)

    @property
    def class_name(self) -> str:
        """Name of the estimator class, which identifies the method in saved files."""
        return self.path.split(":")[1]

    @property
    def needs_labels(self) -> bool:
        """Whether `fit` requires class labels."""
        return get_tags(self.estimator()).target_tags.required

    @property
    def takes_gaps(self) -> bool:
        """Whether the views may have missing entries."""
        return get_tags(self.estimator()).input_tags.allow_nan

    @property
    def counts_only(self) -> bool:
        """Whether the views must hold counts."""
        return get_tags(self.estimator()).input_tags.positive_only


_MV_ARFLVM = "mvlvm.estimators.mv_arflvm:MVARFLVM"


def _one_view(name: str, path: str, package: str | None = None) -> Entry:
    return Entry(name=name, path=f"mvlvm.baselines.{path}", package=package)


def _several_views(name: str, path: str, package: str | None = None, *, fewest_views: int = 1) -> Entry:
    return Entry(
        name=name, path=f"mvlvm.baselines.{path}", several_views=True, fewest_views=fewest_views, package=package
    )


ENTRIES = (
    _one_view("PCA", "linear.projections:PCA"),
    _one_view("linear discriminant analysis", "linear.projections:LinearDiscriminant"),
    _one_view("latent Dirichlet allocation", "linear.count_factorization:LatentDirichlet"),
    _one_view("Isomap", "manifold.isomap:Isomap"),
    _one_view("t-SNE", "manifold.neighbour_embedding:TSNE"),
    _one_view("UMAP", "manifold.neighbour_embedding:UMAP", "umap"),
    _one_view("HPF", "linear.count_factorization:HPF", "hpfrec"),
    _one_view("BGPLVM", "gp.gpy_models:BGPLVM", "GPy"),
    _one_view("GPyTorch GPLVM", "gp.gpytorch_gplvm:GPyTorchGPLVM", "gpytorch"),
    _one_view("GPLVM-SVI", "gp.svi_gplvm:GPLVMSVI"),
    _one_view("DGPLVM", "gp.svi_gplvm:DGPLVM"),
    _one_view("VAE", "autoencoders.vae:VAE"),
    _one_view("NBVAE", "autoencoders.count_autoencoders:NBVAE"),
    _one_view("DCA", "autoencoders.count_autoencoders:DCA"),
    _one_view("CVQ-VAE", "autoencoders.cvqvae:CVQVAE"),
    _one_view("RFLVM", "rflvm.random_feature_lvm:RFLVM"),
    Entry(name="ARFLVM", path=_MV_ARFLVM),
    _several_views("MV-GPLVM", "gp.exact_gplvm:MVGPLVM"),
    _several_views("MV-NGPLVM", "gp.exact_gplvm:MVNGPLVM"),
    _several_views("MV-GPLVM-SVI", "gp.svi_gplvm:MVGPLVMSVI"),
    _several_views("MV-DGPLVM", "gp.svi_gplvm:MVDGPLVM"),
    _several_views("MV-RFLVM", "rflvm.random_feature_lvm:MVRFLVM"),
    Entry(name="MV-ARFLVM", path=_MV_ARFLVM, several_views=True),
    _several_views("MVAE", "autoencoders.vae:MVAE"),
    _several_views("MMVAE", "autoencoders.vae:MMVAE"),
    _several_views("MOFA", "linear.factor_analysis:MOFA", "mofapy2"),
    _several_views("GFA", "linear.factor_analysis:GFA", "cca_zoo", fewest_views=2),
    _several_views("MCCA", "linear.projections:MCCA", "cca_zoo", fewest_views=2),
    _several_views("MRD", "gp.gpy_models:MRD", "GPy"),
)


def entries() -> list[Entry]:
    """Return the entries of all methods, single-view methods first.

    Example:
        >>> from mvlvm import baselines
        >>> baselines.list()[0].name
        'PCA'
    """
    return list(ENTRIES)


def get(name: str) -> Any:
    """Return the estimator class of a method.

    Example:
        >>> from mvlvm import baselines
        >>> baselines.get("PCA")(n_components=3)
        PCA(n_components=3)

    Raises:
        ValueError: the name is unknown.
    """
    known = {entry.name: entry for entry in ENTRIES}
    if name not in known:
        raise ValueError(f"There is no method {name!r}. The methods are: {', '.join(known)}.")
    return known[name].estimator
