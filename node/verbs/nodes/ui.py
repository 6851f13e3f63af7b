"""The verb for the page of the node."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, NoParams, Verb


class PageLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link to the page of the node."""

    link: Annotated[str, shown("open")]
    """It can be used once."""
    ends_ms: Annotated[int, shown("until", as_="time", unit="ms")]


OPEN: Final = Verb(
    name="ui.open",
    takes=NoParams,
    gives=PageLink,
    help="""Make a link to the page of the node, for a web browser on this machine (docs/page.md).

    The link can be used once, within two minutes. The web browser then reads the page for 12 hours, or until the node ends. The
    page shows what the owner can see, and changes nothing: an approval is signed at a terminal.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(),
)

VERBS: Final[tuple[Verb, ...]] = (OPEN,)
