"""Reads the recordings of other tools as actions."""
