"""Maintains capsules with a browser: checks that a login works, renews its state, and ends it on its site."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from adapters.capsule_records import CapsuleRecord, held_error
from adapters.ports.browser import ActionOutcome, BrowserState
from node.capsules.seal.basic_login import hiding
from node.capsules.seal.browser_state import from_browser, same, to_browser
from node.capsules.seal.capsules import Capsules
from node.capsules.seal.uses import Killed
from node.config import Config
from node.live.acting import Driver, Gate
from node.live.browsers import Browsers, Mount, Wish, guard_for, mounted
from node.verbs import Bound
from node.verbs.capsules import capsule_upkeep as verbs
from node.verbs.capsules.capsule import CapsuleParams
from node.verbs.capsules.capsule_upkeep import CheckedCapsule, LookParams, Noted, RefreshedCapsule
from protocol.capsule.capsule import CapsuleHeader
from protocol.capsule.flows.portability import Standing, findings, logout_control, place_of, standing, verdict_of
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator
from protocol.page.secrets.redaction import redact_address
from protocol.page.secrets.secrets import NO_SECRETS, Secrets, refuses
from protocol.page.seen.observation import BLANK
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.origin import fits, origin_of

log = logging.getLogger(__name__)

_STRANGERS: Final = 2
"""Browsers without the login that open the page. If the page differs between them, a difference to the login's page proves nothing.
"""
_LOGOUT_CLASS: Final = 7
"""The class of destruction, to which logging out belongs (docs/risk.md). The owner asked for it, and only one control is pressed,
by its name.
"""


class _Seen(NamedTuple):
    standing: Standing
    evidence: str
    url: str
    offers: list[str]
    """The origins that offer to bind sessions to a device."""


class Upkeep:
    """Checks, refreshes and rotates capsules, and ends logins on their sites."""

    def __init__(self, capsules: Capsules, browsers: Browsers, config: Config) -> None:
        self._capsules, self._kept = capsules, capsules.kept
        self._browsers, self._config = browsers, config
        self.bound: Bound = {
            verbs.CHECK: lambda params, tell: self.check(params),
            verbs.REFRESH: lambda params, tell: self.refresh(params),
            verbs.ROTATE: lambda params, tell: self.rotate(params),
        }

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def check(self, given: LookParams) -> CheckedCapsule:
        """Check that a login works in a fresh browser. Errors: those of ``Mounts.mount``, ``browser.*``, ``input.invalid``."""
        record, header = await self._found(given.capsule)
        page = _page(given.page or record.page, header)
        state = await self._kept.state(record)
        async with mounted(self._browsers.mounts, header.id, self._wish(header, page)) as mount:
            begun = mount.state
            seen = await self._seen(mount, page, given.shows or record.shows)
            if seen.standing == "dead":
                mount.begin_with(begun)  # state that a login page leaves behind is not newer state of the login
        notes = findings(state, now_s=self._kept.clock.now_ms() // 1000)
        row = await self._kept.store.ledger(header.id)
        return CheckedCapsule(
            id=header.id,
            name=header.name,
            verdict=verdict_of(seen.standing, notes, offered=bool(seen.offers)),
            page=seen.url,
            evidence=seen.evidence,
            offers=tuple(seen.offers),
            notes=tuple(Noted(kind=each.kind, travels=each.travels, what=each.what) for each in notes),
            expires_ms=header.policy.expires_ms,
            uses_left=max(0, header.policy.replays_max - (row.used if row else 0)),
        )

    async def refresh(self, given: LookParams) -> RefreshedCapsule:
        """Seal the state that a visit renews. Errors: those of ``check``, ``capsule.issuer``, ``capsule.logged_out``."""
        record, header = await self._own(given.capsule)
        page = _page(given.page or record.page, header)
        before = await self._kept.state(record)
        async with mounted(self._browsers.mounts, header.id, self._wish(header, page)) as mount:
            begun = mount.state
            seen = await self._seen(mount, page, given.shows or record.shows)
            held = mount.state
            if seen.standing == "alive" and await asyncio.to_thread(_is_newer, held, before):
                # Before it is sealed, the new state is shown to the site in a fresh browser. If every visit renews it, the state
                # of the last answer counts.
                seen = await self._seen(mount, page, given.shows or record.shows)
                held = mount.state
            mount.begin_with(begun)  # sealed below, even if copies were exported
            if seen.standing == "dead":
                raise MeshError("capsule.logged_out", seen.evidence, capsule=header.id)
            if seen.standing == "unknown":
                raise MeshError("input.invalid", f"{seen.evidence}: name one behind the login with --page")
        renewed = held is not None and held is not begun
        if held is not None and renewed:
            newer = await asyncio.to_thread(from_browser, held, before)
            renewed = await self._capsules.renew_if_newer(header.id, newer, before)
        return await self._told(header.id, renewed=renewed, evidence=seen.evidence)

    async def rotate(self, given: CapsuleParams) -> RefreshedCapsule:
        """Seal a capsule anew. Errors: ``input.not_found``, ``capsule.issuer``, ``capsule.held``, ``keylog.*``, ``store.*``."""
        record, header = await self._own(given.capsule)
        row = await self._kept.store.ledger(header.id)
        if row is not None and row.holder and self._kept.clock.now_ms() < row.held_until_ms:
            raise held_error(row)
        await self._capsules.renew_state(header.id, await self._kept.state(record))
        return await self._told(header.id, renewed=True)

    async def _told(self, capsule_id: str, *, renewed: bool, evidence: str = "") -> RefreshedCapsule:
        record = await self._kept.find(capsule_id)
        shown = await self._capsules.one(record)
        fields = msgspec.structs.asdict(shown)
        again = tuple(map(self._kept.peers.name_of, record.exported)) if renewed else ()
        return RefreshedCapsule(**fields, renewed=renewed, evidence=evidence, export_again=again)

    # --- the end of a login on its site ------------------------------------------------------------------------------

    async def kill(self, record: CapsuleRecord) -> Killed:
        """Log out on the site, then show it the old state again.

        Returns whether the site refuses that, and why. The tenant may always end a login, so no policy is checked and no use
        counted. Work that uses it was ended before.
        Errors: ``capsule.*``, ``browser.*``.
        """
        header = self._kept.open(record).header
        state = await self._kept.state(record)
        begun = await asyncio.to_thread(to_browser, state, now_s=self._kept.clock.now_ms() // 1000)
        page = _page(record.page, header)
        guard = msgspec.structs.replace(
            guard_for(self._config.policy), origins=header.policy.origins, read_only=False, capsule=True
        )
        secrets = await asyncio.to_thread(hiding, state)
        pressed = await self._log_out(guard, begun, page, secrets)
        reading = msgspec.structs.replace(guard, read_only=True)
        looks = await self._looks(reading, begun, page, secrets)
        found, evidence = _stands(looks, record.shows, secrets)
        if found != "dead" and not pressed:
            evidence = "the page has no control that says that it logs out: log out on the site yourself"
        return Killed(dead=found == "dead", evidence=evidence, pressed=pressed)

    async def _log_out(self, guard: GuardPolicy, state: BrowserState, page: str, secrets: Secrets) -> str:
        """Press the control that logs out, preferably of all devices. Returns its name, empty if there is none."""
        gate = Gate(report=self._kept.witness.trail.gate, risk_max=_LOGOUT_CLASS)
        async with self._browsers.opened(self._profile, guard, state=state) as (_, opened):
            driver = Driver(opened, gate, secrets)
            seen = (await driver.act(Goto(url=page))).observation
            control = logout_control(seen, everywhere=True)
            if control is None:
                return ""
            target = Locator(role=control.role, name=control.name, nth=place_of(seen, control))
            await driver.act(Click(target=target))
            return control.name  # a name that matches holds only these words, and nothing of the login

    # --- parts -------------------------------------------------------------------------------------------------------

    @property
    def _profile(self) -> Profile:
        return self._config.browser.profile

    async def _found(self, text: str) -> tuple[CapsuleRecord, CapsuleHeader]:
        record = await self._kept.find(text)
        self._kept.witness.trail.about(record.id)
        return record, self._kept.open(record).header

    async def _own(self, text: str) -> tuple[CapsuleRecord, CapsuleHeader]:
        record, header = await self._found(text)
        if header.tenant != self._kept.witness.node:
            raise MeshError("capsule.issuer", "only the node that captured a capsule changes it", tenant=header.tenant)
        return record, header

    def _wish(self, header: CapsuleHeader, page: str) -> Wish:
        # A look needs the lowest rights of all work, so any task that the policy names covers it.
        task = header.policy.tasks[0]
        return Wish(task=task, guard=guard_for(self._config.policy), start_url=page, risk_max=1)

    async def _seen(self, mount: Mount, page: str, shows: str) -> _Seen:
        """The reaction of the site to the login that is mounted."""
        secrets = await mount.hiding(NO_SECRETS)
        offers: list[str] = []
        looks = await self._looks(mount.guard, mount.state, page, secrets, mount, offers)
        found, evidence = _stands(looks, shows, secrets)
        return _Seen(found, evidence, _address(looks[0].observation.url, secrets), offers)

    async def _looks(
        self,
        guard: GuardPolicy,
        state: BrowserState | None,
        page: str,
        secrets: Secrets,
        mount: Mount | None = None,
        offers: list[str] | None = None,
    ) -> list[ActionOutcome]:
        """Open a page in a fresh browser with ``state``, and in others without. Errors: ``browser.*``, ``risk.refused``."""
        looks = [self._look(guard, state, page, secrets, mount, offers)]
        looks += [self._look(guard, None, page, secrets.answering({})) for _ in range(_STRANGERS)]
        tasks = [asyncio.ensure_future(look) for look in looks]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)  # none of the looks may hold the login after it is given back

    async def _look(
        self,
        guard: GuardPolicy,
        state: BrowserState | None,
        page: str,
        secrets: Secrets,
        mount: Mount | None = None,
        offers: list[str] | None = None,
    ) -> ActionOutcome:
        """Open a page in a fresh browser. mount: takes the state of the browser at its end. offers: gets the origins that offer to
        bind sessions.
        """
        gate = Gate(report=self._kept.witness.trail.gate, risk_max=self._config.policy.risk_class_max)
        async with self._browsers.opened(self._profile, guard, state=state) as (context, opened):
            noted = context.note_offers() if offers is not None else []
            try:
                outcome = await Driver(opened, gate, secrets).act(Goto(url=page))
            except MeshError as error:
                if not (asked := tuple(error.detail.get("challenges", ()))):
                    raise
                return ActionOutcome(observation=msgspec.structs.replace(BLANK, url=page), challenges=asked)
            if offers is not None:
                offers += noted
            if mount is not None:
                await mount.leave(context)
            return outcome


def _stands(looks: Sequence[ActionOutcome], shows: str, secrets: Secrets) -> tuple[Standing, str]:
    """Judge whether the site accepts the login. Only the first of ``looks`` had it. Returns the standing, and its evidence."""
    seen, *strangers = looks
    url = seen.observation.url
    answered = bool(seen.basic) and all(f"basic {origin_of(url)}" in each.challenges for each in strangers)
    refused = secrets.basic(origin_of(url)) is not None and refuses(seen.challenges, url)
    pages = [each.observation for each in strangers]
    return standing(seen.observation, pages, shows, answers=answered, refused=refused)


def _is_newer(held: BrowserState | None, before: CapsuleState) -> bool:
    return held is not None and not same(from_browser(held, before), before)


def _page(page: str, header: CapsuleHeader) -> str:
    """The address of the page to open. Errors: ``input.invalid``, ``capsule.origin``."""
    if not page:
        named = [each for each in header.policy.origins if "://*." not in each]
        if not named:
            raise MeshError("input.invalid", "the capsule is for patterns of origins: name a page with --page")
        page = f"{named[0]}/"
    if not fits(header.policy.origins, origin_of(page)):
        raise MeshError("capsule.origin", f"the page is of {origin_of(page) or 'no site'}", capsule=header.id)
    return page


def _address(url: str, secrets: Secrets) -> str:
    """The address where a look ended, redacted, because it may hold a part of the login."""
    return redact_address(url, secrets).partition("?")[0]
