"""Tracks the requests of a page's actions that change something and that the guard lets through.

A request belongs to an action if it leaves while the action is performed. The page's own requests do not: those sent while it
loads, and repetitions of requests that came without an action. An action that only looks, waits or opens an address sends only the
document that it opens.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from adapters.browser.base.masking import Mask
from adapters.browser.egress.activity import Activity
from adapters.ports.browser import NOTHING, Given
from protocol import limits
from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Extract,
    Forward,
    Goto,
    Reload,
    Wait,
)
from protocol.recording.records.manifest import Effect, SentFile, StepRequests, effect_of
from protocol.risk.pressing.pressing import only_reads, reading
from protocol.risk.requests.refused import UNASKED, UNLISTED, graver, may_be_allowed
from protocol.risk.requests.requests import EVERY_CLASS, GuardPolicy, judge_request

_OPENS: Final = Goto | Back | Forward | Reload
_LOOKS: Final = Wait | Assert | Extract
_OWN_MAX: Final = 256


class ReadRequest(NamedTuple):
    """A request, as the guard has parsed it."""

    method: str
    url: str
    kind: str
    is_navigation: bool
    body: str | None
    content_type: str
    replaced_by: str
    announced: str
    chosen: Sequence[str] = ()
    """Headers that select its operation."""
    watched: Mapping[str, Any] = {}
    """Further facts that ``judge_request`` uses."""
    is_main: bool = False
    """True if it requests the next document of the page itself."""


class Sending:
    """Follows one page from action to action."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._acts = self._opens = self._left = False
        self._listed: StepRequests | None = None
        self._level_min, self._level_max = NOTHING.level_min, NOTHING.level_max
        self._own: set[tuple[object, ...]] = set()
        """Writes that no action caused."""
        self._sent: list[Effect] = []
        self._files: tuple[SentFile, ...] = ()
        """The files that the page was given to upload."""
        self._reading: tuple[GuardPolicy, GuardPolicy] | None = None

    def begin(self, action: Action, given: Given) -> None:
        """An action starts."""
        self._opens = isinstance(action, _OPENS)
        self._acts = not isinstance(action, _LOOKS)
        self._left, self._listed = False, given.listed
        self._level_min, self._level_max = given.level_min, given.level_max
        self._sent.clear()
        more = (SentFile(name=file.name, sha256=hashlib.sha256(file.data).digest()) for file in given.files)
        self._files = (*self._files, *more)[-limits.EFFECT_FILES_MAX :]

    def end(self) -> tuple[Effect, ...]:
        """The action is over. Returns the effects that it has sent, in order."""
        self._acts = False
        sent, self._sent = tuple(self._sent), []
        return sent

    async def rest(self, limit_s: float) -> bool:
        """Wait until all requests that the action lists have left, at most ``limit_s``. Returns whether one left during the
        wait."""
        listed, end = self._listed, time.monotonic() + limit_s
        before = listed.left if listed else {}
        while listed and listed.left and not (listed.refused or self._activity.gone.done()):
            if (rest := end - time.monotonic()) <= 0:
                break
            await self._activity.changed(rest)
        return listed is not None and listed.left != before

    def leaves_page(self) -> None:
        """The next document of the page was let through: the next page sends later requests while it loads."""
        self._left = True

    def loads(self, asked: ReadRequest) -> bool:
        """True if the next page sends a request while it loads, and the action only led there."""
        return self._left and not asked.is_main

    def adds(self, effect: Effect) -> None:
        """A held request has left during the action."""
        if len(self._sent) <= limits.EFFECTS_PER_STEP_MAX:
            self._sent.append(effect)

    def writes(self, asked: ReadRequest, rule: str | None, policy: GuardPolicy) -> bool:
        """True if a request changes something, or may. rule: the rule by which ``policy`` refuses it."""
        return may_be_allowed(rule) if rule is not None else not self._is_read(asked, policy)

    def not_enough(self, asked: ReadRequest, policy: GuardPolicy, mask: Mask) -> str:
        """The rule that refuses a request although ``policy`` names it; empty if it may leave. Either its class is not approved,
        or the action has a list that does not contain it and no further entry allows it.

        The address that an action opens was judged with the action.
        """
        opened = self._opens and asked.is_main and asked.method == "GET" and not self._left
        if not policy.read_only or opened or asked.announced:
            return ""
        if self._listed is not None and self._causes(asked) and not self._listed.allows(asked.method, asked.url):
            return "method"
        level = self._graded(asked, mask).level
        return graver(level) if level > self._level_max else ""

    def is_beyond(self, asked: ReadRequest, policy: GuardPolicy, mask: Mask) -> bool:
        """True if a request that changes something has a higher class than the mounted capsule allows. It gets the class of the
        action that causes it, if that is higher; an unreadable request gets the highest class.
        """
        if policy.class_max >= EVERY_CLASS:
            return False
        unread = asked.body is None and not asked.announced
        level = self.effect(asked._replace(method=asked.announced or asked.method), mask).level
        return (EVERY_CLASS if unread else max(level, self._level_min)) > policy.class_max

    def lists(self, asked: ReadRequest, mask: Mask) -> bool:
        """True if the action's list contains a request that changes something, and it may be sent now."""
        if self._listed is None or not self._causes(asked):
            return False
        if asked.announced:
            return self._listed.announces(asked.announced, asked.url)
        return self._listed.takes(self._graded(asked, mask))

    def is_own(self, asked: ReadRequest) -> bool:
        """True if the action has a list and the page sends the request by itself: nobody is then asked about it."""
        return self._listed is not None and not self._causes(asked)

    def judged(self, asked: ReadRequest, rule: str | None, mask: Mask) -> str | None:
        """Note a request that changes something: it leaves, or ``rule`` refuses it. Returns the rule to report."""
        causes, effect = self._causes(asked), self._graded(asked, mask)
        if not causes and len(self._own) < _OWN_MAX and not asked.announced:
            self._own.add(_key(asked))
        if rule is None:
            if causes and not asked.announced:
                self.adds(effect)
            return None
        if self._listed is None or not may_be_allowed(rule):
            return rule
        if not causes or self._listed.is_known(effect):
            return UNASKED
        self._listed.refuse(effect)
        return UNLISTED

    def _causes(self, asked: ReadRequest) -> bool:
        """True if the current action causes the request."""
        if not self._acts or self._is_own(asked):
            return False
        return asked.is_main or not (self._opens or self.loads(asked))

    def _graded(self, asked: ReadRequest, mask: Mask) -> Effect:
        """The effect of a request. It gets the class of the action that causes it, if that is higher."""
        effect = self.effect(asked, mask)
        least = self._level_min if self._causes(asked) else 1
        return effect if effect.level >= least else msgspec.structs.replace(effect, level=least)

    def _is_own(self, asked: ReadRequest) -> bool:
        if not self._own:
            return False
        key = _key(asked)
        # For a preflight only the address is known.
        return any(each[:2] == key[:2] for each in self._own) if asked.announced else key in self._own

    def _is_read(self, asked: ReadRequest, policy: GuardPolicy) -> bool:
        """True if ``policy`` would let the request through without an entry that names it."""
        if only_reads(policy):
            return True
        if self._reading is None or self._reading[0] is not policy:
            self._reading = policy, reading(policy)
        rule = judge_request(
            asked.method,
            asked.url,
            asked.kind,
            asked.is_navigation,
            asked.body,
            self._reading[1],
            announced=asked.announced,
            content_type=asked.content_type,
            replaced_by=asked.replaced_by,
            commanded=bool(asked.chosen),
            **asked.watched,
        )
        return rule is None

    def effect(self, asked: ReadRequest, mask: Mask) -> Effect:
        """The effect of a request. mask: removes the values of secrets from a body before its digest is made."""
        method = asked.announced or asked.method
        method = f"{method} as {asked.replaced_by}" if asked.replaced_by else method
        body = mask(asked.body) if asked.body else asked.body
        return effect_of(method, asked.url, asked.content_type, body, chosen=asked.chosen, files=self._files)


def _key(asked: ReadRequest) -> tuple[object, ...]:
    """A key of a request without its ids and times, to recognise requests that a page repeats by itself. If one address accepts
    many commands, the key includes the names of fields and the headers that select the operation.
    """
    effect = effect_of(asked.method, asked.url, asked.content_type, asked.body, chosen=asked.chosen)
    is_data = asked.content_type.partition(";")[0].strip().lower() == "application/json"
    body = effect.body if is_data else effect.body.partition(":")[0]
    return asked.announced or asked.method, asked.url.partition("?")[0], effect.fields, body, effect.chosen
