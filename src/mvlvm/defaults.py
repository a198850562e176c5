"""The numbers that define the default fit, each with its source."""

# The paper, table of hyperparameter settings. Its L / 2 is the number of spectral points.
N_COMPONENTS = 2
N_MIXTURES = 2
N_POINTS = 50

# Where the search for the number of latent dimensions starts. Every dimension it has too many costs time, not quality.
MAX_COMPONENTS = 10

# Measured (docs/results/schedules.md): with the rate held until the bound is flat, fits end after 400 to 700 steps with
# bounds like those of 1000 steps at 0.02. The paper takes 10,000.
MAX_ITER = 1000
LEARNING_RATE = 0.05
ADAM_BETAS = (0.9, 0.99)

# The bound is flat when it rises by less than this, in nats per entry, from one window of steps to the next.
TOL = 2e-3
STOPPING_WINDOW = 50
# Then the learning rate falls, over these many steps, to this share of itself.
DECAY_STEPS = 200
FINAL_LEARNING_RATE_FRACTION = 0.05

# Draws of latents and spectral points per step, the paper's I.
N_DRAWS = 1

# Where the optimiser starts, in the units of scaled views. A start at small noise lets the latents spread before the
# noise has explained the data: 1-NN on R-MNIST is 79.7 % from 0.1 and 77.8 % from 0.5 (three seeds).
INITIAL_LATENT_STD = 0.1
INITIAL_SIGMA = 1.0  # for up to two latent dimensions, and times sqrt(2 / D) for more
INITIAL_MU_SPREAD = 0.3
INITIAL_RAW_RHO = 0.5
INITIAL_NOISE_VARIANCE = 0.1

# The constant feature of views that cannot be centred, which is the prior standard deviation of a column's level: of a
# logit or of the logarithm of a count.
CONSTANT_FEATURE = 5.0

# Spectral draws averaged in predictions, and latent draws that go into each of them.
N_DRAWS_PREDICT = 4
N_LATENT_DRAWS = 8
# Draws of (X, W) behind the reported bound, at least and at most; they end when its standard error, in nats per entry,
# is what TOL calls flat. Measured: one draw errs by 0.0023 on R-MNIST and on halves of digits, so that six are enough.
MIN_DRAWS_BOUND, MAX_DRAWS_BOUND = 4, 20
BOUND_PRECISION = TOL

# Bytes that the features of a view may take during training; beyond it they are computed anew for every pass.
MEMORY_BUDGET = 1e9
