"""The goal of a search: parses the sentence, checks the success condition, and computes priors and values of pages.

The goal is read by tables and patterns; no language model is involved.
"""
