"""Metrics: what they say, what they never say, and who may ask for them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from node.api.node import Node
from node.base.loop_watch import LoopWatch
from node.base.plain import plain
from node.config.settings import MetricsConfig
from node.doors.door import check_host
from node.doors.metrics import MetricsServer
from node.health import metrics
from node.process.runtime import metrics_server
from node.process.setup import init_home
from node.process.wiring import open_node
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.refusals import CONTROL, caller_label
from tests.mesh_memory import until

BODY = b"up 1\n"


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    async with open_node(home) as opened:
        yield opened


def read(text: bytes) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Samples by name, as Prometheus reads them."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


async def test_metrics_say_what_was_refused_and_how_the_node_is(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = node.rooms
    stranger = ids.node_id(bytes(32))
    rooms.ports.refusals.count("quota", node=stranger)
    rooms.ports.refusals.count("tls_version")
    rooms.ports.refusals.count(CONTROL, node="agent:shopper", code="caller.refused")
    rooms.ports.refusals.count(CONTROL, node="agent:shorty", code="caller.refused")
    monkeypatch.setattr(type(rooms.browsers), "turned_away", {("browser", "CONNECT"): 3})
    await rooms.witness.trail.write("node.join")
    found = read(await metrics.exposition(rooms))
    assert found["trailmesh_refusals_total"] == [
        ({"channel": "peer", "at": "quota", "code": "peer.limit"}, 1.0),
        ({"channel": "peer", "at": "tls_version", "code": "peer.protocol"}, 1.0),
        ({"channel": "control", "at": "control", "code": "caller.refused"}, 2.0),
    ]
    assert found["trailmesh_agent_refusals_total"] == [
        ({"agent": "shopper", "code": "caller.refused"}, 1.0),
        ({"agent": "shorty", "code": "caller.refused"}, 1.0),
    ]
    assert found["trailmesh_peer_refusals_total"] == [({"peer": ids.short(stranger), "code": "peer.limit"}, 1.0)]
    assert found["trailmesh_browser_turned_away_total"] == [({"asked": "browser", "method": "CONNECT"}, 3.0)]
    assert found["trailmesh_audit_rows_total"] == [({}, 1.0)]
    assert found["trailmesh_log_size"] == [({}, 1.0)]
    for name in ("serving", "peers", "searches_open", "tree_nodes", "browser_contexts", "loop_blocked_seconds"):
        assert found[f"trailmesh_{name}"] == [({}, 0.0)]


async def test_the_verb_and_the_status_say_the_same(node: Node) -> None:
    node.rooms.ports.refusals.count("status", node="A", code="peer.scope")
    said = plain(await node.dispatch("node.metrics", b"{}", lambda event: None))
    assert read(said["text"].encode()).keys() >= {"trailmesh_refusals_total", "trailmesh_peers"}
    values = {s["name"]: (s["labels"], s["value"]) for metric in said["metrics"] for s in metric["samples"]}
    assert values["trailmesh_refusals_total"] == (
        {"channel": "peer", "at": "status", "code": "peer.scope"},
        1.0,
    )
    assert values.keys() == read(said["text"].encode()).keys()
    status = plain(await node.dispatch("node.status", b"{}", lambda event: None))
    assert status["refusals"] == {
        "since_ms": node.rooms.trust.refusal_book.since_ms,
        "total": 1,
        "by_code": {"peer.scope": 1},
        "by_place": {"status": 1},
        "by_peer": {"A": {"peer.scope": 1}},
    }


async def test_metrics_are_the_same_size_however_many_peers_there_are(node: Node) -> None:
    for number in range(1_000):
        node.rooms.ports.refusals.count("quota", node=ids.node_id(number.to_bytes(32, "big")))
    found = read(await metrics.exposition(node.rooms))
    assert len(found["trailmesh_peer_refusals_total"]) == limits.REFUSALS_PEERS_MAX + 1


def test_an_address_that_others_reach_must_be_chosen_twice() -> None:
    """Guard: node/doors/door.py, check_host."""
    for host in ("127.0.0.1", "127.1.2.3", "::1"):
        check_host("metrics", host, public=False)
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org"):
        with pytest.raises(MeshError) as refused:
            check_host("metrics", host, public=False)
        assert refused.value.code == "config.invalid"
        check_host("metrics", host, public=True)


async def test_the_door_is_closed_unless_the_configuration_opens_it(node: Node) -> None:
    assert metrics_server(node.rooms) is None
    config = node.rooms.config
    rooms = replace(node.rooms, config=msgspec.structs.replace(config, metrics=MetricsConfig(port=9_464)))
    assert metrics_server(rooms) is not None
    rooms = replace(rooms, config=msgspec.structs.replace(config, metrics=MetricsConfig(port=9_464, host="0.0.0.0")))
    with pytest.raises(MeshError):
        metrics_server(rooms)


# --- the door --------------------------------------------------------------------------------------------------------


async def _render() -> bytes:
    return BODY


@pytest.fixture
async def door() -> AsyncIterator[MetricsServer]:
    server = MetricsServer("127.0.0.1", 0, _render, metrics.CONTENT_TYPE)
    await server.start()
    yield server
    await server.close()


async def asked(door: MetricsServer, text: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", door._listener.port)
    writer.write(text.replace("HERE", f"127.0.0.1:{door._listener.port}").encode())
    async with asyncio.timeout(120):
        answer = await reader.read()
    writer.close()
    return answer


async def test_the_door_answers_one_request(door: MetricsServer) -> None:
    answer = await asked(door, "GET /metrics HTTP/1.1\r\nHost: HERE\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body == BODY


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        ("GET / HTTP/1.1\r\nHost: HERE\r\n\r\n", b"404"),
        ("POST /metrics HTTP/1.1\r\nHost: HERE\r\n\r\n", b"404"),
        ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"421"),
        ("GET /metrics HTTP/1.1\r\nHost: HERE\r\nHost: evil.example\r\n\r\n", b"400"),
        ("GET /metrics HTTP/1.1\r\n\r\n", b"400"),
        ("\x00\xff\r\n\r\n", b"400"),
    ],
)
async def test_anything_else_gets_nothing(door: MetricsServer, request_text: str, status: bytes) -> None:
    """Guard: node/doors/metrics.py, MetricsServer._answer."""
    head, _, body = (await asked(door, request_text)).partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == status
    assert b"up" not in body and BODY not in body


async def test_a_header_that_is_too_long_or_does_not_end_is_dropped(
    door: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEADER_TIMEOUT_S", 0.1)
    assert await asked(door, "GET /metrics HTTP/1.1\r\nX: ") == b""
    assert (await asked(door, "GET /metrics HTTP/1.1\r\nX: " + "x" * 100_000)).startswith(b"HTTP/1.0 400 ")


async def test_the_door_takes_few_at_a_time(door: MetricsServer) -> None:
    waiting = [
        await asyncio.open_connection("127.0.0.1", door._listener.port) for _ in range(limits.METRICS_CONNECTIONS_MAX)
    ]
    await until(
        lambda: door._listener._connections._users.total() == limits.METRICS_CONNECTIONS_MAX, "all places taken"
    )
    with contextlib.suppress(ConnectionError):
        assert await asked(door, "GET /metrics HTTP/1.1\r\nHost: HERE\r\n\r\n") == b""
    assert door._listener._connections._users.total() == limits.METRICS_CONNECTIONS_MAX
    for _, writer in waiting:
        writer.close()


async def test_a_blocked_loop_is_seen() -> None:
    watch = LoopWatch()
    watch.start()
    await asyncio.sleep(0.06)
    time.sleep(0.2)  # noqa: ASYNC251 (what it is about)
    await asyncio.sleep(0.01)
    watch.stop()
    watch.stop()
    assert watch.longest_s >= 0.1
    assert watch.recent_s == watch.longest_s


def test_agents_whose_names_begin_alike_have_labels_of_their_own() -> None:
    assert [caller_label(who) for who in ("agent:helper", "agent:help", "others", "LDMILJ2-V3DO7VO")] == [
        "agent:helper",
        "agent:help",
        "others",
        "LDMILJ2",
    ]
