"""A site as data: documents, the controls in them, and what using a control does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from protocol.page.actions.dialogs import DialogKind
from protocol.page.actions.downloads import Download
from protocol.page.instructions.hidden_text import HiddenText
from protocol.page.seen.observation import Element


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What using a control does."""

    go: str = ""
    """Address it leads to by a GET."""
    post: str = ""
    """Address it submits to by a POST, and then shows."""
    fetch: tuple[tuple[str, str], ...] = ()
    """``(method, address)`` of requests by scripts; ``WS`` for a socket."""
    stores: bool = False
    """Whether it stores an item for its origin."""
    shows: tuple[Control, ...] = ()
    """Controls that it adds to the page, until that is opened anew."""
    popup: str = ""
    """Address it opens beside the page."""
    download: Download | None = None
    dialog: DialogKind | None = None
    asks: str = ""
    """What the dialog says."""


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """An element (its ``ref`` is given when it is observed) and what using it does."""

    element: Element
    effect: Effect = Effect()
    changes: bool = False
    """Whether the effect comes as soon as something is typed or chosen."""
    covered: bool = False
    """Whether another element lies over it."""
    hidden: bool = False
    """Whether it is not shown: no observation lists it."""
    selectors: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    """Those of its HTML that a test reads."""
    values: tuple[tuple[str, str], ...] = ()
    """Label and value of a select's options."""
    level: int = 0
    """It stands in the last control before it of a lower level."""

    @property
    def listed(self) -> bool:
        """Whether an observation lists it; as in ``view``, mere wrappers are left out."""
        return not self.hidden and (self.element.role != "generic" or bool(self.element.name))


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a site."""

    title: str
    controls: tuple[Control, ...] = ()
    text: tuple[str, ...] = ()
    """Loose text, line by line. ``COOKIES`` and ``ITEMS`` stand for what the site reads as the document is shown."""
    cookies: tuple[tuple[str, str], ...] = ()
    """Set when it is shown, as are ``items`` in the localStorage of its origin."""
    status: int = 200
    console: tuple[str, ...] = ()
    """Errors in the console."""
    items: tuple[tuple[str, str], ...] = ()
    offers: bool = False
    """Whether its answer offers to bind the session to the device."""
    closed: tuple[str, ...] = ()
    """What it says in closed shadow trees."""
    hidden: tuple[HiddenText, ...] = ()
    """What no person sees."""
    hidden_whole: bool = True
    """Whether it can be read to its end."""
    late: tuple[tuple[str, str], ...] = ()
    """``(method, address)`` of requests that its timers send whenever a probe lets time pass."""
    pending: tuple[tuple[str, str], ...] = ()
    """``(method, address)`` of requests that it sends as it is shown, once its origin has stored an item."""
    unfinished: bool = False
    """Whether it loads without end."""
    later: tuple[Control, ...] = ()
    """Controls that it shows too once its origin has stored an item."""


class MemorySite:
    """Documents by address (without query), redirects, and the log of what reached the site."""

    def __init__(self, documents: Mapping[str, Document], redirects: Mapping[str, str] | None = None) -> None:
        self.documents = dict(documents)
        self.redirects = dict(redirects or {})
        self.reached: list[str] = []
        self.answers: dict[str, int] = {}
        """HTTP status of what scripts ask for, by path; 0: no answer ever comes."""

    def document(self, url: str) -> Document | None:
        """What stands at ``url``."""
        bare = url.partition("#")[0]
        return self.documents.get(bare) or self.documents.get(bare.partition("?")[0])


def site_of(origin: str, pages: Mapping[str, tuple[str, Sequence[Control]]]) -> MemorySite:
    """A site from paths to ``(title, controls)``."""
    return MemorySite(
        {origin + path: Document(title=title, controls=tuple(controls)) for path, (title, controls) in pages.items()}
    )
