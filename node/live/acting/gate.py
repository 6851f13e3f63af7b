"""The gate before every action. It decides which risk classes may be performed, and which ones need a yes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from adapters.ports.browser import ActionOutcome
from node.live.acting.asking import Asking, Sought
from protocol.approval.forms import RequestForm
from protocol.approval.question import Cover
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Evaluate, Fill, Goto, Upload
from protocol.page.seen.observation import Element
from protocol.risk.judgement import settled
from protocol.risk.pressing.classes import APPROVAL_CLASS, Risk
from protocol.risk.pressing.pressing import UNSURE, needs_yes, surely_reads
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import rule_at

Approve = Callable[[Action, Risk], bool]
"""True if a person has approved this one action."""


def never(action: Action, risk: Risk) -> bool:
    """The default: nothing is approved."""
    return False


Report = Callable[[Action, Risk, bool], Awaitable[None]]
"""Called before the action is performed, with every decision that needs an approval and with True if it was approved."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """Decides which risk classes may be performed."""

    report: Report
    risk_max: int = APPROVAL_CLASS - 1
    """The highest class that may be performed without asking. From ``APPROVAL_CLASS`` on, a person has approved that."""
    approve: Approve = never
    class_max: int = 7
    """The highest class that any yes can let pass, as set by the policy of a mounted capsule."""
    named: str = ""
    """The start address that a person named for this work; empty if no person did."""
    scripts: Literal["all", "named", "none"] = "none"
    """Where an ``Evaluate`` may run: on any page, on pages of sites whose rule says so, or nowhere."""
    sure: bool = False
    """True if a press needs a yes unless it certainly only reads, as with a capsule that forbids probing."""
    chooses: bool = False
    """True if a program chooses the elements to press, as a search does."""
    wall: GuardPolicy | None = None
    """The policy that judges each message that leaves the pages; None if a message can leave unjudged."""
    plans: bool = False
    """True for a dry run: nothing leaves, so an action that acts only inside the page needs no yes."""
    asking: Asking | None = None
    """Asks the owner about refused actions and requests, and knows the owner's answers; None if nobody is asked."""

    def named_max(self, action: Action, risk: Risk) -> int:
        """The highest class of a request that ``action`` may send because an action file names the action. Naming it approves an
        ordinary write, and no more.
        """
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
        """``risk`` of ``action``, except that an address named by a person is not judged by its words."""
        named = self.named and isinstance(action, Goto) and action.url == self.named
        return settled(1, "opens the page that a person named") if named else risk

    def needs_yes(self, action: Action, element: Element | None, risk: Risk, url: str) -> str:
        """The reason why ``action`` on the page at ``url`` needs a yes if its class does; empty if its requests are judged as they
        leave.
        """
        if self.wall is None:
            return "what leaves is not judged here"
        if self.plans and isinstance(action, Fill | Upload):
            return ""
        why = needs_yes(action, element, risk, self.wall, chosen_at=url if self.chooses else "")
        return UNSURE if not why and self.sure and not surely_reads(action, risk) else why

    def require_script(self, action: Action, url: str, *, login: bool = False) -> None:
        """Return if ``action`` runs no script on the page at ``url``, or may. login: a page was given a secret. Errors:
        ``action.script_refused``.
        """
        if not isinstance(action, Evaluate):
            return
        if self.wall is None:
            raise MeshError("action.script_refused", "what leaves this browser is not all judged")
        if self.scripts == "none":
            raise MeshError("action.script_refused")
        index = rule_at(self.wall.sites, url)
        named = index is not None and self.wall.sites[index].scripts
        # The rule is about the page, and a frame in it may be of another site.
        narrowed = login or self.scripts == "named"
        if narrowed and not (named and not (action.target and action.target.frame)):
            raise MeshError(
                "action.script_refused", "there is a login, and no rule of the site lets scripts run with it"
            )

    def approves(self, action: Action, risk: Risk) -> bool:
        """True if ``action`` passes without a yes of the owner's key."""
        return risk.level <= self.approved_max or (risk.level <= self.class_max and self.approve(action, risk))

    async def admit(
        self, action: Action, risk: Risk, sought: Sought | None = None, *, free: bool = False
    ) -> tuple[Cover, ...]:
        """Report the decision, then let ``action`` pass. Returns the requests that the owner's yes lets through with it. free: the
        action needs no yes, because its requests are judged. sought: the question to the owner if the action is refused.
        Errors: ``risk.refused``, those of ``report``.
        """
        if free:
            if max(APPROVAL_CLASS, risk.level) > self.class_max:
                return ()  # no answer widens the limits set by the issuer of a capsule
            return await self.asking.covers(sought) if self.asking and sought else ()
        if risk.level > self.class_max:
            # Checked before anybody is asked: no answer of this node's owner widens the limits set by the issuer of a capsule.
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
        """Ask the owner about requests that the guard refused while the action was performed. Returns the id of the question."""
        return await self.asking.ask(sought, refused, exacts) if self.asking is not None and refused else ""


def unsent(risk: Risk, outcome: ActionOutcome, *, held: bool = False) -> MeshError:
    """The error of an action that was performed, but whose requests the guard holds or has refused."""
    asks = f"; the owner is asked: {outcome.question}" if outcome.question else ""
    return _refused(
        risk, f"; it was performed, and what it sent {'is held' if held else 'was refused'}{asks}", outcome.question
    )


def _refused(risk: Risk, why: str, question: str = "") -> MeshError:
    told = f"risk class {risk.level}: {risk.reason}{why}"
    more = {"question": question} if question else {}
    return MeshError("risk.refused", told, level=risk.level, reason=risk.reason, **more)
