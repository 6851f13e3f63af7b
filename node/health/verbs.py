"""The verbs of ``trailmesh node``: peers, and how this node is."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from adapters.ports import PeerRecord
from node import __version__
from node.health import doctor, metrics
from node.rooms import Rooms
from node.trust import TURNED_AWAY, discover
from node.verbs import NoParams, Params, Tell, Verb, Verbs
from protocol import ids, limits
from protocol.errors import MeshError


class KnockParams(Params, frozen=True, kw_only=True):
    """``node.knock``"""

    address: str
    public_key: str
    node: str = ""
    """Its id; empty if it has had no other key."""


class DoctorParams(Params, frozen=True, kw_only=True):
    """``node.doctor``"""

    browser: bool = True


class DiscoverParams(Params, frozen=True, kw_only=True):
    """``node.discover``"""

    seconds: Annotated[int, msgspec.Meta(ge=1, le=limits.DISCOVERY_SECONDS_MAX)] = 3


class MeshVerbs:
    """Lists, knocks, examines."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    @property
    def verbs(self) -> Verbs:
        """The verbs by name."""
        return {
            "node.knock": Verb(KnockParams, self._knock),
            "node.peers": Verb(NoParams, self._peers),
            "node.status": Verb(NoParams, self._status),
            "node.metrics": Verb(NoParams, self._metrics),
            "node.doctor": Verb(DoctorParams, self._doctor),
            "node.discover": Verb(DiscoverParams, self._discover),
        }

    async def _knock(self, params: KnockParams, tell: Tell) -> dict[str, Any]:
        try:
            key = bytes.fromhex(params.public_key)
        except ValueError:
            key = b""
        if len(key) != 32:
            raise MeshError("input.invalid", "a public key has 64 hexadecimal digits")
        node = ids.parse_node_id(params.node) if params.node else ""
        answer = await self._rooms.calls.knock(params.address, key, node)
        if answer is None:
            return {"refused": False, "code": "", "message": ""}
        return {"refused": answer.code in TURNED_AWAY, "code": answer.code, "message": answer.message}

    async def _peers(self, params: NoParams, tell: Tell) -> dict[str, Any]:
        rooms = self._rooms
        return {
            "peers": [
                _peer(record) | rooms.distrust.describe(record) | {"reach": rooms.reach.report(record.node)}
                for record in (*rooms.peers.records(), *rooms.peers.distrusted())
            ]
        }

    async def _status(self, params: NoParams, tell: Tell) -> dict[str, Any]:
        rooms = self._rooms
        return {
            "node": rooms.identity.node,
            "short": ids.short(rooms.identity.node),
            "public_key": rooms.identity.public_key.hex(),
            "name": rooms.config.name,
            "version": __version__,
            "home": str(rooms.home),
            "serving": rooms.serving,
            "address": rooms.address,
            "revoked_s": rooms.identity.log.revoked_s,
            **rooms.logs.status(),
            "peers": len(rooms.peers.records()),
            **rooms.distrust.status(),
            "sessions": await rooms.store.count_sessions(),
            "searches_running": rooms.explorer.running,
            "audit_rows": (await rooms.store.audit_head()).number,
            "refusals": metrics.refusals_in_words(rooms),
            "peer_disk": metrics.disk_by_peer(rooms),
        }

    async def _metrics(self, params: NoParams, tell: Tell) -> dict[str, Any]:
        text = (await metrics.exposition(self._rooms)).decode()
        return {"text": text, "metrics": await metrics.samples(self._rooms)}

    async def _doctor(self, params: DoctorParams, tell: Tell) -> doctor.Health:
        return await doctor.examine(self._rooms, browser=params.browser)

    async def _discover(self, params: DiscoverParams, tell: Tell) -> dict[str, Any]:
        return {"nodes": await discover(self._rooms.discovery, self._rooms.peers, params.seconds)}


def _peer(record: PeerRecord) -> dict[str, Any]:
    return {
        "node": record.node,
        "name": record.name,
        "addresses": list(record.addresses),
        "grants": record.grants,
        "granted_us": record.granted_us,
        "paired_ms": record.paired_ms,
        "seen_ms": record.seen_ms,
    }
