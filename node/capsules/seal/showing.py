"""Describes capsules for people: names, counts, sizes, hosts and times, never a value."""

from __future__ import annotations

from typing import Literal

from adapters.capsule_records import CapsuleRecord, LedgerRecord
from node.capsules.seal.kept import Kept
from node.verbs.capsules.capsule import KeptCapsule, Rules, StateItem, StateOf
from protocol.capsule.capsule import Capsule
from protocol.capsule.policy import Policy
from protocol.capsule.state import CapsuleState


def rules(policy: Policy) -> Rules:
    """A policy, as a result of a verb."""
    return Rules(**{name: getattr(policy, name) for name in Rules.__struct_fields__})


def shown(kept: Kept, record: CapsuleRecord, capsule: Capsule, row: LedgerRecord | None) -> KeptCapsule:
    """The description of a capsule. Errors: ``capsule.recipient``."""
    header = capsule.header
    own = header.tenant == kept.witness.node
    return KeptCapsule(
        id=header.id,
        name=header.name,
        generation=header.generation,
        tenant=header.tenant,
        tenant_name="this node" if own else kept.peers.name_of(header.tenant),
        owner=header.owner,
        origins=tuple(
            StateOf(
                origin=each.origin,
                cookies=each.cookies,
                local=each.local,
                session=each.session,
                databases=each.databases,
                slice=each.slice,
                basic=each.basic,
            )
            for each in header.origins
        ),
        state_bytes=header.state_bytes,
        policy=rules(header.policy),
        captured_ms=header.captured_ms,
        sealed_ms=header.sealed_ms,
        uses=row.used if row else 0,
        heard_ms=row.heard_ms if row else 0,
        key_ends_ms=kept.keys.ends_ms(kept.recipient(capsule).key),
        exported=record.exported,
        offered=record.offered,
        ended=_ended(header.policy, row.used if row else 0, kept.clock.now_ms()),
        page=record.page,
        slice_version=header.slice_version,
    )


def _ended(policy: Policy, used: int, now_ms: int) -> Literal["", "expired", "used up"]:
    if now_ms >= policy.expires_ms:
        return "expired"
    return "used up" if used >= policy.replays_max else ""


def held_in(state: CapsuleState) -> tuple[StateItem, ...]:
    """The names and sizes of the parts of a state, without values."""
    found = [
        StateItem(kind="cookie", host=each.domain, name=each.name, bytes=len(each.value), expires_s=each.expires_s)
        for each in state.cookies
    ]
    for stored in state.storage:
        host = f"{stored.origin} {stored.key}".rstrip()
        found += [
            StateItem(kind="local", host=host, name=each.name, bytes=len(each.value), expires_s=0)
            for each in stored.local
        ]
        found += [
            StateItem(kind="session", host=host, name=each.name, bytes=len(each.value), expires_s=0)
            for each in stored.session
        ]
        for database in stored.databases:
            size = sum(len(entry.key) + len(entry.value) for kept in database.stores for entry in kept.entries)
            found.append(StateItem(kind="database", host=host, name=database.name, bytes=size, expires_s=0))
    found += [
        StateItem(kind="basic", host=each.origin, name="", bytes=len(each.user) + len(each.password), expires_s=0)
        for each in state.basic
    ]
    return tuple(found)
