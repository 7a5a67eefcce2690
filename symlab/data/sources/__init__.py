"""One module a data set. Constructing a source does no I/O; ``load(root)`` finds, fetches, verifies and parses its files."""
