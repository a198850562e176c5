"""Deep Gaussian process latent variable models."""

from typing import ClassVar

from mvlvm.baselines.stochastic_gplvm import AbstractJoinedGPLVM, AbstractSharedGPLVM


class DGPLVM(AbstractJoinedGPLVM):
    """DGPLVM: a doubly stochastic deep Gaussian process of two layers from q(X) to all views side by side.

    The first layer adds to the latent, in as many dimensions; the second gives the columns. Both are sparse. The bound
    takes one draw of the latent, and one through the first layer, of some rows.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of every layer, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of all that is drawn: inducing points to start from, rows, latents, layers.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the means of q(X).

    References:
        Salimbeni, Deisenroth. Doubly stochastic variational inference for deep Gaussian processes. NeurIPS 2017.
        Damianou, Lawrence. Deep Gaussian processes. AISTATS 2013.
    """

    n_layers: ClassVar[int] = 2


class MVDGPLVM(AbstractSharedGPLVM):
    """MV-DGPLVM: a deep Gaussian process of two layers for every view, and one q(X).

    As DGPLVM in everything else. Rows can be placed by some of their views, and the others predicted.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of every layer, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of all that is drawn: inducing points to start from, rows, latents, layers.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the means of q(X).

    References:
        Sun, Dong, Liu. Multi-view representation learning with deep Gaussian processes. IEEE TPAMI 2020.
        Salimbeni, Deisenroth. Doubly stochastic variational inference for deep Gaussian processes. NeurIPS 2017.
    """

    n_layers: ClassVar[int] = 2
