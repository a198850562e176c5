"""Default values of the hyperparameters, each with its source."""

from typing import Any

# Table of hyperparameter settings of the paper [table:hyperparameter_settings]; its L / 2 is the number of spectral
# points.
N_COMPONENTS = 2
N_MIXTURES = 2
N_POINTS = 50

# The initial number of latent dimensions when their number is learned. Superfluous dimensions cost time, not quality.
MAX_COMPONENTS = 10

# Measured (docs/results/schedules.md): with a constant learning rate until the bound is flat, fits end after 400 to 700
# steps, with bounds like those of 1000 steps at a learning rate of 0.02. The paper uses 10,000 steps.
MAX_ITER = 1000
LEARNING_RATE = 0.05
ADAM_BETAS = (0.9, 0.99)

# The bound is flat when its increase from one window of steps to the next is below this number of nats per entry.
TOL = 2e-3
STOPPING_WINDOW = 50
# Learning-rate schedule: when the bound is flat, the rate decays over this many steps to this fraction of itself.
DECAY_STEPS = 200
FINAL_LEARNING_RATE_FRACTION = 0.05

# The schedule "coarse-to-fine" for several views: few spectral points and a higher rate until the bound is flat, then
# all points; the rate stays for some of the last steps, and decays to the same rate as otherwise.
FIRST_POINTS = 25
FIRST_RATE_FACTOR = 2.0
HOLD_STEPS = 50

# Draws of latents and spectral points per step, I in the paper.
N_DRAWS = 1

# Weight c of the neighbour term c N T for `neighbor_weight="auto"`.
NEIGHBOR_WEIGHT = 100.0
# Parameters of maps, for `NGMVLVM.map`.
MAP_SETTINGS: dict[str, Any] = {"init": "tsne", "view_weights": "balanced", "neighbor_weight": "auto"}

# Initial values, in the units of scaled views. A small initial noise variance lets the latents spread before noise
# explains the data: the 1-NN accuracy on R-MNIST is 79.7 % from 0.1 and 77.8 % from 0.5 (three seeds).
INITIAL_LATENT_STD = 0.1
INITIAL_SIGMA = 1.0  # for up to two latent dimensions; multiplied by sqrt(2 / D) for more
INITIAL_MU_SPREAD = 0.3
INITIAL_RAW_RHO = 0.5
INITIAL_NOISE_VARIANCE = 0.1

# The constant feature of views that cannot be centred. It is the prior standard deviation of the level of a column, on
# the scale of a logit or of the logarithm of a count.
CONSTANT_FEATURE = 5.0

# Spectral draws averaged in predictions, and latent draws for each of them.
N_DRAWS_PREDICT = 4
N_LATENT_DRAWS = 8
# Minimum and maximum number of draws of (X, W) for the reported bound. Drawing ends when its standard error, in nats
# per entry, is below TOL. Measured: the error of a single draw is 0.0023 on R-MNIST and on halves of digits, so that
# six draws suffice.
MIN_DRAWS_BOUND, MAX_DRAWS_BOUND = 4, 20
BOUND_PRECISION = TOL

# Bytes that the features of a view may use during training; beyond that they are recomputed in every pass.
MEMORY_BUDGET = 1e9
