"""Layer-wise equivariance learning (van der Ouderaa, Immer & van der Wilk, 2023): layers, pooling and the network."""
