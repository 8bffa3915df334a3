"""Splits of data sets by their factors: what is seen in training and what only in the test."""
