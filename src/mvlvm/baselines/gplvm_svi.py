"""Sparse Gaussian process latent variable models, learned by stochastic variational inference."""

from typing import ClassVar

from mvlvm.baselines.stochastic_gplvm import AbstractJoinedGPLVM, AbstractSharedGPLVM


class GPLVMSVI(AbstractJoinedGPLVM):
    """GPLVM-SVI: one sparse Gaussian process from q(X) to all views side by side.

    The columns share a kernel, the noise and U inducing points; q(u) is uncollapsed, so that a step needs some rows
    only, and starts at its best for the principal components. New rows are placed by raising their q(x) with everything
    else as it is, from the training row that explains them best.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of a process, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of the inducing points' start, and of rows and latents that are drawn.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the means of q(X).

    References:
        Lalchand, Ravuri, Lawrence. Generalised GPLVM with stochastic variational inference. AISTATS 2022.
        Hensman, Fusi, Lawrence. Gaussian processes for big data. UAI 2013.
    """

    n_layers: ClassVar[int] = 1


class MVGPLVMSVI(AbstractSharedGPLVM):
    """MV-GPLVM-SVI: a sparse Gaussian process for every view, with its own kernel, noise and inducing points, one q(X).

    As GPLVM-SVI in everything else. Rows can be placed by some of their views, and the others predicted.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of a process, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of the inducing points' start, and of rows and latents that are drawn.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the means of q(X).

    References:
        Lalchand, Ravuri, Lawrence. Generalised GPLVM with stochastic variational inference. AISTATS 2022.
    """

    n_layers: ClassVar[int] = 1
