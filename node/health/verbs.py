"""Implements the verbs for peers, status, metrics and the doctor."""

from __future__ import annotations

from adapters.ports.records import PeerRecord
from node import __version__
from node.health import doctor, metrics
from node.rooms import Rooms
from node.trust import TURNED_AWAY, discover
from node.verbs import Bound, NoParams, Tell, current_caller
from node.verbs.catalogue import CATALOGUE
from node.verbs.nodes import node as verbs
from node.verbs.nodes.node import (
    DiscoverParams,
    DoctorParams,
    Health,
    Knocked,
    KnockParams,
    Metrics,
    Myself,
    NearbyList,
    Peer,
    PeerList,
    Status,
)
from protocol import ids
from protocol.errors import MeshError


class MeshVerbs:
    """Lists peers, tests a stranger's refusal, runs the doctor."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self.bound: Bound = {
            verbs.STATUS: self._status,
            verbs.WHOAMI: self._whoami,
            verbs.PEERS: self._peers,
            verbs.METRICS: self._metrics,
            verbs.DOCTOR: self._doctor,
            verbs.DISCOVER: self._discover,
            verbs.KNOCK: self._knock,
        }

    async def _knock(self, params: KnockParams, tell: Tell) -> Knocked:
        try:
            key = bytes.fromhex(params.public_key)
        except ValueError:
            key = b""
        if len(key) != 32:
            raise MeshError("input.invalid", "a public key must have 64 hexadecimal digits")
        node = ids.parse_node_id(params.node) if params.node else ""
        answer = await self._rooms.trust.calls.knock(params.address, key, node)
        if answer is None:
            return Knocked(refused=False, code="", message="")
        return Knocked(refused=answer.code in TURNED_AWAY, code=answer.code, message=answer.message)

    async def _whoami(self, params: NoParams, tell: Tell) -> Myself:
        caller = current_caller()
        return Myself(
            caller=str(caller),
            scopes=tuple(sorted(caller.scopes)),
            origins=caller.origins,
            capsules=tuple(f"{id}={','.join(tasks)}" for id, tasks in caller.capsules),
            verbs=tuple(name for name, verb in CATALOGUE.items() if verb.admits(caller)),
        )

    async def _peers(self, params: NoParams, tell: Tell) -> PeerList:
        peers = self._rooms.trust.peers
        return PeerList(peers=[self._peer(record) for record in (*peers.records(), *peers.distrusted())])

    def _peer(self, record: PeerRecord) -> Peer:
        return Peer(
            node=record.node,
            name=record.name,
            addresses=record.addresses,
            grants=record.grants,
            granted_us=record.granted_us,
            paired_ms=record.paired_ms,
            seen_ms=record.seen_ms,
            reach=self._rooms.trust.reach.report(record.node),
            log=self._rooms.log.logs.describe(record.node),
            **self._rooms.revocation.distrust.describe(record),
        )

    async def _status(self, params: NoParams, tell: Tell) -> Status:
        rooms = self._rooms
        refusals, disk = metrics.refusals_in_words(rooms), metrics.disk_by_peer(rooms)
        return Status(
            node=rooms.identity.node,
            short=ids.short(rooms.identity.node),
            public_key=rooms.identity.public_key.hex(),
            name=rooms.config.name,
            version=__version__,
            home=str(rooms.home),
            serving=bool(rooms.serving),
            address=rooms.serving.address,
            revoked_s=rooms.identity.log.revoked_s,
            **rooms.log.logs.status(),
            peers=len(rooms.trust.peers.records()),
            **rooms.revocation.distrust.status(),
            sessions=await rooms.store.count_sessions(),
            searches_running=rooms.explorer.running,
            audit_rows=(await rooms.store.audit_head()).number,
            refusals=refusals,
            peer_disk=disk,
            names=rooms.trust.peers.names_of((*refusals.by_peer, *disk)),
        )

    async def _metrics(self, params: NoParams, tell: Tell) -> Metrics:
        text = (await metrics.exposition(self._rooms)).decode()
        return Metrics(text=text, metrics=await metrics.samples(self._rooms))

    async def _doctor(self, params: DoctorParams, tell: Tell) -> Health:
        return await doctor.examine(self._rooms, browser=params.browser)

    async def _discover(self, params: DiscoverParams, tell: Tell) -> NearbyList:
        return NearbyList(nodes=await discover(self._rooms.ports.discovery, self._rooms.trust.peers, params.seconds))
