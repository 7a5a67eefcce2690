"""Speed and memory against peers, as ratios measured in one run on one machine."""
