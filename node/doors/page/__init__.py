"""The page of the node: what it does, has done and asks, for the owner's web browser.

Results of verbs become HTML by their own descriptions (``node.verbs.written``); sessions, questions and searches have pictures
besides. Owns the one-time links and the cookies. Never takes a passphrase, and never changes anything: it shows the line to
paste at a terminal.
"""

from node.doors.page.door import PageDoor
from node.doors.page.exchange import HEADERS, Given, Wanted
from node.doors.page.pages import Pages

__all__ = ["HEADERS", "Given", "PageDoor", "Pages", "Wanted"]
