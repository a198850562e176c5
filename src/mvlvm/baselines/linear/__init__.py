"""Linear projections and factor models."""
