"""Collects side observations of a replay, by step: errors in the console, refused requests, notes. They are never signed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from adapters.ports.browser import Page
from node.live.finding import Console
from protocol import limits
from protocol.kinds import PageText, Request, Words
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.secrets.secrets import SecretsAndTokens
from protocol.page.showing.markup import MarkupShown
from protocol.recording.replays.call_log import PageLine


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """The side observations of one step."""

    console: tuple[Annotated[Words, msgspec.Meta(max_length=limits.CONSOLE_ERROR_CHARS_MAX)], ...] = ()
    notes: tuple[Annotated[PageText, msgspec.Meta(max_length=limits.NOTE_CHARS_MAX)], ...] = ()
    refused: tuple[Request, ...] = ()


class Noticed:
    """The side observations of one replay on ``page``."""

    def __init__(self, page: Page, secrets: SecretsAndTokens, *, shows: bool) -> None:
        """shows: True if all secrets of the recording are known. Otherwise console errors are dropped, because one may contain a
        secret.
        """
        self._page = page
        self._redaction = Redaction(secrets)
        self._shows = shows
        self._console = Console(page)
        self.console: dict[int, tuple[str, ...]] = {}
        """New errors by index of the step at whose end they appeared; at most ``CONSOLE_ERRORS_MAX`` for a page."""
        self.page: dict[int, tuple[PageLine, ...]] = {}
        """The page at the end of the replay, by index of its last step."""
        self.documents: dict[int, MarkupShown] = {}
        """The document of the page on which a step failed, by index of the step."""
        self.notes: dict[int, tuple[str, ...]] = {}
        """Notes on how a step was performed, by its index."""
        self.refused: dict[int, tuple[str, ...]] = {}
        """As ``ReplayReport.blocked``, together with the requests of a step that was not performed."""

    def refuse(self, index: int, requests: Iterable[str]) -> None:
        """Note the redacted ``requests`` that the guard refused during step ``index``."""
        if more := tuple(requests):
            self.refused[index] = self.refused.get(index, ()) + more

    def note(self, index: int, notes: Iterable[str]) -> None:
        """Keep ``notes`` of step ``index``."""
        more = tuple(notes)[: limits.NOTES_PER_STEP_MAX]
        if self._shows and more:
            self.notes[index] = self._told(_Told(notes=more)).notes

    def _told(self, noticed: _Told) -> _Told:
        return redacted(noticed, self._redaction)

    def after(self, index: int, *, performed: bool) -> None:
        """Step ``index`` is over."""
        if not performed:  # without an outcome, nothing else has reported them
            self.refuse(index, self._told(_Told(refused=self._page.blocked().requests)).refused)
        if not self._shows:
            return
        if new := self._console.new():
            self.console[index] = self._told(_Told(console=new)).console
