"""Changes the policy of an own capsule. A wider policy ends the grants that were given under the old one."""

from __future__ import annotations

import msgspec

from adapters.capsule_records import held_error
from node.capsules.seal.capsules import Capsules
from node.capsules.seal.sealing import counted, within
from node.verbs import Bound
from node.verbs.capsules import capsule_policy as verbs
from node.verbs.capsules.capsule_policy import ChangedPolicy, ChangePolicyParams
from protocol import limits
from protocol.capsule.capsule import CapsuleHeader
from protocol.capsule.policy import Policy, check_policy, widened
from protocol.errors import MeshError
from protocol.trust.origin import parse_pattern, widest


class Repolicy:
    """Implements ``capsule.policy``."""

    def __init__(self, capsules: Capsules) -> None:
        self._capsules, self._kept = capsules, capsules.kept
        self.bound: Bound = {verbs.POLICY: lambda params, tell: self.change(params)}

    async def change(self, given: ChangePolicyParams) -> ChangedPolicy:
        """Seal a capsule as its next generation, under another policy.

        No node accepts older generations, so the copies of peers end. Consents end, because they were given for the old terms. If
        the new policy allows more, grants of the capsule to agents and peers end too.
        Errors: ``input.*``, ``capsule.*``, ``keylog.*``, ``log.rollback``, ``store.*``.
        """
        async with self._capsules.changing:
            record = await self._kept.find(given.capsule)
            before = self._kept.open(record).header
            self._kept.witness.trail.about(record.id)
            self._capsules.check_own(before)
            row, now_ms = await self._kept.store.ledger(record.id), self._kept.clock.now_ms()
            if row is not None and row.holder and now_ms < row.held_until_ms:
                raise held_error(row)
            policy = _policy(given, before.policy, now_ms)
            more = widened(policy, before.policy)
            _check(given, before, policy, more, now_ms)
            state = within(await self._kept.state(record), policy.origins)
            header = msgspec.structs.replace(
                before, generation=before.generation + 1, policy=policy, origins=counted(state, policy, empty=True)
            )
            fresh = msgspec.structs.replace(record, consents=())
            if more:
                fresh = msgspec.structs.replace(fresh, offered=(), widened_ms=now_ms)
            made = await self._capsules.seal_next(header, state, fresh)
        held = tuple(self._kept.peers.name_of(node) for node in record.exported)
        return ChangedPolicy(
            capsule=await self._capsules.one(made), widened=more, consents=len(record.consents), to_give_anew=held
        )


def _check(
    given: ChangePolicyParams, before: CapsuleHeader, policy: Policy, more: tuple[str, ...], now_ms: int
) -> None:
    if policy == before.policy:
        raise MeshError("input.invalid", "nothing of the policy is another: name what is to change")
    if now_ms >= before.policy.expires_ms:
        raise MeshError("capsule.expired", "a capsule that has expired is captured again", capsule=before.id)
    if not now_ms < policy.expires_ms <= before.captured_ms + limits.CAPSULE_DAYS_MAX * 86_400_000:
        raise MeshError("input.invalid", f"a capsule ends within {limits.CAPSULE_DAYS_MAX} days of its capture")
    if more and not given.widen:
        told = f"it would allow more ({', '.join(more)}): --widen says so, and ends what was given under the old policy"
        raise MeshError("input.invalid", told, fields=list(more))


def _policy(given: ChangePolicyParams, old: Policy, now_ms: int) -> Policy:
    said = {
        name: value
        for name in ("class_max", "replays_max", "fresh_s", "mfa_s")
        if (value := getattr(given, name)) is not None
    }
    flags = ("cross_device", "cross_installation", "consent", "probes")
    said |= {name: getattr(given, name) == "yes" for name in flags if getattr(given, name)}
    more: dict[str, object] = {}
    if given.origins:
        more["origins"] = tuple(widest(parse_pattern(each) for each in given.origins))
    if given.tasks:
        more["tasks"] = tuple(sorted(set(given.tasks)))
    if given.purpose:
        more["purpose"] = given.purpose
    if given.expires_s:
        more["expires_ms"] = now_ms + given.expires_s * 1000
    try:
        return check_policy(msgspec.structs.replace(old, **said, **more))
    except MeshError as error:
        raise MeshError("input.invalid", error.message) from error
