"""One script for each peer, run in the peer's own environment (see ``benchmarks.kfac_peers``)."""
