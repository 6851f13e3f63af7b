"""Captures logins: the state of a file or of a live session is shown to its site, and then becomes a capsule."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from adapters.capsule_records import CapsuleRecord
from node.capsules.seal.basic_login import require_basic, with_given
from node.capsules.seal.capsules import Capsules
from node.capsules.seal.policies import check_renews, policy_of
from node.capsules.seal.proving import LiveState, Prove, ProvenState, StateSource, StateToProve, start_of, unproven
from node.capsules.seal.reading import read_state
from node.capsules.seal.sealing import counted, within
from node.verbs import Bound, Tell
from node.verbs.capsules import capsule as verbs
from node.verbs.capsules.capsule import CapturedCapsule, CaptureParams, PolicyParams
from protocol import ids
from protocol.capsule.capsule import SUITE, BrowserProfile, CapsuleHeader
from protocol.capsule.minimal import parts_of
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.goal.condition import Condition


class Capturing:
    """Makes capsules of existing state, and newer generations of capsules."""

    def __init__(self, capsules: Capsules, prove: Prove, live: LiveState) -> None:
        """prove: shows state to its site. live: reads the state of a live session."""
        self._capsules, self._kept, self.prove, self._live = capsules, capsules.kept, prove, live
        self.bound: Bound = {verbs.CAPTURE: self.capture}

    async def capture(self, given: CaptureParams, tell: Tell = lambda event: None) -> CapturedCapsule:
        """Keep the state of a file or of a live session, after it was shown to its site.

        Errors: ``input.*``, ``live.*``, ``capsule.*``, ``browser.*``, ``keylog.*``, ``log.rollback``, ``store.*``.
        """
        self._kept.witness.check_signs()
        require_basic(given.secrets)
        if bool(given.file) == bool(given.live) and (given.file or not given.secrets):
            told = "give either --from FILE or --live SESSION; for basic authentication alone --secret"
            raise MeshError("input.invalid", told)
        before = await self.replaced(given)
        source = await self._source(given, tell)
        begins = given.page or source.url or start_of(before.policy.origins if before else given.origins)
        source = msgspec.structs.replace(source, state=with_given(source.state, given.secrets, begins))
        if before is not None:
            return await self._renew(given, before, source, tell)
        origins = policy_of(given, source.state, self._kept.clock.now_ms()).origins
        counted(within(source.state, origins), policy_of(given, source.state, self._kept.clock.now_ms()))
        shown = await self._proven(given, source, origins, tell)
        return await self.keep(given, source.state, source.browser, shown)

    async def _source(self, given: CaptureParams, tell: Tell) -> StateSource:
        if given.live:
            return await self._live(given.live)
        found = CapsuleState()
        if given.file:
            read = await asyncio.to_thread(read_state, Path(given.file))
            for said in read.left_out:
                tell({"note": said})
            found = read.state
        return StateSource(state=found, browser=BrowserProfile(user_agent=given.user_agent))

    async def replaced(self, given: PolicyParams) -> CapsuleHeader | None:
        """The header of the capsule that newer state replaces; None for a new capsule. Called before anybody logs in for it.

        Errors: ``input.not_found``, ``input.invalid``, ``capsule.issuer``, ``capsule.expired``.
        """
        if not given.replaces:
            if given.name:
                await self._kept.check_free(given.name)
            return None
        before = self._kept.open(await self._kept.find(given.replaces)).header
        self._capsules.check_own(before)
        check_renews(given, before, self._kept.clock.now_ms())
        return before

    async def _proven(
        self, given: CaptureParams, source: StateSource, origins: tuple[str, ...], tell: Tell
    ) -> ProvenState:
        asked = StateToProve(
            state=within(source.state, origins),
            origins=origins,
            page=given.page or source.url or start_of(origins),
            until=Condition(text=given.shows) if given.shows else None,
            profile=source.browser.profile,
            whole=given.whole,
        )
        if given.unproven:
            return await unproven(asked, tell)
        return await self.prove(asked, tell)

    async def keep(
        self, given: PolicyParams, found: CapsuleState, browser: BrowserProfile, shown: ProvenState
    ) -> CapturedCapsule:
        """Seal the part of ``found`` that was shown to the site, as a new capsule or as newer state of one. browser: the browser
        that the state comes from.

        Errors: those of ``capture``.
        """
        if given.replaces:
            return await self._renewed(given, await self._kept.id_of(given.replaces), found, shown)
        now_ms = self._kept.clock.now_ms()
        policy = policy_of(given, found, now_ms)
        id = ids.make_id("cap", self._kept.clock.random(ids.ID_RANDOM_BYTES))
        origins = counted(shown.state, policy)
        header = CapsuleHeader(
            suite=SUITE,
            id=id,
            generation=1,
            tenant=self._kept.witness.node,
            owner="",
            name=given.name or await self._kept.free_name(origins[0].origin.partition("://")[2]),
            origins=origins,
            browser=browser,
            policy=policy,
            recipients=(),
            device=self._kept.device(id),
            captured_ms=now_ms,
            mfa_ms=now_ms if given.mfa_now else 0,
            sealed_ms=now_ms,
            state_bytes=0,
            head=self._kept.head(),
        )
        self._kept.witness.trail.about(id)
        return await self._captured(header, shown, within(found, policy.origins), found, None)

    async def _renew(
        self, given: CaptureParams, before: CapsuleHeader, source: StateSource, tell: Tell
    ) -> CapturedCapsule:
        """Seal newer state of a capsule of this node, after it was shown to the page that proves its login."""
        record = await self._kept.find(before.id)
        if not given.page and not source.url:
            given = msgspec.structs.replace(given, page=record.page, shows=given.shows or record.shows)
        shown = await self._proven(given, source, before.policy.origins, tell)
        return await self._renewed(given, before.id, source.state, shown)

    async def _renewed(self, given: PolicyParams, id: str, found: CapsuleState, shown: ProvenState) -> CapturedCapsule:
        """The next generation of a capsule, under the same id and policy."""
        async with self._capsules.changing:
            record = await self._kept.find(id)
            before = self._kept.open(record).header
            header = msgspec.structs.replace(
                before,
                generation=before.generation + 1,
                origins=counted(shown.state, before.policy),
                captured_ms=before.captured_ms,
                mfa_ms=self._kept.clock.now_ms() if given.mfa_now else before.mfa_ms,
            )
            self._kept.witness.trail.about(before.id)
            return await self._captured(header, shown, within(found, before.policy.origins), found, record)

    async def _captured(
        self,
        header: CapsuleHeader,
        shown: ProvenState,
        whole: CapsuleState,
        found: CapsuleState,
        before: CapsuleRecord | None,
    ) -> CapturedCapsule:
        """whole: the part of ``found`` that belongs to the origins of the policy."""
        record = await self._capsules.sealed(header, shown.state, before, shown.looks)
        left_out = len(found.cookies) + len(found.storage) - len(whole.cookies) - len(whole.storage)
        return CapturedCapsule(
            **msgspec.structs.asdict(await self._capsules.one(record)),
            left_out=left_out,
            proven=shown.proven,
            proof=shown.proof,
            not_needed=max(0, len(parts_of(whole)) - len(parts_of(shown.state))),
        )
