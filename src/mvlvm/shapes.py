"""Axis letters of the shape annotations, and names of recurring shapes.

| letter | axis |
|---|---|
| N, K | samples; a second set of samples |
| D | latent dimensions |
| M | columns of one view |
| Q | mixture components of a spectral density |
| P | spectral points per mixture component |
| F | random features of a view, F = 2 P Q |
"""

from jaxtyping import Float
from torch import Tensor

Scalar = Float[Tensor, ""]
# A scalar that need not be differentiated; on a CPU a number takes less time than a tensor.
Number = Scalar | float
