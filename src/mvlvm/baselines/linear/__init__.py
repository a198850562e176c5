"""Linear projections (PCA, LDA, MCCA), factor analysis of several views, and factorisations of counts."""
