"""What a search leaves alone because it needs an approval: it asks the owner, and explores on elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from node.explorer.sharing.replica import Replica
from node.live import Asking, Gate, Ledger, Sought, judged, seek
from protocol.approval.forms import RequestForm
from protocol.approval.question import Cover
from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.page.action import target_of
from protocol.page.observation import Element, Observation
from protocol.page.secrets import NO_SECRETS
from protocol.risk.judgement import APPROVAL_CLASS, GRAVE_CLASS, Risk
from protocol.search.entry import encode_action, node_key

_WAITING_MAX: Final = 64


class Doubts:
    """The doubtful actions of the pages that one worker has seen."""

    def __init__(self, replica: Replica, gate: Gate) -> None:
        self._replica, self._asking, self._known = replica, gate.asking, gate.history
        self._waiting: list[tuple[bytes, Observation, Candidate]] = []

    def note(self, parent: bytes, page: Observation, choices: Sequence[Candidate]) -> None:
        """The node ``parent``, which shows ``page``, has been expanded by ``choices``."""
        if self._asking is not None:
            found = [(parent, page, each) for each in choices if not each.selectable]
            self._waiting += found[: max(0, _WAITING_MAX - len(self._waiting))]

    async def settled(self, parent: bytes, choices: Sequence[Candidate], before: frozenset[bytes]) -> None:
        """It is known what more of ``choices`` do below ``parent``: open those that may be chosen now and not ``before``.

        The owner is not asked about them any more, nor about what was found to delete. What the owner has said no to stays closed.
        """
        known = frozenset(self._replica.view.children(parent)) - before
        for each in choices:
            key = _key(parent, each)
            if key not in known or self._replica.view.visits(key) or APPROVAL_CLASS <= each.risk < GRAVE_CLASS:
                continue
            allowed = self._asking is None or await self._asking.withdraw(key)
            if allowed and each.selectable:
                self._replica.open((key,), found=True)

    async def ask(self) -> None:
        """Put what was noted to the owner; what the owner has said yes to already is opened at once."""
        waiting, self._waiting = self._waiting, []
        for parent, page, candidate in waiting:
            element = _element(candidate, page)
            if self._asking is None or element is None:
                continue
            risk = judged(candidate.action, element, page, self._known)
            key = _key(parent, candidate)
            if not key:
                continue
            sought = seek(candidate.action, element, page, risk, NO_SECRETS)
            if await self._asking.stands(sought):
                self._replica.open((key,))
            elif _doubtful(risk):
                await self._asking.ask(sought, branch=key)


class Counted:
    """Implements ``node.live.Asking``: counts the questions of a search, each once, whether about an action or about requests."""

    def __init__(self, asking: Asking, ledger: Ledger) -> None:
        self._asking, self._ledger = asking, ledger

    async def granted(self, sought: Sought) -> Cover | None:
        """Implements ``Asking.granted``."""
        return await self._asking.granted(sought)

    async def covers(self, sought: Sought) -> tuple[Cover, ...]:
        """Implements ``Asking.covers``."""
        return await self._asking.covers(sought)

    async def stands(self, sought: Sought) -> bool:
        """Implements ``Asking.stands``."""
        return await self._asking.stands(sought)

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = (), branch: bytes = b"") -> str:
        """Implements ``Asking.ask``."""
        question = await self._asking.ask(sought, requests, branch)
        if question and question not in self._ledger.asked:
            self._ledger.asked.add(question)
            self._ledger.counts.asked += 1
        return question

    async def withdraw(self, branch: bytes) -> bool:
        """Implements ``Asking.withdraw``."""
        return await self._asking.withdraw(branch)


def _doubtful(risk: Risk) -> bool:
    """Whether a search asks about it: what is in doubt, and what was found to write by trying it.

    That something buys, deletes or changes a password is no doubt: a search leaves it alone.
    """
    found = any(each.source == "history" and each.certain for each in risk.evidence)
    return risk.doubt or (found and risk.level == APPROVAL_CLASS)


def _key(parent: bytes, candidate: Candidate) -> bytes:
    """The node of the tree that ``candidate`` leads to; empty for what does not belong into one: no search performs it."""
    try:
        return node_key(parent, encode_action(candidate.action))
    except MeshError:
        return b""


def _element(candidate: Candidate, page: Observation) -> Element | None:
    target = target_of(candidate.action)
    if target is None:
        return None
    alike = [
        item for item in page.elements if (item.role, item.name, item.frame) == (target.role, target.name, target.frame)
    ]
    place = target.nth or 0
    return alike[place] if place < len(alike) else None
