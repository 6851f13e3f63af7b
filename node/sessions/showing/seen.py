"""Records from which the files about a recording or a replay are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from protocol.errors import MeshError
from protocol.page.showing.markup import MarkupShown
from protocol.recording.replays.call_log import PageLine

ReadBlob = Callable[[bytes], Awaitable[bytes]]


class ReplayFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of the files to write; an empty path writes no file."""

    junit: str = ""
    markdown: str = ""
    html: str = ""


class ReplaySeen(msgspec.Struct, frozen=True, kw_only=True):
    """Side observations of a replay, by index of the step. They are shown but not stored."""

    pictures: Mapping[int, bytes] = {}
    texts: Mapping[int, str] = {}
    """Texts of pages that differ from the recorded ones."""
    console: Mapping[int, tuple[str, ...]] = {}
    """Errors in the console."""
    page: Mapping[int, tuple[PageLine, ...]] = {}
    """The page at the step at which the replay ended."""
    documents: Mapping[int, MarkupShown] = {}
    """The documents of the pages on which steps failed."""
    refused: Mapping[int, tuple[str, ...]] = {}
    """Requests that the guard refused."""


class RecordingFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a recording that are known only immediately after it."""

    documents: Mapping[int, MarkupShown] = {}
    """As ``ReplaySeen.documents``."""
    left: Sequence[str] = ()
    """The actions that were not reached, in words."""
    error: MeshError | None = None
    """The error that ended it."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """One signature, as shown in a file."""

    what: str
    by: str
    """Node id."""
    name: str
    """Name of that node; empty if it has none here."""
    fault: str = ""
    """Error code that says why it does not count; empty if it was verified while the file was made."""
