"""Proves a login before it is kept: opens its page in a fresh browser with the state, and in one without it.

It leaves out the parts of the state that the page does not need. The browsers send only reads. Each look at the page has a context
of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import msgspec

from adapters.ports.browser import BrowserState, Page
from node.base.plain import counted
from node.capsules.seal import basic_login
from node.capsules.seal.browser_state import from_browser, to_browser
from node.capsules.seal.kept import Kept
from node.capsules.seal.sealing import within
from node.config import Config
from node.live.acting import Driver, Gate
from node.live.browsers import Browsers, guard_for
from node.live.finding import with_closed
from node.verbs import Tell
from protocol import limits
from protocol.capsule.capsule import BrowserProfile
from protocol.capsule.flows.login import Look, judge_proof
from protocol.capsule.flows.portability import findings
from protocol.capsule.flows.probe import Probe, Proven, judge_page, learned
from protocol.capsule.hidden import hidden_values
from protocol.capsule.minimal import Halving, only, parts_of, shown_by
from protocol.capsule.state import CapsuleState
from protocol.errors import NOT_LOADED, MeshError
from protocol.goal.condition import Condition
from protocol.page.actions.action import Goto
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.recording.records.session import Profile
from protocol.trust.origin import fits, origin_of

log = logging.getLogger(__name__)

_NOT_SEEN: Final = NOT_LOADED | {"browser.refused"}


class StateSource(msgspec.Struct, frozen=True, kw_only=True):
    """A state, with the place that it was taken from."""

    state: CapsuleState
    browser: BrowserProfile
    url: str = ""
    """The address of the page in front; empty if there is none."""


class StateToProve(msgspec.Struct, frozen=True, kw_only=True):
    """A state to keep, and the page that proves it."""

    state: CapsuleState
    """Limited to the origins."""
    origins: tuple[str, ...]
    page: str
    """Address of the page; empty if none is known."""
    until: Condition | None
    """A condition that the page meets only with the login."""
    profile: Profile
    whole: bool
    """True to keep the parts too that the page does not need."""
    must: bool = False
    """True to refuse a state that the page does not prove."""


class ProvenState(msgspec.Struct, frozen=True, kw_only=True):
    """The state to keep, and the evidence that it is a login."""

    state: CapsuleState
    proven: Proven
    proof: tuple[str, ...]
    looks: dict[str, Any]
    """Fields of its record: the page to check later, and how to recognise the login there."""


Prove = Callable[[StateToProve, Tell], Awaitable[ProvenState]]
"""Proves a state on its site. Errors: ``capsule.unproven``, ``browser.*``, ``policy.refused``."""
LiveState = Callable[[str], Awaitable[StateSource]]
"""Reads the state of a live session. Errors: ``live.*``, ``capsule.issuer``."""


Hiding = asyncio.Task[Secrets]
"""A task that prepares the secrets that hide the state in what a browser shows."""


async def unproven(asked: StateToProve, tell: Tell) -> ProvenState:
    """A ``Prove`` without a browser: it keeps the state unproven."""
    return _kept_whole(asked, "no page was opened")


async def no_live(live_id: str) -> StateSource:
    """A ``LiveState`` for a node without live sessions."""
    raise MeshError("live.not_found", "there are no live sessions here")


def start_of(origins: tuple[str, ...]) -> str:
    """The default page: the root of the first plain origin; empty if there are only patterns."""
    return next((f"{each}/" for each in origins if "://*." not in each), "")


class Proving:
    """Proves logins on their sites. ``prove`` is a ``Prove``."""

    def __init__(self, kept: Kept, browsers: Browsers, config: Config) -> None:
        self._kept, self._browsers, self._config = kept, browsers, config

    async def prove(self, asked: StateToProve, tell: Tell) -> ProvenState:
        """Open the page with the state and without it, then leave out the parts that the page does not need.

        Checks, in order: the page is of the origins; the state makes the difference (``judge_proof``); the rest still proves the
        login after parts were left out. If the site renews secrets at a visit, there is no second look: the newest state is kept
        whole. Errors: ``capsule.unproven``, ``capsule.origin``, ``browser.*``, ``policy.refused``.
        """
        if not asked.page:
            return _kept_whole(asked, "the origins are patterns: name a page with --page")
        if not fits(asked.origins, origin_of(asked.page)):
            raise MeshError("capsule.origin", f"the page is of {origin_of(asked.page) or 'no site'}")
        tell({"note": "opening the page in two fresh browsers, with the login and without it"})
        async with contextlib.AsyncExitStack() as stack:
            try:
                without, _ = await self._look(asked, None, None)
                # Built once for all looks, because they hide the same values, and built while the browser opens.
                hiding = asyncio.create_task(asyncio.to_thread(_hiding, asked.state), name="preparing to hide a login")
                stack.callback(hiding.cancel)
                given, held = await self._look(asked, asked.state, hiding)
            except MeshError as error:
                if asked.must or not error.code.startswith("browser."):
                    raise
                return _kept_whole(asked, f"no browser could open the page ({error.code})")
            return await self._compared(asked, without, given, held, hiding, tell)

    async def _compared(
        self, asked: StateToProve, without: Look, given: Look, held: BrowserState | None, hiding: Hiding, tell: Tell
    ) -> ProvenState:
        """held: the state at the end of the browser that began with the login."""
        proof = judge_proof(without, given, asked.until)
        if proof.fails or given.seen is None:
            if asked.must or proof.dead:
                raise MeshError("capsule.unproven", proof.fails + _bound(asked.state))
            return _kept_whole(asked, proof.fails)
        probe = learned((without,), given.seen, asked.until)
        state, reasons, minimal = asked.state, proof.reasons, False
        newest = await asyncio.to_thread(self._renewed, asked, held)
        if newest is not None:
            state, reasons = newest, (*reasons, "the site renews the login at a visit: all of its newest state is kept")
        elif probe.decides and not (asked.whole or asked.state.basic):
            state = await self._minimal(asked, probe, hiding, tell)
            minimal = True
        shows = asked.until.text if asked.until and asked.until == Condition(text=asked.until.text) else ""
        looks = {"page": asked.page, "shows": shows or "", "probe": probe, "minimal": minimal}
        return ProvenState(state=state, proven="proven", proof=reasons, looks=looks)

    def _renewed(self, asked: StateToProve, held: BrowserState | None) -> CapsuleState | None:
        """The state of the browser at its end if the site changed a secret in it; otherwise None."""
        if held is None:
            return None
        newest = within(from_browser(held, asked.state), asked.origins)
        before, now, secrets = parts_of(asked.state), parts_of(newest), tuple(hidden_values(asked.state).values())
        changed = [text for part, text in before.items() if now.get(part, text) != text]
        return newest if any(secret in text for text in changed for secret in secrets) else None

    async def _minimal(self, asked: StateToProve, probe: Probe, hiding: Hiding, tell: Tell) -> CapsuleState:
        """The state without the parts that the page does not need, as far as the allowed number of looks can show. Errors:
        ``capsule.unproven``.
        """
        parts = parts_of(asked.state)
        shown = shown_by(asked.page, asked.origins, parts)
        # Databases in files of the profile are kept or dropped together with the files.
        tried = tuple(part for part in shown if part.kind != "database" or not asked.state.slice.has(part.host))
        others = tuple(part for part in parts if part not in tried)
        halving, looks = Halving(tried), 0
        of = counted(len(tried), "cookie or entry", "cookies and entries")
        tell({"note": f"leaving out what the page does not need of {of}"})
        while looks < limits.CAPSULE_LOOKS_MAX and (proposed := halving.propose()) is not None:
            looks += 1
            halving.tell(held=await self._holds(asked, only(asked.state, (*others, *proposed)), probe, hiding))
        if not looks:
            return asked.state
        # A site may end a login after it saw parts of it, so the rest is shown once more after all attempts.
        for state in (only(asked.state, (*others, *halving.kept)), asked.state):
            if await self._holds(asked, state, probe, hiding):
                return state
        raise MeshError(
            "capsule.unproven", "the site ended the login when parts of it were left out: keep it with --whole"
        )

    async def _holds(self, asked: StateToProve, state: CapsuleState, probe: Probe, hiding: Hiding) -> bool:
        look, _ = await self._look(asked, state, hiding)
        return look.seen is not None and judge_page(probe, asked.page, asked.page, look.seen) == "alive"

    async def _look(
        self, asked: StateToProve, state: CapsuleState | None, hiding: Hiding | None
    ) -> tuple[Look, BrowserState | None]:
        """Open the page in a fresh browser that may only read from these origins.

        Returns the look, and the state at its end. hiding: hides the given state, if there is one.
        """
        guard = msgspec.structs.replace(
            guard_for(self._config.policy, within=asked.origins), allow=(), read_only=True, capsule=True
        )
        given = None
        if state is not None:
            given = await asyncio.to_thread(to_browser, state, now_s=self._kept.clock.now_ms() // 1000)
        async with self._browsers.opened(asked.profile, guard, state=given) as (context, page):
            secrets = await asyncio.shield(hiding) if hiding is not None else NO_SECRETS
            look = await self._opened(page, asked, secrets)
            held = await context.last_state(asked.origins) if state is not None and look.seen is not None else None
            return look, held

    async def _opened(self, page: Page, asked: StateToProve, secrets: Secrets) -> Look:
        url = asked.page
        driver = Driver(page, Gate(report=self._kept.witness.trail.gate), secrets)
        try:
            outcome = await driver.act(Goto(url=url))
            seen = await with_closed(page, outcome.observation, asked.until)
            return Look(seen=seen, challenged=_asks(outcome.challenges, url, asked))
        except MeshError as error:
            if error.code in _NOT_SEEN:
                asked_in_vain = _asks(error.detail.get("challenges", ()), url, asked)
                chain = tuple(error.detail.get("chain", ()))
                return Look(failed=error.code, challenged=asked_in_vain, chain=chain)
            raise


def _hiding(state: CapsuleState) -> Secrets:
    """Secrets that hide the values in ``state``, ready for searches."""
    secrets = basic_login.hiding(state)
    assert secrets.search
    return secrets


def _asks(challenges: Iterable[str], url: str, asked: StateToProve) -> bool:
    """True if the site asked for credentials that the state has, and did not accept an answer."""
    origin = origin_of(url)
    answers = any(each.origin == origin for each in asked.state.basic)
    return answers and any(each.endswith(f" {origin}") for each in challenges)


def _kept_whole(asked: StateToProve, why: str) -> ProvenState:
    shows = (asked.until.text or "") if asked.until else ""
    # Facts about another page, or about the state before, do not apply to this one.
    looks = {"page": asked.page, "shows": shows, "probe": Probe(), "minimal": False}
    return ProvenState(state=asked.state, proven="unknown", proof=(why,), looks=looks)


def _bound(state: CapsuleState) -> str:
    """The reason why a login may work only in its own browser; empty if there is no sign of that."""
    keys = [each.what for each in findings(state, now_s=0) if each.kind == "key-bound"]
    return f"; it is bound to a key that only its own browser has ({keys[0]})" if keys else ""
