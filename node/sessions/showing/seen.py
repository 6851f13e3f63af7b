"""Records that the files about a recording or a replay are made from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from protocol.errors import MeshError
from protocol.page.showing.markup import MarkupShown
from protocol.recording.replays.call_log import PageLine

ReadBlob = Callable[[bytes], Awaitable[bytes]]


class ReplayFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Where to write; empty for not at all."""

    junit: str = ""
    markdown: str = ""
    html: str = ""


class ReplaySeen(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay saw, by index of the step. It is shown, and stored nowhere."""

    pictures: Mapping[int, bytes] = {}
    texts: Mapping[int, str] = {}
    """Texts of pages that are not as recorded."""
    console: Mapping[int, tuple[str, ...]] = {}
    """Errors in the console."""
    page: Mapping[int, tuple[PageLine, ...]] = {}
    """The page at the step at which the replay ended."""
    documents: Mapping[int, MarkupShown] = {}
    """The documents of the pages on which steps failed."""
    refused: Mapping[int, tuple[str, ...]] = {}
    """Requests that the guard refused."""


class Performed(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a recording that are known only where it was just made."""

    documents: Mapping[int, MarkupShown] = {}
    """As ``ReplaySeen.documents``."""
    left: Sequence[str] = ()
    """The actions that were not reached, in words."""
    error: MeshError | None = None
    """The error that ended it."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """One signature, as a file shows it."""

    what: str
    by: str
    """Node id."""
    name: str
    """Name of that node; empty if it has none here."""
    fault: str = ""
    """Error code of why it does not count; empty if it was verified while the file was made."""
