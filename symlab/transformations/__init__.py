"""Affine transformations of the plane: generators, their exponentials, and the positions at which images are sampled."""
