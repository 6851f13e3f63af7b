"""The in-memory twin of a browser: a site as data, for tests of everything above the browser port.

A site is a set of documents; a control says which requests using it sends and where it leads. Guard, secrets and error
codes are those of the real adapters; the contract suite holds all to the same assertions.
"""

from tests.twins.browser.contexts import MemoryBrowser, MemoryContext
from tests.twins.browser.kept import Kept
from tests.twins.browser.page import BLACK, MemoryPage
from tests.twins.browser.site import Control, Document, Effect, MemorySite, site_of

__all__ = [
    "BLACK",
    "Control",
    "Document",
    "Effect",
    "Kept",
    "MemoryBrowser",
    "MemoryContext",
    "MemoryPage",
    "MemorySite",
    "site_of",
]
