"""From a learner and a data set to evaluated weights: the loop, its batches, the MAP learner, evaluation, hardware."""
