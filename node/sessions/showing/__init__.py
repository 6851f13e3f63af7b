"""Writes files about recordings and replays, for people and CI systems: JUnit XML, Markdown, HTML. Reads nothing from the
store.
"""
