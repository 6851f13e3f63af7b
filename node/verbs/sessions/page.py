"""Verbs that observe a page without acting on it."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.sessions.session_params import CAPSULE
from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, Params, Verb, argument, option
from protocol import limits
from protocol.kinds import Done, PageAddress, PageText, Plain, Request


class SnapshotParams(Params, frozen=True, kw_only=True):
    """``page.snapshot``"""

    url: Annotated[str, argument("Address of the page.", metavar="URL", max_length=limits.URL_CHARS_MAX)]
    wait: Annotated[
        str, option("Wait until this text is visible.", metavar="TEXT", max_length=limits.ACTION_TEXT_CHARS_MAX)
    ] = ""
    timeout_ms: Annotated[int, option("How long to wait for it.", flag="-", ge=1, le=60_000)] = 10_000
    text: Annotated[
        str,
        option(
            "Only elements with this text in role, name, options or what they stand in.",
            metavar="TEXT",
            max_length=limits.ACTION_TEXT_CHARS_MAX,
        ),
    ] = ""
    actions_only: Annotated[bool, option("Only what can be acted on: no lines that read or assert.")] = False
    limit: Annotated[int, option("At most this many elements.", ge=1, le=limits.OBSERVATION_ELEMENTS_MAX)] = 300
    capsule: Annotated[str, CAPSULE] = ""


class NamedElement(msgspec.Struct, frozen=True, kw_only=True):
    """An element, with the lines of an action file that name it and no other element."""

    ref: Annotated[Plain, shown("ref")]
    """Its ref on the page, as in live sessions."""
    role: Annotated[PageText, shown("role")]
    name: Annotated[PageText, shown("name")]
    """Invisible characters are shown by their number."""
    frame: Annotated[Plain, shown("frame")]
    """Its frame (`f1`); empty for the main frame."""
    states: Annotated[tuple[PageText, ...], shown("states")]
    level: Annotated[int, shown("level")]
    """Level of a heading; 0 for any other element."""
    within: Annotated[tuple[PageText, ...], shown("in")]
    """Sections, rows, cards and dialogs around it, from the outside in."""
    options: Annotated[tuple[PageText, ...], shown("options")]
    """Labels of the options of a list."""
    only_by_place: Annotated[bool, shown("told by its place only")]
    """True if only its position distinguishes it from others; its lines break when the others change."""
    lines: Annotated[tuple[PageText, ...], shown("lines", as_="lines")]
    """Steps of an action file without the dash; the shortest way to name the element comes first."""


class PageSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The elements of a page that an action file can name."""

    url: Annotated[PageAddress, shown("url")]
    """Address of the page after redirects, without secrets."""
    title: Annotated[PageText, shown("title")]
    elements: Annotated[tuple[NamedElement, ...], shown("elements")]
    """In the order of the page."""
    left_out: Annotated[int, shown("left out", unit="element")]
    """Number of further elements beyond `limit`."""
    cut: Annotated[Plain, shown("not read")] = ""
    """The parts of the page that were not read, in words; empty if the page was read to its end."""
    refused: Annotated[tuple[Request, ...], shown("guard refused", as_="lines")] = ()
    """Requests that the network guard refused and that the page may need: `METHOD /path`."""
    faults: Annotated[tuple[Done, ...], shown("went wrong", as_="lines")] = ()
    """Requests that failed, in words: `GET / was answered with 500`."""


SNAPSHOT: Final = Verb(
    name="page.snapshot",
    long=True,
    command="snapshot",
    takes=SnapshotParams,
    gives=PageSnapshot,
    help="""Print what can be named on a page, as lines to paste into an action file.

    Opens URL in a fresh browser context, under the same network guard as a recording, and lists each element that can be acted on
    or asserted: in frames and shadow roots too. Every line means exactly one element, by the shortest name that only it has. A text
    to be typed is given as TEXT; fields for passwords, codes and cards get `{secret: NAME}`. The output is an action file itself
    (docs/action-files.md): keep the lines you need.

    Needs no node: where there is none, or with --config, it works in a temporary one. With --capsule the page is opened with that
    login, which counts as a use of it for the task `record`.

    \b
    Examples:
      trailmesh snapshot https://shop.example/
      trailmesh snapshot https://shop.example/cart --text "Blue mug" --actions-only
    """,
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (SNAPSHOT,)
