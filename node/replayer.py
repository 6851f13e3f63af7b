"""Replaying: a recorded session is driven again in a fresh page, compared step by step, and the result signed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from adapters.ports import ArtefactRecord, Clock, Page
from node.acting import Driver, Gate
from node.recorder import Signer
from protocol import ids
from protocol.cbor import decode_as
from protocol.envelope import KeyFinder, verify
from protocol.errors import MeshError
from protocol.limits import ARTEFACT_BYTES_MAX
from protocol.messages import KIND_REPLAY_REPORT
from protocol.redaction import redact_address, reveal_action, secrets_named
from protocol.replay import Rebase, check_report, compare, not_performed, rebase, rebased, replayable, verdict
from protocol.session import BrowserInfo, ReplayReport, Session, Step, StepMatch


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is replayed: from the store or from a bundle."""

    session: Session
    steps: Sequence[Step]
    manifest: bytes
    """SHA-256 of the signed manifest."""


class ReplayPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a session is replayed."""

    browser: BrowserInfo
    gate: Gate
    secrets: Mapping[str, str] = {}
    base_url: str = ""
    """Another origin to replay at; empty for the recorded one."""
    screenshots: bool = False
    """Take a picture of each step that diverged."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay gave."""

    report: ReplayReport
    artefact: ArtefactRecord
    """The report, signed by this node."""
    screenshots: dict[int, bytes]
    """PNG by index of the step that diverged."""


class _Run:
    """One replay on one page."""

    def __init__(self, page: Page, clock: Clock, plan: ReplayPlan, mapping: Rebase) -> None:
        self._page = page
        self._clock = clock
        self._plan = plan
        self._mapping = mapping
        self._driver = Driver(page, plan.gate, plan.secrets)
        self.matches: list[StepMatch] = []
        self.blocked: list[str] = []
        self.screenshots: dict[int, bytes] = {}

    async def drive(self, steps: Sequence[Step], on_step: Callable[[StepMatch], None] | None) -> None:
        """Go on after a step that diverged, stop at one that cannot be performed."""
        for step in steps:
            match = await self._step(step)
            self.matches.append(match)
            if self._plan.screenshots and not match.matched:
                await self._picture(step.index)
            if on_step is not None:
                on_step(match)
            if not match.performed:
                return

    async def _step(self, step: Step) -> StepMatch:
        began_ms = self._clock.now_ms()
        secrets = self._plan.secrets
        action = rebased(reveal_action(step.action, secrets), self._mapping)
        # The state hash holds the origin, so on another one there is nothing to wait for but a page that is still.
        expect = None if self._mapping.active else step.state
        try:
            outcome = await self._driver.act(action, expect=expect)
        except MeshError as error:
            return not_performed(step, error.code, self._since(began_ms))
        self.blocked += [redact_address(item, secrets) for item in outcome.blocked]
        return compare(
            step,
            outcome.observation,
            extracted=outcome.extracted,
            duration_ms=self._since(began_ms),
            secrets=secrets,
            mapping=self._mapping,
        )

    def _since(self, began_ms: int) -> int:
        return max(0, self._clock.now_ms() - began_ms)

    async def _picture(self, index: int) -> None:
        try:
            self.screenshots[index] = await self._page.screenshot()
        except MeshError:
            return  # the report says what failed; a picture of it is a courtesy


async def replay(
    recorded: Recorded,
    page: Page,
    clock: Clock,
    signer: Signer,
    plan: ReplayPlan,
    *,
    on_step: Callable[[StepMatch], None] | None = None,
) -> Replayed:
    """Drive ``recorded`` again on ``page`` (blank, in a fresh context) and sign what was seen.

    A page that differs is not an error: the report says so. Errors: ``action.secret_missing`` (before anything is
    done), ``input.invalid`` (base address).
    """
    steps = replayable(recorded.steps)
    for name in sorted({name for step in steps for name in secrets_named(step.action)} - plan.secrets.keys()):
        raise MeshError("action.secret_missing", f"the replay needs the secret “{name}”", name=name)
    mapping = rebase(recorded.session.start_url, plan.base_url)
    run = _Run(page, clock, plan, mapping)
    began_ms = clock.now_ms()
    await run.drive(steps, on_step)
    matched = sum(match.matched for match in run.matches)
    report = ReplayReport(
        id=ids.make_id("rep", clock.random(ids.ID_RANDOM_BYTES)),
        session=recorded.session.id,
        manifest=recorded.manifest,
        node=signer.node,
        replayed_ms=began_ms,
        browser=plan.browser,
        steps=tuple(run.matches),
        matched=matched,
        verdict=verdict(matched, len(steps)),
        duration_ms=max(0, clock.now_ms() - began_ms),
        blocked=tuple(run.blocked),
        origin=mapping.replayed if mapping.active else "",
    )
    artefact = await signer.artefact(KIND_REPLAY_REPORT, recorded.session.id, report)
    return Replayed(report=report, artefact=artefact, screenshots=run.screenshots)


def open_report(data: bytes, find_key: KeyFinder, recorded: Recorded) -> ReplayReport:
    """The report in the envelope ``data``, once it is verified and fits the recording.

    Checks, in order: envelope and signature; form; signed by the node it names; consistency with the recording
    (``protocol.replay.check_report``). Errors: ``envelope.*``, ``report.invalid``.
    """
    signed = verify(data, kinds=frozenset({KIND_REPLAY_REPORT}), find_key=find_key)
    try:
        report = decode_as(signed.payload, ReplayReport, bytes_max=ARTEFACT_BYTES_MAX)
    except MeshError as error:
        raise MeshError("report.invalid", error.message) from error
    if report.node != signed.claims.issuer:
        raise MeshError("envelope.issuer", f"a report of {report.node[:7]} signed by {signed.claims.issuer[:7]}")
    check_report(report, session=recorded.session, manifest_digest=recorded.manifest, steps=recorded.steps)
    return report
