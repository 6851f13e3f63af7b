"""Finds the element of an action on the page at hand, and judges the risk of the action on it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import msgspec

from adapters.ports.browser import Page
from node.live.acting.gate import Approve as Approve
from node.live.acting.gate import Gate as Gate
from node.live.acting.gate import Report as Report
from node.live.acting.gate import never as never
from node.live.finding.options import as_label, fit
from node.live.finding.personal import judge_of, pins_of, shown_name
from node.live.finding.selecting import around, missing, selected
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Check,
    Click,
    Drag,
    Extract,
    Fill,
    Focus,
    Locator,
    Press,
    Select,
    Upload,
    target_of,
    with_target,
)
from protocol.page.actions.evidence import ElementEvidence, collect
from protocol.page.actions.fits import Fit, MatchDemands
from protocol.page.actions.keys import require_key
from protocol.page.actions.locator import (
    disagrees,
    fitting,
    locate,
    resolve,
)
from protocol.page.actions.scope import part
from protocol.page.secrets.comparing import comparable_text
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.names import same_name
from protocol.page.seen.observation import CHECKABLE_ROLES, INTERACTIVE_ROLES, Element, Observation
from protocol.risk.judgement import weigh
from protocol.risk.pressing.classes import WRITE_CLASS, Risk, classify
from protocol.risk.pressing.drag import dropped

_ON_CONTROLS: Final = Click | Check | Fill | Select | Upload | Press | Focus
"""Actions that, performed on a label, act on its control."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """An action that is ready to be performed on the page at hand."""

    action: Action
    element: Element | None
    risk: Risk
    observation: Observation
    """The page on which the element was found."""
    onto: Element | None = None
    """The element that a drag ends on."""
    aim: Element | None = None
    """The element by which ``element`` is found again: its box, if it has no name of its own."""
    box: Element | None = None
    """The element that the target names: ``element`` itself, or a box that contains only this control."""
    fits: tuple[Fit, ...] = ()
    """How the texts of the target were matched; filled for a recorder only."""
    fits_onto: tuple[Fit, ...] = ()

    @property
    def evidence(self) -> ElementEvidence | None:
        """The evidence that distinguishes the element from others, not redacted."""
        aim = self.aim or self.element
        if aim is None:
            return ElementEvidence(fits=self.fits) if self.fits else None
        return msgspec.structs.replace(collect(aim, self.observation), fits=self.fits)

    @property
    def evidence_onto(self) -> ElementEvidence | None:
        """The evidence of the element that a drag ends on."""
        if self.onto is None:
            return None
        return msgspec.structs.replace(collect(self.onto, self.observation), fits=self.fits_onto)

    @property
    def ref(self) -> str | None:
        """The element's ref in the observation it was found in."""
        return self.element.ref if self.element else None


async def prepare(
    page: Page,
    observation: Observation,
    action: Action,
    *,
    evidence: ElementEvidence | None = None,
    secrets: Secrets = NO_SECRETS,
) -> tuple[Prepared, Observation]:
    """``action`` with its element found and its risk classified, and the observation the element was found in.

    A locator with selectors is found by them alone, on a fresh observation; role and name must then be those of the element. A
    locator without selectors is found by role and name on ``observation``, then on a fresh one if the page has changed. evidence:
    the recorded evidence of the element; it must agree, and replaces ``nth``. secrets: redact the comparison.
    Errors: ``action.target_missing``, ``action.target_ambiguous``, ``action.target_differs``, ``action.not_possible``,
    ``action.clipboard``, ``browser.*``.
    """
    if isinstance(action, Press):
        require_key(action.key)  # before the gate, because no approval helps
    target = target_of(action)
    if target is None:
        return unaimed(action, observation), observation
    if target.selectors:
        observation = await page.observe()
        # Work that goes through all elements of a page runs in a thread: a table of 10,000 rows would block the event loop.
        target = await asyncio.to_thread(shown_name, target, observation, secrets)
        element = await selected(
            page,
            observation,
            target,
            reads=isinstance(action, Extract),
            recorded=evidence is not None,
            pins=pins_of(evidence, observation.url, secrets),
        )
        if evidence is not None:
            await asyncio.to_thread(_require_recorded, evidence, element, observation, action, secrets)
    else:
        element, observation = await _named(page, observation, action, evidence, secrets)
    box = element
    element = observation.labelled(box) if isinstance(action, _ON_CONTROLS) else box
    element = observation.sole_control(element) if isinstance(action, Click) else element
    aim = element if element.name.strip() else box
    other = aim is not box
    action = fit(
        await as_label(page, action, element, recorded=evidence is not None),
        element,
        lambda text: comparable_text(text, secrets),
    )
    if other or not target.role or target.selectors or evidence is not None:
        found = locate(aim, observation, () if other else target.selectors)
        if target.within is not None and not other:
            found = msgspec.structs.replace(found, nth=target.nth, within=target.within)
        action = with_target(action, found)
    risk = await asyncio.to_thread(judged, action, box, observation)
    prepared = Prepared(action=action, element=element, risk=risk, observation=observation, aim=aim, box=box)
    return prepared, observation


def unaimed(action: Action, observation: Observation) -> Prepared:
    return Prepared(action=action, element=None, risk=classify(action, None, observation), observation=observation)


async def with_onto(page: Page, prepared: Prepared, evidence: ElementEvidence | None, secrets: Secrets) -> Prepared:
    """``prepared`` with the element that a drag ends on, found on the same observation: the refs of both hold in it only.

    Errors: as ``prepare``.
    """
    drag, observation = prepared.action, prepared.observation
    assert isinstance(drag, Drag) and prepared.element is not None
    aim = Click(target=drag.onto)
    if drag.onto.selectors:
        element = await selected(
            page, observation, drag.onto, reads=False, pins=pins_of(evidence, observation.url, secrets)
        )
        if evidence:
            await asyncio.to_thread(_require_recorded, evidence, element, observation, aim, secrets)
    else:
        element = await _resolved(page, observation, aim, drag.onto, evidence, secrets)
    found = locate(element, observation, drag.onto.selectors)
    if drag.onto.within is not None:
        found = msgspec.structs.replace(found, nth=drag.onto.nth, within=drag.onto.within)
    return msgspec.structs.replace(
        prepared,
        action=msgspec.structs.replace(drag, onto=found),
        onto=element,
        risk=dropped(prepared.element, element),
    )


def judged(action: Action, element: Element, observation: Observation) -> Risk:
    """The risk of ``action`` on the control that receives it, when ``element`` is a label or a box around that control."""
    if (labelled := observation.labelled(element)) is not element:
        return judged(action, _called(labelled, element.name), observation)
    if isinstance(action, Click) and (control := observation.sole_control(element)) is not element:
        if control.name.strip() and control.role in CHECKABLE_ROLES:
            return classify(action, control, observation)  # a box and its label both name what the form sends
        named = msgspec.structs.replace(control, name=control.name or element.name)
        # The text of the box counts too: it may be the only name of an icon.
        return weigh(classify(action, named, observation), classify(action, element, observation).evidence)
    if element.role in INTERACTIVE_ROLES and not element.inside:
        return classify(action, element, observation)
    around = observation.control_around(element)
    if isinstance(action, Click) and around is not None:
        return classify(action, around, observation)
    if not element.inside:
        return classify(action, element, observation)
    each = [classify(action, item, observation) for item in (element, around)]
    return max(each, key=lambda risk: risk.level)


def _called(control: Element, label: str) -> Element:
    """``control`` under the name that its label ``label`` gives it: a person reads the label, not the control's own name."""
    if not label.strip() or same_name(control.name, label):
        return control
    return msgspec.structs.replace(control, traits=msgspec.structs.replace(control.traits, label=label))


def _require_recorded(
    evidence: ElementEvidence, element: Element, observation: Observation, action: Action, secrets: Secrets
) -> None:
    """Return if the element that the author's selector found is the recorded one. Errors: ``action.target_differs``."""
    writes = judged(action, element, observation).level >= WRITE_CLASS
    judge = judge_of(evidence, observation, secrets)
    if found := judge.differs(element, reads=isinstance(action, Extract), writes=writes):
        raise disagrees(target_of(action), element, found)


async def _named(
    page: Page, observation: Observation, action: Action, evidence: ElementEvidence | None, secrets: Secrets
) -> tuple[Element, Observation]:
    target = target_of(action)
    assert target is not None
    if not (target.role or target.name):
        raise MeshError("action.target_missing", "the locator gives neither role, name nor selectors")
    if target.within is None or not target.within.selectors:
        with contextlib.suppress(MeshError):
            return await _resolved(page, observation, action, target, evidence, secrets), observation
    observation = await page.observe()
    try:
        return await _resolved(page, observation, action, target, evidence, secrets), observation
    except MeshError as error:
        raise await missing(page, target, error) from None


async def _resolved(
    page: Page,
    observation: Observation,
    action: Action,
    target: Locator,
    evidence: ElementEvidence | None,
    secrets: Secrets,
) -> Element:
    pins = pins_of(evidence, observation.url, secrets)
    outer = await around(page, observation, target, pins)
    return await asyncio.to_thread(_chosen, outer, observation, action, target, evidence, secrets, pins)


def _chosen(
    outer: Element | None,
    observation: Observation,
    action: Action,
    target: Locator,
    evidence: ElementEvidence | None,
    secrets: Secrets,
    pins: MatchDemands,
) -> Element:
    seen = part(outer, observation)
    target = shown_name(target, seen, secrets)
    pool = fitting(target, seen, pins)
    if evidence is None or not pool:
        return resolve(target, seen, pins)
    writes = any(classify(action, item, observation).level >= WRITE_CLASS for item in pool)
    return judge_of(evidence, observation, secrets).choose(target, pool, writes=writes)
