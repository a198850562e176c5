"""All methods by name, as they are on PyPI, each at the settings of its own examples."""

from mvlvm.benchmarks import own, peers_gp, peers_linear, peers_neighbours
from mvlvm.benchmarks.fitted import Method

OURS, PLAIN, PROCESS, FACTORS, OTHER = "ours", "plain", "Gaussian process", "factor analysis", "other"

METHODS = {
    "ours": Method(
        family=OURS, package="torch", setting="the defaults of NGMVLVM", fit=own.fit_ours, predict=own.predict_ours
    ),
    "naive": Method(
        family=PLAIN, package="torch", setting="1,000 steps of Adam at 0.01, float64, autograd", fit=own.fit_naive
    ),
    "GPy MRD": Method(
        family=PROCESS, package="GPy", setting="25 inducing points, L-BFGS-B, 1,000 iterations",
        fit=peers_gp.fit_mrd, predict=peers_gp.predict_mrd, fewest_views=2,
    ),
    "GPy BayesianGPLVM": Method(
        family=PROCESS, package="GPy", setting="25 inducing points, L-BFGS-B, 1,000 iterations",
        fit=peers_gp.fit_bayesian_gplvm,
    ),
    "GPyTorch BayesianGPLVM": Method(
        family=PROCESS, package="gpytorch", fit=peers_gp.fit_gpytorch,
        setting="25 inducing points a column, batches of 100 rows, 10,000 steps of Adam at 0.01",
    ),
    "mofapy2": Method(
        family=FACTORS, package="mofapy2", setting="convergence mode fast, at most 1,000 iterations",
        fit=peers_linear.fit_mofa, predict=peers_linear.predict_mofa,
    ),
    "cca-zoo GFA": Method(
        family=FACTORS, package="cca_zoo", setting="its defaults",
        fit=peers_linear.fit_gfa, predict=peers_linear.predict_gfa, fewest_views=2,
    ),
    "umap-learn": Method(
        family=OTHER, package="umap", setting="its defaults", fit=peers_neighbours.fit_umap
    ),
    "t-SNE": Method(
        family=OTHER, package="sklearn", setting="its defaults", fit=peers_neighbours.fit_tsne
    ),
    "Isomap": Method(
        family=OTHER, package="sklearn", setting="its defaults", fit=peers_neighbours.fit_isomap
    ),
    "PCA": Method(family=OTHER, package="sklearn", setting="its defaults", fit=peers_linear.fit_pca),
}  # fmt: skip
