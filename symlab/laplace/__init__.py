"""Laplace approximation from curvature blocks: marginal likelihood, prior precisions, posterior and prediction."""
