"""The gate before every action: which risk classes may be performed, and by whose yes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from adapters.ports import Outcome
from node.live.acting.asking import Asking, Sought
from protocol.approval.forms import RequestForm
from protocol.approval.question import Cover
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Fill, Goto, Upload
from protocol.page.seen.observation import Element
from protocol.risk.judgement import settled
from protocol.risk.pressing.classes import APPROVAL_CLASS, Risk
from protocol.risk.pressing.pressing import UNSURE, needs_yes, surely_reads
from protocol.risk.requests.requests import GuardPolicy

Approve = Callable[[Action, Risk], bool]
"""Whether a person has approved this one action."""


def never(action: Action, risk: Risk) -> bool:
    """The default: nothing is approved."""
    return False


Report = Callable[[Action, Risk, bool], Awaitable[None]]
"""Called with every decision that needs an approval, and whether there was one, before the action is performed."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """Which risk classes may be performed."""

    report: Report
    risk_max: int = APPROVAL_CLASS - 1
    """The highest class that may be performed without asking; from ``APPROVAL_CLASS`` on a person has approved it."""
    approve: Approve = never
    class_max: int = 7
    """The highest class that any yes lets pass: what the policy of a mounted capsule allows."""
    named: str = ""
    """The address that a person named for this work to begin at; empty if nobody did."""
    sure: bool = False
    """True if a press needs a yes unless it certainly reads only, as with a capsule that forbids trials."""
    chooses: bool = False
    """True if a program chooses what is pressed, as a search does."""
    wall: GuardPolicy | None = None
    """What judges each message out of the pages that are worked on; None where something can leave that comes before no judge."""
    plans: bool = False
    """True if it is only found out what is needed: nothing leaves, so what acts inside the page alone is done without a yes."""
    asking: Asking | None = None
    """Asks the owner about what is refused, and knows what the owner has answered; None where nobody is asked."""

    def named_max(self, action: Action, risk: Risk) -> int:
        """The highest class of a request that ``action`` may send because it is named: to name it approves an ordinary write, and
        no more."""
        levels = (
            level for level in range(7, 0, -1) if self.approves(action, msgspec.structs.replace(risk, level=level))
        )
        return max(min(APPROVAL_CLASS, self.class_max), next(levels, 0))

    @property
    def approved_max(self) -> int:
        """The highest class that passes without a further yes."""
        return min(self.risk_max, self.class_max)

    @property
    def accepted_max(self) -> int:
        """The highest class of a dialog that is accepted without a further yes."""
        return self.class_max if self.plans else self.approved_max

    def weighed(self, action: Action, risk: Risk) -> Risk:
        """``risk``, the one of ``action``; but what a person named is not judged by the words of its address."""
        named = self.named and isinstance(action, Goto) and action.url == self.named
        return settled(1, "opens the page that a person named") if named else risk

    def needs_yes(self, action: Action, element: Element | None, risk: Risk, url: str) -> str:
        """Why ``action`` on the page at ``url`` needs a yes where its class does; empty if what it sends is judged as it leaves."""
        if self.wall is None:
            return "what leaves is not judged here"
        if self.plans and isinstance(action, Fill | Upload):
            return ""
        why = needs_yes(action, element, risk, self.wall, chosen_at=url if self.chooses else "")
        return UNSURE if not why and self.sure and not surely_reads(action, risk) else why

    def approves(self, action: Action, risk: Risk) -> bool:
        """Whether ``action`` passes without a yes of the owner's key."""
        return risk.level <= self.approved_max or (risk.level <= self.class_max and self.approve(action, risk))

    async def admit(
        self, action: Action, risk: Risk, sought: Sought | None = None, *, free: bool = False
    ) -> tuple[Cover, ...]:
        """Let ``action`` pass, once the decision is reported; the requests that a yes of the owner lets through with it.

        free: it needs no yes, as what it sends is judged. sought: what the owner is asked if the action is refused.
        Errors: ``risk.refused``, those of ``report``.
        """
        if free:
            if max(APPROVAL_CLASS, risk.level) > self.class_max:
                return ()  # no answer widens what the issuer of a capsule allows
            return await self.asking.covers(sought) if self.asking and sought else ()
        if risk.level > self.class_max:
            # Before anybody is asked: no answer of this node's owner widens what the issuer of a capsule allows.
            await self.report(action, risk, False)
            raise _refused(risk, f"; the capsule allows {self.class_max} at most, whoever approves")
        asking = self.asking if sought is not None else None
        admitted = self.approves(action, risk)
        granted = None
        if not admitted and asking is not None and sought is not None:
            granted = await asking.granted(sought)
        passes = admitted or granted is not None
        if risk.level >= APPROVAL_CLASS or not passes:
            await self.report(action, risk, passes)
        if not passes:
            question = await asking.ask(sought) if asking and sought else ""
            raise _refused(risk, f"; the owner is asked: {question}" if question else "", question)
        covers = await asking.covers(sought) if asking and sought else ()
        return covers if granted is None else (granted, *covers)

    async def performed(self, sought: Sought, refused: tuple[RequestForm, ...], exacts: tuple[bytes, ...]) -> str:
        """Ask the owner about requests that the guard refused while the action was performed; the id of the question."""
        return await self.asking.ask(sought, refused, exacts) if self.asking is not None and refused else ""


def unsent(risk: Risk, outcome: Outcome, *, held: bool = False) -> MeshError:
    """The error of an action that was done and of which the guard holds or refused what it sent."""
    asks = f"; the owner is asked: {outcome.question}" if outcome.question else ""
    return _refused(
        risk, f"; it was performed, and what it sent {'is held' if held else 'was refused'}{asks}", outcome.question
    )


def _refused(risk: Risk, why: str, question: str = "") -> MeshError:
    told = f"risk class {risk.level}: {risk.reason}{why}"
    more = {"question": question} if question else {}
    return MeshError("risk.refused", told, level=risk.level, reason=risk.reason, **more)
