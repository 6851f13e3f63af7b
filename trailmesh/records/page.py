# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``page.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class PageSnapshot(Record, frozen=True, kw_only=True):
    """The elements of a page that an action file can name."""

    url: str
    """Address of the page after redirects, without secrets."""

    title: str

    elements: tuple[NamedElement, ...]
    """In the order of the page."""

    left_out: int
    """Number of further elements beyond `limit`."""

    cut: str = ""
    """The parts of the page that were not read, in words; empty if the page was read to its end."""

    refused: tuple[str, ...] = ()
    """Requests that the network guard refused and that the page may need: `METHOD /path`."""

    faults: tuple[str, ...] = ()
    """Requests that failed, in words: `GET / was answered with 500`."""


class NamedElement(Record, frozen=True, kw_only=True):
    """An element, with the lines of an action file that name it and no other element."""

    ref: str
    """Its ref on the page, as in live sessions."""

    role: str

    name: str
    """Invisible characters are shown by their number."""

    frame: str
    """Its frame (`f1`); empty for the main frame."""

    states: tuple[str, ...]

    level: int
    """Level of a heading; 0 for any other element."""

    within: tuple[str, ...]
    """Sections, rows, cards and dialogs around it, from the outside in."""

    options: tuple[str, ...]
    """Labels of the options of a list."""

    only_by_place: bool
    """True if only its position distinguishes it from others; its lines break when the others change."""

    lines: tuple[str, ...]
    """Steps of an action file without the dash; the shortest way to name the element comes first."""
