"""Metrics of the node as Prometheus text. They are read from the rooms on request and never stored.

Labels are error codes, channels, places (routes and reasons of the transport), short ids of peers and names of agents, and each set
of them is bounded; labels never contain addresses, names chosen by peers, or ids of sessions or searches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from node import __version__
from node.rooms import Rooms
from node.verbs.nodes.node import Measured, RefusalCounts, Sample
from protocol import limits
from protocol.refusals import OTHERS, Channel, caller_label, channel_of, channel_of_caller

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


async def exposition(rooms: Rooms) -> bytes:
    """The current metrics, in the text format of Prometheus. Errors: ``store.*``."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(await _taken(rooms)))
    # Read in the event loop, where nothing changes meanwhile; formatted in a thread, because that is slow.
    return await asyncio.to_thread(generate_latest, registry)


async def samples(rooms: Rooms) -> list[Measured]:
    """The current metrics as records, with Prometheus's names and labels of the samples. Errors: ``store.*``."""
    return [
        Measured(
            name=metric.name,
            type=metric.type,
            help=metric.documentation,
            samples=[Sample(name=s.name, labels=dict(s.labels), value=s.value) for s in metric.samples],
        )
        for metric in await _taken(rooms)
    ]


async def _taken(rooms: Rooms) -> list[Metric]:
    head = await rooms.store.audit_head()
    return list(_metrics(rooms, head.number))


class _Snapshot:
    """The figures of one moment, as a collector for a temporary registry."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        """Yield every metric."""
        return self._metrics


def _metrics(rooms: Rooms, audit_rows: int) -> Iterator[Metric]:
    yield InfoMetricFamily("trailmesh_node", "This node.", {"node": rooms.identity.node, "version": __version__})
    yield _counter(
        "trailmesh_refusals",
        "Refused on the control channel (owner and agents) and on the peer channel.",
        ("channel", "at", "code"),
        (((channel_of(at), at, code), count) for (at, code), count in rooms.ports.refusals.by_place.items()),
    )
    yield _counter(
        "trailmesh_peer_refusals",
        "Refused to peers on the peer channel.",
        ("peer", "code"),
        _refused_to(rooms, Channel.PEER),
    )
    yield _counter(
        "trailmesh_agent_refusals",
        "Refused to agents on the control channel.",
        ("agent", "code"),
        _refused_to(rooms, Channel.CONTROL),
    )
    yield _counter(
        "trailmesh_browser_turned_away",
        "Refused by the tunnels of browsers because no guard had let it through.",
        ("asked", "method"),
        rooms.browsers.turned_away.items(),
    )
    yield _counter("trailmesh_audit_rows", "Rows of the audit trail.", (), [((), audit_rows)])
    for name, text, value in _GAUGES:
        yield GaugeMetricFamily(name, text, value=value(rooms))
    disk = GaugeMetricFamily("trailmesh_peer_disk_bytes", "Disk used for a peer, at most.", labels=("peer",))
    for node, count in disk_by_peer(rooms).items():
        disk.add_metric((caller_label(node),), count)
    yield disk


def _refused_to(rooms: Rooms, channel: Channel) -> Iterator[tuple[tuple[str, str], int]]:
    for (who, code), count in rooms.ports.refusals.by_peer.items():
        if channel_of_caller(who) is channel:
            yield (caller_label(who).removeprefix("agent:"), code), count


def _counter(
    name: str, text: str, labels: tuple[str, ...], counts: Iterable[tuple[tuple[str, ...], int]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=labels)
    for values, count in counts:
        family.add_metric(values, count)
    return family


def _frozen(rooms: Rooms) -> int:
    return len(rooms.trust.peers.frozen)


_GAUGES: Final[tuple[tuple[str, str, Callable[[Rooms], float]], ...]] = (
    ("trailmesh_serving", "Whether peers can reach this node.", lambda rooms: float(bool(rooms.serving))),
    ("trailmesh_peers", "Peers this node is paired with.", lambda rooms: len(rooms.trust.peers.records())),
    (
        "trailmesh_peers_connected",
        "Peers with an open connection to this node.",
        lambda rooms: len(rooms.ports.server.peers),
    ),
    ("trailmesh_peers_frozen", "Peers whose log or key log is not in order.", _frozen),
    ("trailmesh_searches_open", "Searches this node takes part in now.", lambda rooms: rooms.explorer.running),
    ("trailmesh_tree_nodes", "Nodes in the trees of open searches.", lambda rooms: rooms.explorer.tree_nodes),
    ("trailmesh_branches_working", "Leased branches this node works on.", lambda rooms: rooms.explorer.working),
    ("trailmesh_browser_contexts", "Open browser contexts.", lambda rooms: rooms.browsers.contexts),
    (
        "trailmesh_browser_contexts_waiting",
        "Callers that wait for a browser context.",
        lambda rooms: rooms.browsers.waiting,
    ),
    ("trailmesh_browsers", "Running browsers.", lambda rooms: rooms.browsers.running),
    ("trailmesh_log_size", "Entries of the witness log.", lambda rooms: rooms.witness.log.checkpoint.size),
    ("trailmesh_log_queue", "Artefacts that wait for the witness log.", lambda rooms: rooms.witness.waiting),
    ("trailmesh_store_queue", "Calls that wait for the store.", lambda rooms: rooms.store.waiting),
    (
        "trailmesh_loop_blocked_seconds",
        "Longest recent block of the event loop.",
        lambda rooms: rooms.loop_watch.recent_s,
    ),
    (
        "trailmesh_loop_blocked_max_seconds",
        "Longest block of the event loop since the start.",
        lambda rooms: rooms.loop_watch.longest_s,
    ),
)
"""Name, help, and the measured values."""


def disk_by_peer(rooms: Rooms) -> dict[str, int]:
    """Bytes by node id of the peers that use most, and of all others together."""
    known = {record.node for record in rooms.trust.peers.records()}
    used = sorted(
        ((count, node) for node, count in rooms.trust.peers.usage.by_peer.items() if node in known), reverse=True
    )
    most = {node: count for count, node in used[: limits.REFUSALS_PEERS_MAX]}
    rest = sum(count for count, _ in used[limits.REFUSALS_PEERS_MAX :])
    return most | ({OTHERS: rest} if rest else {})


def refusals_in_words(rooms: Rooms) -> RefusalCounts:
    """The refusals for `node status`: by code, by place, and by caller and code."""
    refusals = rooms.ports.refusals
    by_peer: dict[str, dict[str, int]] = {}
    for (node, code), count in refusals.by_peer.items():
        by_peer.setdefault(node, {})[code] = count
    return RefusalCounts(
        since_ms=rooms.trust.refusal_book.since_ms,
        total=sum(refusals.codes.values()),
        by_code=dict(refusals.codes),
        by_place=dict(refusals.reasons),
        by_peer=by_peer,
    )
