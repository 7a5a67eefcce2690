"""From run metrics to the tables people read: pure code, without torch and without Hydra.

``specification`` says which cells a table has, ``measurement`` turns metrics into cells, ``claims`` judges what the paper
says about them, ``render`` writes the files, ``publish`` copies results into the documentation and ``status`` lists all.
"""
