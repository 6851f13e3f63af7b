"""Trains and measures the text model of ``protocol/risk/words``: which applications, what their labels ask for, fit, report."""
