"""EquiNAS: relaxing the equivariance of layers, mixing layers of different groups, and searching over both."""
