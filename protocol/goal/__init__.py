"""What a search looks for, and what a page offers towards it: the goal, the success condition, priors and values.

The goal is read by tables and patterns; no language model is involved.
"""
