"""Studies of prediction quality: cross-view prediction, likelihoods, numerical accuracy, schedules and baselines."""
