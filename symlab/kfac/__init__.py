"""Kronecker-factored, diagonal and full Gauss-Newton curvature of any network, fast and differentiable."""
