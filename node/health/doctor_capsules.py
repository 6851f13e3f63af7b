"""Checks the capsules: expired or used up, sealed to an ended key, about to end."""

from __future__ import annotations

from shlex import quote

from node.base.plain import counted
from node.rooms import Rooms
from node.verbs.capsules.capsule import KeptCapsule
from node.verbs.nodes.node import CheckResult
from protocol.errors import MeshError

_SOON_MS: int = 86_400_000


async def check_capsules(rooms: Rooms) -> list[CheckResult]:
    """One result for all sound capsules together, and one for each that cannot be used, or only for a short time."""
    records = await rooms.store.capsules()
    found = []
    for record in records:
        try:
            found += _trouble(rooms, await rooms.sealed.capsules.one(record))
        except MeshError as error:
            remedy = f"trailmesh capsule rm {record.id} --home {quote(str(rooms.home))}"
            finding = f"{error.message} [{error.code}]"
            found.append(CheckResult(name=f"capsule {record.id}"[:32], status="warn", finding=finding, remedy=remedy))
    if found:
        return found
    return [CheckResult(name="capsules", status="ok", finding=counted(len(records), "capsule") if records else "none")]


def _trouble(rooms: Rooms, capsule: KeptCapsule) -> list[CheckResult]:
    now_ms, home = rooms.clock.now_ms(), quote(str(rooms.home))
    own = capsule.tenant == rooms.identity.node
    again = f"trailmesh capsule capture --from FILE --replaces {capsule.id} --home {home}"
    anew = f"trailmesh capsule login URL --name {quote(capsule.name)} --home {home}"
    elsewhere = f"on the node that captured it: trailmesh capsule export {capsule.id} --to {rooms.config.name}"
    gone = f"trailmesh capsule rm {capsule.id} --home {home}"
    if now_ms >= capsule.policy.expires_ms:
        why, remedy = "has expired", f"{gone}; then log in again: {anew}"
    elif capsule.uses >= capsule.policy.replays_max:
        why, remedy = f"was used {counted(capsule.uses, 'time')}, as often as it may be", f"{gone}; then: {anew}"
    elif capsule.key_ends_ms <= now_ms:
        why, remedy = "is sealed to a key that has ended", again if own else elsewhere
    elif capsule.policy.expires_ms - now_ms < _SOON_MS:
        why, remedy = "expires within a day", anew
    else:
        return []
    name = f"capsule {capsule.name or capsule.id}"[:32]
    return [CheckResult(name=name, status="warn", finding=f"{capsule.id} {why}", remedy=remedy)]
