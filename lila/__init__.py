"""LILA: invariances learnt by differentiable Laplace approximations (Immer, van der Ouderaa et al., 2022)."""
