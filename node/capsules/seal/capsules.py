"""Captures, shows and uses the capsules of this node. A use is judged, counted, signed and reported before the state is opened."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from adapters.capsule_records import CapsuleRecord, LedgerRecord, Taken
from node.capsules.seal.attesting import Attesting
from node.capsules.seal.browser_state import same
from node.capsules.seal.endings import Endings
from node.capsules.seal.kept import Kept
from node.capsules.seal.sealing import counted, within
from node.capsules.seal.showing import held_in, shown
from node.capsules.seal.uses import Mounted, Report, Wanted, nobody
from node.verbs import Bound, Caller, CallerKind, NoParams, current_caller
from node.verbs.capsules import capsule as verbs
from node.verbs.capsules.capsule import (
    CapsuleList,
    CapsuleParams,
    GrantedCapsule,
    GrantedList,
    KeptCapsule,
    RemovedCapsule,
    ShownCapsule,
    ShowParams,
)
from node.verbs.nodes.agent import AGENT_TASKS
from protocol import limits
from protocol.capsule.artefacts import KIND_REVOCATION, KIND_USE, Use
from protocol.capsule.capsule import Capsule, CapsuleHeader
from protocol.capsule.flows.portability import is_carried
from protocol.capsule.minimal import as_minimal
from protocol.capsule.policy import UseFacts, judge_use
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError

log = logging.getLogger(__name__)

_RESEAL_MS: Final = limits.SEALING_KEY_DAYS_MAX * 86_400_000 // 2
"""A capsule of this node is sealed to the next key when its present key has less than this time left."""


class Capsules:
    """The capsules of this node. ``load`` comes first."""

    def __init__(self, kept: Kept, endings: Endings, report: Report = nobody) -> None:
        """report: tells the tenant of a use."""
        self.kept, self.attesting, self.endings, self._report = kept, Attesting(kept), endings, report
        self.changing = asyncio.Lock()
        """Held by code that reads a capsule of this node and then stores it again: a change between the two would be lost."""
        self.bound: Bound = {
            verbs.LIST: lambda params, tell: self.listed(),
            verbs.GRANTED: lambda params, tell: self.granted(current_caller()),
            verbs.SHOW: lambda params, tell: self.show(params),
            verbs.REMOVE: lambda params, tell: self.remove(params),
        }

    async def load(self) -> None:
        """Read the sealing keys. Signs nothing, because this store may be an old copy and no peer was asked yet. Errors:
        ``store.*``.
        """
        await self.kept.keys.load()
        for record in await self.kept.store.capsules():
            # Only one process owns the data directory, so every holder of a lease has ended.
            row = await self.kept.store.ledger(record.id)
            if row is not None and row.holder:
                await self.kept.store.give_back_capsule(record.id, row.holder)
            with contextlib.suppress(MeshError):  # a revoked capsule whose file was put back: its use is refused anyway
                await self.kept.recount(record.id, record.tenant)
        await self.kept.store.prune_ledger(self.kept.clock.now_ms())

    async def tend(self) -> None:
        """Destroy the sealing keys that have ended, and seal this node's capsules to the next key before their present key ends.
        Errors: ``store.*``.
        """
        await self.kept.keys.sweep()
        for record in await self.kept.store.capsules():
            if record.tenant == self.kept.witness.node:
                try:
                    await self._reseal(record.id)
                except MeshError as error:
                    log.warning("%s is not sealed to the next key: %s", record.id, error)

    async def _reseal(self, capsule_id: str) -> None:
        async with self.changing:
            record = await self.kept.find(capsule_id)
            capsule = self.kept.open(record)
            now_ms = self.kept.clock.now_ms()
            key_id = self.kept.recipient(capsule).key
            ends_ms = self.kept.keys.ends_ms(key_id)
            lost = ends_ms <= now_ms
            if lost or ends_ms - now_ms > _RESEAL_MS or now_ms >= capsule.header.policy.expires_ms:
                return
            state = await self.kept.state(record)
            made, stream = await self.kept.seal(state, capsule.header, {}, record.consents)
            await self.kept.keep(made, stream, record)

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def sealed(
        self, header: CapsuleHeader, state: CapsuleState, before: CapsuleRecord | None, looks: Mapping[str, Any]
    ) -> CapsuleRecord:
        """Scan the state, sign the findings and the contents, seal the state, and store the capsule."""
        await self.attesting.attest(header, state)
        capsule, stream = await self.kept.seal(state, header, {}, before.consents if before else ())
        return await self.kept.keep(capsule, stream, before, **looks)

    async def seal_next(self, header: CapsuleHeader, state: CapsuleState, before: CapsuleRecord) -> CapsuleRecord:
        """Seal the next generation of an own capsule, while ``changing`` is held. Errors: as ``renew_state``."""
        return await self.sealed(header, state, before, {})

    def check_own(self, header: CapsuleHeader) -> None:
        """Check that this node has captured it. Errors: ``capsule.issuer``."""
        if header.tenant != self.kept.witness.node:
            raise MeshError("capsule.issuer", "only the node that captured a capsule changes it", tenant=header.tenant)

    async def listed(self, params: NoParams | None = None) -> CapsuleList:
        """Every valid capsule. Capsules of a distrusted node, for example, are left out."""
        found = []
        for record in await self.kept.store.capsules():
            try:
                found.append(await self.one(record))
            except MeshError as error:
                log.warning("%s: %s", record.id, error)
        return CapsuleList(capsules=tuple(found))

    async def granted(self, caller: Caller) -> GrantedList:
        """The capsules with which ``caller`` may begin its work. Errors: ``store.*``."""
        agent, work = caller.kind is CallerKind.AGENT, dict(caller.capsules)
        since_ms = caller.since_ms if agent else self.kept.clock.now_ms()
        found = []
        for record in await self.kept.store.capsules():
            if (agent and record.id not in work) or not await self.kept.grants(record.id, since_ms):
                continue
            header = self.kept.open(record).header
            found.append(
                GrantedCapsule(
                    id=record.id,
                    name=header.name,
                    origins=header.policy.origins,
                    work=work.get(record.id, AGENT_TASKS),
                    expires_ms=header.policy.expires_ms,
                )
            )
        return GrantedList(capsules=tuple(found))

    async def one(self, record: CapsuleRecord) -> KeptCapsule:
        """The description of a capsule."""
        row = await self.kept.store.ledger(record.id)
        return shown(self.kept, record, self.kept.open(record), row)

    async def show(self, given: ShowParams) -> ShownCapsule:
        """One capsule. Errors: ``input.not_found``, ``capsule.*``."""
        record = await self.kept.find(given.capsule)
        fields = msgspec.structs.asdict(await self.one(record))
        state = await self.kept.state(record) if given.names else None
        weak = await self.attesting.words(record, state)
        if state is None:
            return ShownCapsule(**fields, weak=weak)
        lost = tuple(f"{each.origin}: {each.what}" for each in state.lost if not is_carried(state, each))
        return ShownCapsule(**fields, holds=held_in(state), lost=lost, weak=weak)

    async def remove(self, given: CapsuleParams) -> RemovedCapsule:
        """Delete a capsule, and end the work that uses it; its row of the ledger stays. Errors: ``input.not_found``,
        ``store.*``.
        """
        record = await self.kept.find(given.capsule)
        self.kept.witness.trail.about(record.id)
        async with self.changing:
            await self.endings.forget(record.id)
        await self.endings.tell(record.id)
        return RemovedCapsule(id=record.id)

    # --- using -------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def using(self, text: str, wanted: Wanted) -> AsyncIterator[Mounted]:
        """Open a capsule for one use, which ends with the block.

        Checks, in order: the capsule is here, and its signatures are valid; it was sealed within the present witness log; its
        policy; it was scanned here; this node may sign; revocation, generation, lease and count (``Store.take_capsule``). Then the
        use is signed, entered in the witness log and reported to the tenant. A refusal of the tenant ends it; if the tenant is not
        reached, the freshness window decides. Only then the state is opened. Errors: ``input.not_found``, ``capsule.*``,
        ``envelope.*``, ``keylog.*``, ``log.rollback``, ``peer.distrusted``, ``store.*``.
        """
        self.kept.witness.check_untampered()
        record = await self.kept.find(text)
        if self.kept.witness.entries(KIND_REVOCATION, record.id):
            raise MeshError("capsule.revoked", capsule=record.id)
        capsule = self.kept.open(record)
        if capsule.header.sealed_ms < self.kept.began_ms():
            raise MeshError("capsule.copied", capsule=record.id)
        before = await self.kept.store.ledger(record.id)
        now_ms = self.kept.clock.now_ms()
        try:
            self._judge(capsule, before, wanted, now_ms)
        except MeshError as error:
            if before is not None and error.code != "capsule.clock":
                # A policy that has expired at this time stays expired, even if the clock is set back and the owner accepts that.
                await self.kept.store.raise_ledger(msgspec.structs.replace(before, latest_ms=now_ms))
            raise
        await self.attesting.of(record)
        self.kept.witness.check_signs()
        taken = Taken(
            node=self.kept.witness.node,
            holder=wanted.holder,
            generation=record.generation,
            replays_max=capsule.header.policy.replays_max,
            now_ms=now_ms,
            until_ms=now_ms + min(wanted.seconds, limits.CAPSULE_LEASE_S_MAX) * 1000,
            by=f"{current_caller()} ({wanted.work or wanted.task})",
        )
        try:
            row = await self.kept.store.take_capsule(record.id, taken)
        except MeshError as error:
            raise _for_caller(error) from error
        try:
            number = row.uses[self.kept.witness.node]
            use = await self._signed(capsule.header, wanted, number)
            await self._reported(capsule, row, use)
            state = await self.kept.state(record)
            yield Mounted(capsule=capsule, state=state, number=number, use=use)
        finally:
            await self.kept.store.give_back_capsule(record.id, wanted.holder)

    async def still(self, mounted: Mounted, wanted: Wanted) -> None:
        """Judge a lasting use again, with the checks of its beginning; it is not counted again.

        Errors: ``capsule.*``, ``input.not_found`` (it was removed), ``envelope.*``, ``keylog.*``, ``peer.*``, ``store.*``.
        """
        header, now_ms = mounted.header, self.kept.clock.now_ms()
        record, row = await self.kept.store.capsule(header.id), await self.kept.store.ledger(header.id)
        if row is not None and row.revoked_ms:
            raise MeshError("capsule.revoked", capsule=header.id)
        if record is None or row is None:
            raise MeshError("input.not_found", f"{header.id} was removed")
        self.kept.open(record)
        if row.generation > header.generation:
            raise MeshError(
                "capsule.generation", f"{header.generation}, and there is {row.generation}", capsule=header.id
            )
        if row.holder != wanted.holder or now_ms >= row.held_until_ms:
            raise MeshError("capsule.held", "the lease has ended", capsule=header.id)
        self._judge(mounted.capsule, row, wanted, now_ms, counted=1)
        await self._reported(mounted.capsule, row, mounted.use)

    async def _signed(self, header: CapsuleHeader, wanted: Wanted, number: int) -> bytes:
        """Sign a use, and write its row of the audit trail."""
        note = {"task": wanted.task, "number": str(number), "generation": str(header.generation)}
        await self.kept.witness.trail.write("capsule.used", subject=header.id, note=note)
        use = Use(
            capsule=header.id,
            tenant=header.tenant,
            node=self.kept.witness.node,
            generation=header.generation,
            number=number,
            task=wanted.task,
            at_ms=self.kept.clock.now_ms(),
        )
        artefact = await self.kept.witness.artefact(KIND_USE, header.id, use)
        await self.kept.store.put_artefact(artefact)
        return artefact.envelope

    async def _reported(self, capsule: Capsule, row: LedgerRecord, use: bytes) -> None:
        header, now_ms = capsule.header, self.kept.clock.now_ms()
        if header.tenant == self.kept.witness.node:
            return
        if await self._report(capsule, use):
            await self.kept.store.raise_ledger(msgspec.structs.replace(row, heard_ms=now_ms, latest_ms=now_ms))
        elif now_ms > row.heard_ms + header.policy.fresh_s * 1000:
            raise MeshError("capsule.stale", capsule=header.id, heard_ms=row.heard_ms)

    def _judge(
        self, capsule: Capsule, row: LedgerRecord | None, wanted: Wanted, now_ms: int, *, counted: int = 0
    ) -> None:
        """counted: 1 if the use is in the ledger already."""
        header, node = capsule.header, self.kept.witness.node
        mark = self.kept.device(header.id)
        code = judge_use(
            header.policy,
            UseFacts(
                now_ms=now_ms,
                latest_ms=max(row.latest_ms if row else 0, header.sealed_ms),
                # Judged as if the tenant had just answered: the report of the use shows if it does.
                heard_ms=now_ms,
                origins=wanted.origins,
                task=wanted.task,
                level=wanted.level,
                uses=row.used - counted if row else 0,
                mfa_ms=header.mfa_ms,
                same_device=bool(mark) and mark == header.device,
                same_installation=header.tenant == node,
                consent_until_ms=self.kept.consent_until_ms(capsule),
            ),
        )
        if code is not None:
            raise MeshError(code, capsule=header.id)

    async def renew_if_newer(self, capsule_id: str, state: CapsuleState, before: CapsuleState) -> bool:
        """Seal ``state`` if it differs from ``before``. True if it was sealed. Errors: those of ``renew_state``."""
        record = await self.kept.find(capsule_id)
        inside = within(state, self.kept.open(record).header.policy.origins)
        if record.minimal:
            inside = await asyncio.to_thread(as_minimal, inside, before)
        if await asyncio.to_thread(same, inside, before):
            return False
        await self.renew_state(capsule_id, inside)
        return True

    async def renew_state(self, capsule_id: str, state: CapsuleState) -> None:
        """Seal the state of a browser at its end as the next generation of an own capsule.

        Errors: ``input.*``, ``capsule.issuer``, ``capsule.generation``, ``capsule.revoked``, ``keylog.*``, ``log.rollback``,
        ``store.*``.
        """
        async with self.changing:
            record = await self.kept.find(capsule_id)
            before = self.kept.open(record).header
            self.check_own(before)
            inside = within(state, before.policy.origins)
            header = msgspec.structs.replace(
                before, generation=before.generation + 1, origins=counted(inside, before.policy, empty=True)
            )
            await self.sealed(header, inside, record, {})


def _for_caller(error: MeshError) -> MeshError:
    """``error`` as the caller may see it: an agent does not learn what others do."""
    caller = current_caller()
    by = str(error.detail.get("by", ""))
    if error.code != "capsule.held" or caller.kind is not CallerKind.AGENT or by.startswith(f"{caller} ("):
        return error
    return MeshError("capsule.held", capsule=error.detail["capsule"], until_ms=error.detail["until_ms"])
