"""Performs actions on elements: press, type, choose, drag."""
