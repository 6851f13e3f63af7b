"""Writes files about recordings and replays, for people and CI systems: JUnit XML, Markdown, HTML. Reads nothing from the
store.
"""

from node.sessions.showing.lines import ComparedLine, compare_lines

__all__ = ["ComparedLine", "compare_lines"]
