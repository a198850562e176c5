"""The axis letters used in every shape annotation, and the names of recurring shapes.

| letter | axis |
|---|---|
| N, K | samples; a second set of samples |
| D | latent dimensions |
| M | columns of one view |
| Q | mixtures of a spectral density |
| P | spectral points per mixture |
| F | random features of a view, F = 2 P Q |
"""

from jaxtyping import Float
from torch import Tensor

Scalar = Float[Tensor, ""]
