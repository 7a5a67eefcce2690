"""The data of the thesis' experiments, computed from their formulas: nothing is downloaded."""
