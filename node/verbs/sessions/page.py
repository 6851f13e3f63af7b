"""Verbs about a page that is only looked at."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.sessions.session_params import CAPSULE
from node.verbs.verb import OWNER_ONLY, Params, Verb, argument, option
from protocol import limits


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
    """An element, and the lines of an action file that mean it and no other."""

    ref: str
    """Its number on the page, as live sessions have it."""
    role: str
    name: str
    """Characters that cannot be seen are shown by their number."""
    frame: str
    """Its frame (`f1`); empty for that of the page."""
    states: tuple[str, ...]
    level: int
    """Level of a heading; 0 for anything else."""
    within: tuple[str, ...]
    """Sections, rows, cards and dialogs that it stands in, from the outside in."""
    options: tuple[str, ...]
    """Labels of the options of a list."""
    only_by_place: bool
    """Whether only its place tells it from others: the lines break when the others change."""
    lines: tuple[str, ...]
    """Steps of an action file, without the dash; the shortest way to name the element."""


class PageSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What can be named on a page."""

    url: str
    """Address of the page after redirects, without secrets."""
    title: str
    elements: tuple[NamedElement, ...]
    """In the order of the page."""
    left_out: int
    """How many more there are beyond `limit`."""
    cut: str = ""
    """What of the page was not read, in words; empty if it was read to its end."""
    refused: tuple[str, ...] = ()
    """Requests that the network guard refused, which the page may need: `METHOD /path`."""
    faults: tuple[str, ...] = ()
    """Requests that went wrong, in words: `GET / was answered with 500`."""


SNAPSHOT: Final = Verb(
    name="page.snapshot",
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
