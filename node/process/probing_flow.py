"""Drives a login once to find its weaknesses. It needs no node and stores nothing: the browsers belong to this process.

One browser logs in and is observed. Fresh browsers get its state from before or after the login, and open the address that
needs the login. The pages that they see are the evidence, not names of cookies.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from protocol.errors import MeshError

if TYPE_CHECKING:
    from adapters.ports.browser import BrowserState
    from node.config import Config
    from node.live.acting import Driver
    from node.live.browsers import Browsers
    from node.sessions.actions import ActionFile
    from node.verbs import Tell
    from protocol.capsule.flows.auth_flow import Signs
    from protocol.capsule.flows.flow_findings import ObservedLogout
    from protocol.capsule.flows.login import Look, Proof
    from protocol.goal.condition import Condition
    from protocol.page.actions.action import Action
    from protocol.page.secrets.secrets import Secrets
    from protocol.risk.pressing.classes import Risk

_LOGOUT_CLASS: Final = 7
"""A control is pressed only if its whole name means logging out, and the person has asked for that."""


class ProbedFlow(msgspec.Struct, frozen=True, kw_only=True):
    """The order for one probe."""

    url: str
    """An address that needs the login."""
    file: str
    """Path of the action file that logs in."""
    secrets: dict[str, Any] = {}
    """As ``GivenSecret`` in plain data, by name."""
    allow: tuple[str, ...] = ()
    approve_class: int = 0
    until: Any = None
    """A condition in plain data that only a page with the login meets; None if the page shows the login by itself."""
    log_out: bool = False

    def __repr__(self) -> str:
        return f"Asked(url={self.url!r}, secrets={sorted(self.secrets)})"


async def probe_flow(home: Path, config_file: str, asked: ProbedFlow, tell: Tell) -> dict[str, Any]:
    """The kinds of login, its weaknesses, and its sound parts.

    config_file: as ``probe_login``. Errors: ``input.*``, ``action.*``, ``risk.refused``, ``browser.*``, ``config.invalid``;
    ``capsule.unproven`` if the flow did not log in.
    """
    from node.live.browsers import Browsers
    from node.process.machine import browser_of
    from node.process.watching import configured
    from node.sessions.actions import read_action_file
    from protocol.goal import condition
    from protocol.page.secrets.redaction import redact_url
    from protocol.page.secrets.secrets import GivenSecret, Secrets
    from protocol.page.seen.web_address import require_web

    require_web(asked.url)
    until = None if asked.until is None else condition.parse(asked.until)
    config, file = configured(home, config_file), read_action_file(Path(asked.file))
    if file.capsule:
        raise MeshError(
            "input.invalid", "a login begins in a browser without one: leave `capsule` out of the action file"
        )
    try:
        given = msgspec.convert(asked.secrets, dict[str, GivenSecret])
    except msgspec.ValidationError:
        raise MeshError("input.invalid", "a secret is too short or too long, or there are too many sites") from None
    secrets = Secrets(given, begins=file.start_url)
    if missing := sorted(set(file.secrets) - secrets.keys()):
        raise MeshError("action.secret_missing", f"the actions need the secret “{missing[0]}”", names=missing)
    browsers = Browsers(browser_of(config.browser))
    try:
        found = await _Probe(config, browsers, asked, until).run(file, secrets, tell)
    finally:
        await browsers.close()
    return {"url": redact_url(asked.url), **found}


class _Probe:
    """One run of the probe."""

    def __init__(self, config: Config, browsers: Browsers, asked: ProbedFlow, until: Condition | None) -> None:
        self._config, self._browsers, self._asked, self._until = config, browsers, asked, until
        self._stranger: Look | None = None

    async def run(self, file: ActionFile, secrets: Secrets, tell: Tell) -> dict[str, Any]:
        """Run the probe. Errors: as ``probe_flow``."""
        from protocol.capsule.flows.flow_findings import judge_flow

        looks, before, after = await self._driven(file, secrets, tell)
        tell(
            {"note": "opening the address in fresh browsers, with what the browser held before the login, and after it"}
        )
        proof = await self._proof(after)
        if proof.fails:
            raise MeshError("capsule.unproven", f"the flow did not log in: {proof.fails}")
        flow, sound = judge_flow(looks, await self._proof(before), await self._ended(after))
        return {**msgspec.to_builtins(flow), "sound": msgspec.to_builtins(sound), "steps": len(file.actions)}

    async def _driven(
        self, file: ActionFile, secrets: Secrets, tell: Tell
    ) -> tuple[list[Signs], BrowserState, BrowserState]:
        """Perform the steps. Returns the signs before each secret and at the end, and the browser's state at the beginning and
        the end."""
        from node.live.acting import Driver, Gate, KeptCodes
        from node.live.browsers import guard_for
        from node.process.machine import system_clock
        from node.process.wiring import open_heard
        from protocol.page.actions.action import describe
        from protocol.page.secrets.redaction import Redaction, redacted, secrets_named

        guard = guard_for(self._config.policy, self._asked.allow)
        risk_max = max(self._config.policy.risk_class_max, self._asked.approve_class)
        async with open_heard(self._config.browser)(file.profile, guard) as heard:
            gate = Gate(report=_unreported, risk_max=risk_max)
            driver = Driver(heard.page, gate, secrets, codes=KeptCodes(_Memory(), system_clock()))
            looks: list[Signs] = []
            before: BrowserState | None = None
            for number, action in enumerate(file.actions, 1):
                if secrets_named(action):
                    looks.append(await heard.signs())
                    before = before or await heard.state()
                await _act(driver, action, number)
                tell(
                    {
                        "step": number,
                        "of": len(file.actions),
                        "did": describe(redacted(action, Redaction(secrets))),
                        "ok": True,
                    }
                )
            if before is None:
                raise MeshError("input.invalid", "no step of the file types a secret, so none of them logs in")
            return [*looks, await heard.signs()], before, await heard.state()

    async def _proof(self, state: BrowserState) -> Proof:
        from protocol.capsule.flows.login import judge_proof

        if self._stranger is None:
            self._stranger = await self._look(None)
        return judge_proof(self._stranger, await self._look(state), self._until)

    async def _look(self, state: BrowserState | None) -> Look:
        """Open the address in a fresh browser that begins with ``state`` and may contact only the address's origin."""
        from node.live.acting import Driver, Gate
        from node.live.browsers import guard_for
        from node.live.finding import with_closed
        from protocol.capsule.flows.login import Look
        from protocol.errors import NOT_LOADED
        from protocol.page.actions.action import Goto
        from protocol.trust.origin import origin_of

        url = self._asked.url
        guard = guard_for(self._config.policy, within=(origin_of(url),))
        async with self._browsers.opened(self._config.browser.profile, guard, state=_begun(state)) as (_, page):
            try:
                seen = (await Driver(page, Gate(report=_unreported)).act(Goto(url=url))).observation
                return Look(seen=await with_closed(page, seen, self._until))
            except MeshError as error:
                if error.code in {"browser.refused", *NOT_LOADED}:
                    return Look(failed=error.code, chain=tuple(error.detail.get("chain", ())))
                raise

    async def _ended(self, state: BrowserState) -> ObservedLogout | None:
        """Log out in a browser of its own, and open the site again with the old state. None if that was not asked for."""
        from node.live.acting import Driver, Gate
        from node.live.browsers import guard_for
        from protocol.capsule.flows.flow_findings import ObservedLogout
        from protocol.capsule.flows.portability import logout_control, place_of
        from protocol.page.actions.action import Click, Goto, Locator
        from protocol.trust.origin import origin_of

        if not self._asked.log_out:
            return None
        url = self._asked.url
        guard = guard_for(self._config.policy, within=(origin_of(url),))
        guard = msgspec.structs.replace(guard, read_only=False)
        async with self._browsers.opened(self._config.browser.profile, guard, state=_begun(state)) as (_, page):
            driver = Driver(page, Gate(report=_unreported, risk_max=_LOGOUT_CLASS))
            seen = (await driver.act(Goto(url=url))).observation
            control = logout_control(seen)
            if control is None:
                return ObservedLogout(pressed=False)
            target = Locator(role=control.role, name=control.name, nth=place_of(seen, control))
            await driver.act(Click(target=target))
        return ObservedLogout(pressed=True, taken=not (await self._proof(state)).fails)


async def _act(driver: Driver, action: Action, number: int) -> None:
    """Perform one step. Errors: those of ``Driver.act``, with the number of the step."""
    try:
        await driver.act(action)
    except MeshError as error:
        error.detail.setdefault("step", number)
        raise


def _begun(state: BrowserState | None) -> BrowserState | None:
    """The initial state of a fresh browser."""
    from node.capsules.seal import from_browser, to_browser
    from node.process.machine import system_clock
    from protocol.capsule.state import CapsuleState

    if state is None:
        return None
    return to_browser(from_browser(state, CapsuleState()), now_s=system_clock().now_ms() // 1000)


async def _unreported(action: Action, risk: Risk, approved: bool) -> None:
    """Ignore the report: nothing is written down without a node."""


class _Memory:
    """The one-time codes that this command has typed."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    async def get_meta(self, key: str) -> bytes | None:
        """Implements ``node.live.acting.codes.Meta``."""
        return self._kept.get(key)

    async def put_meta(self, key: str, value: bytes) -> None:
        """Implements ``node.live.acting.codes.Meta``."""
        self._kept[key] = value
