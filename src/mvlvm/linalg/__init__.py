"""Linear algebra for the evidence: Cholesky factors, Gram matrices, solvers, and products on a GPU."""
