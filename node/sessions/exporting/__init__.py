"""Writes sessions as files of other tools: a Playwright test in Python, a recording of the Chrome DevTools Recorder.

Both contain the steps that a replay performs. Parts that a format cannot express become comments in the file, and are listed in
``Written.lost``.
"""

from node.sessions.exporting.playwright_python import write_playwright
from node.sessions.exporting.recorder_json import write_recorder
from node.sessions.exporting.written import Written

__all__ = ["Written", "write_playwright", "write_recorder"]
