"""Functions that draw the runs of a table or a figure, one module per subject; table.yaml names them."""
