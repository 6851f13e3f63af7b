"""All codes, family by family: the order of ``docs/errors.md``."""

from __future__ import annotations

from typing import Final

from protocol.errors.capsules import CAPSULES
from protocol.errors.code import Code
from protocol.errors.live import LIVE
from protocol.errors.log import LOG
from protocol.errors.node import NODE
from protocol.errors.pages import PAGES
from protocol.errors.peers import PEERS
from protocol.errors.searches import SEARCHES
from protocol.errors.sessions import SESSIONS
from protocol.errors.storage import STORAGE
from protocol.errors.wire import WIRE

FAMILIES: Final = (NODE, WIRE, PEERS, STORAGE, LOG, PAGES, LIVE, CAPSULES, SESSIONS, SEARCHES)

CODES: Final[dict[str, Code]] = {code: known for family in FAMILIES for code, known in family.items()}
