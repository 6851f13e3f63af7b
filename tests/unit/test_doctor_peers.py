"""What the doctor says of each peer, between nodes over the in-memory twins."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from nacl.signing import SigningKey

from node.config.settings import Listen
from node.health import doctor_peers
from node.health.verbs import MeshVerbs
from node.log.log_watch import LogAnswer
from node.rooms import Rooms
from node.trust.reach import Reach
from node.verbs.nodes import node as verbs
from node.verbs.nodes.node import CheckResult, Hold, Knocked, KnockParams
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import PROTOCOL_VERSION, EchoTell, StatusAsk, StatusTell
from tests.mesh_memory import MemoryNode, memory_mesh

pytestmark = pytest.mark.virtual_time

HOME = Path("/data of/node")
CLOCKS = "on the machine whose clock is wrong: timedatectl set-ntp true"
SAME_VERSION = "on the machine with the older `trailmesh --version`: pip install --upgrade trailmesh"
REACHED = EchoTell(reached=True, way="https://anna.invalid:443", milliseconds=7)
INWARD = CheckResult(
    name="bruno → here", status="ok", finding="reaches this node in 7 ms over https://anna.invalid:443"
)
WEEK_MS = 7 * 86_400_000


class Pair:
    """Two peers, of which anna is examined."""

    def __init__(self, anna: MemoryNode, bruno: MemoryNode) -> None:
        self.anna, self.bruno, self.clock = anna, bruno, anna.mesh.clock
        self.watch = anna.log_exchange.peer_logs.watch
        self.reach = Reach(anna.calls, anna.client, anna.server, self.clock, mode="direct")
        self.fakes = SimpleNamespace(
            home=HOME,
            trust=SimpleNamespace(calls=anna.calls, reach=self.reach),
            log=SimpleNamespace(logs=SimpleNamespace(watch=self.watch)),
            clock=self.clock,
            config=anna.config,
            identity=anna.identity,
            serving=SimpleNamespace(address=anna.address),
        )
        self.rooms = cast(Rooms, self.fakes)
        self.tells(REACHED)

    def tells(self, answer: EchoTell | MeshError) -> None:
        """How bruno answers when he is asked to call back."""

        async def echo(caller: str, ask: msgspec.Struct) -> msgspec.Struct:
            if isinstance(answer, MeshError):
                raise answer
            return answer

        self.bruno.api.serve("reach/echo", echo)

    def is_told(self, *, ahead_ms: int = 0, **changes: Any) -> None:
        """What bruno says of himself."""

        async def status(caller: str, ask: StatusAsk) -> StatusTell:
            told = await self.bruno._on_status(caller, ask)
            return msgspec.structs.replace(told, now_ms=told.now_ms + ahead_ms, **changes)

        self.bruno.api.serve("status", status)

    def fails(self, code: str) -> None:
        """bruno answers with an error."""

        async def status(caller: str, ask: StatusAsk) -> StatusTell:
            raise MeshError(code)

        self.bruno.api.serve("status", status)

    async def found(self, name: str = "bruno") -> list[CheckResult]:
        return await doctor_peers.check_peer(self.rooms, self.bruno.id, name)


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        yield Pair(anna, bruno)


def outward(words: str, status: Any = "ok", remedy: str = "") -> CheckResult:
    return CheckResult(name="peer bruno", status=status, finding=words, remedy=remedy)


ANSWERS = "answers in 0 ms at https://bruno.invalid:443; we may do there: explore"


async def test_a_peer_in_order_is_told_in_both_directions(pair: Pair) -> None:
    assert await pair.found() == [outward(f"{ANSWERS}; clocks agree"), INWARD]
    pair.is_told(grants={})
    nothing = ANSWERS.replace("explore", "status only")
    assert (await pair.found())[0] == outward(f"{nothing}; clocks agree")
    pair.tells(msgspec.structs.replace(REACHED, way="held"))
    inward = (await pair.found())[1]
    assert inward.finding == "reaches this node in 7 ms over the connection this node keeps open"
    assert doctor_peers._over("held") == "over a connection it keeps open"
    long = await pair.found("b" * 40)
    assert [check.name for check in long] == [f"peer {'b' * 27}", "b" * 32]


async def test_a_node_that_does_not_run_is_not_called_back(pair: Pair) -> None:
    pair.fakes.serving = ""
    assert await pair.found() == [outward(f"{ANSWERS}; clocks agree")]


@pytest.mark.parametrize(
    ("ahead_ms", "status", "words", "checks"),
    [
        (1_999, "ok", f"{ANSWERS}; clocks agree", 2),
        (-1_999, "ok", f"{ANSWERS}; clocks agree", 2),
        (2_000, "warn", f"{ANSWERS}; the clock of bruno is 2 s ahead of ours", 2),
        (-2_000, "warn", f"{ANSWERS}; the clock of bruno is 2 s behind ours", 2),
        (limits.CLOCK_SKEW_S * 1000, "warn", f"{ANSWERS}; the clock of bruno is 1 min 0 s ahead of ours", 2),
        (
            limits.CLOCK_SKEW_S * 1000 + 1,
            "fault",
            "the clock of bruno is 1 min 0 s ahead of ours: messages are refused",
            1,
        ),
        (-61_000, "fault", "the clock of bruno is 1 min 1 s behind ours: messages are refused", 1),
    ],
)
async def test_clocks_that_differ_are_told(pair: Pair, ahead_ms: int, status: str, words: str, checks: int) -> None:
    pair.is_told(ahead_ms=ahead_ms)
    found = await pair.found()
    assert found[0] == outward(words, status, "" if status == "ok" else CLOCKS)
    assert len(found) == checks
    assert pair.rooms.trust.calls.contacts.of(pair.bruno.id).apart_ms == ahead_ms


async def test_a_peer_of_another_protocol_is_a_warning(pair: Pair) -> None:
    pair.is_told(protocol=PROTOCOL_VERSION + 1)
    found = await pair.found()
    assert found[0] == outward(f"speaks protocol {PROTOCOL_VERSION + 1}", "warn", SAME_VERSION)


async def test_a_peer_that_is_down_is_a_warning_with_the_next_attempt_to_reach_it(pair: Pair) -> None:
    pair.anna.mesh.dead.add(pair.bruno.id)
    (found,) = await pair.found()
    words = "the node has crashed"
    remedy = (
        "on the machine of bruno: trailmesh node status; if it is not serving: trailmesh node serve; if it is, look at the network"
        " here: ip -br link"
    )
    assert found == outward(f"{words} [peer.unreachable]", "warn", remedy)
    next_ms = pair.clock.now_ms() + 5_999
    hold = Hold(state="waiting", since_ms=0, failures=3, next_try_ms=next_ms)
    for changes, told in (
        ({}, f"{words}; 3 consecutive failures, next attempt in 5 s"),
        ({"next_try_ms": 1}, f"{words}; 3 consecutive failures, next attempt in 0 s"),
        ({"state": "connecting"}, words),
    ):
        pair.reach._holds[pair.bruno.id] = msgspec.structs.replace(hold, **changes)
        (found,) = await pair.found()
        assert found.finding == f"{told} [peer.unreachable]"


async def test_a_peer_that_refuses_is_a_fault_whose_remedy_is_there(pair: Pair) -> None:
    pair.fails("store.full")
    (found,) = await pair.found()
    assert (found.status, found.remedy) == ("fault", "on the machine of bruno: df -h")
    assert found.finding.endswith("]")


@pytest.mark.parametrize(
    ("told", "status", "words", "remedy"),
    [
        (MeshError("input.not_found"), "warn", "cannot be asked to call back", SAME_VERSION),
        (
            MeshError("store.full", "no room"),
            "fault",
            "store.full",
            "on the machine of bruno: df -h",
        ),
        (
            EchoTell(reached=False, code="peer.unreachable", message="no way"),
            "fault",
            "does not reach this node: no way [peer.unreachable]",
            "sed -i 's/reach: direct/reach: both/' '/data of/node/config.yaml' and restart `trailmesh node serve`",
        ),
        (
            EchoTell(reached=False, code="peer.clock", message="late"),
            "fault",
            "does not reach this node: late [peer.clock]",
            CLOCKS,
        ),
        (EchoTell(reached=False, code="envelope.time"), "fault", "does not reach this node:  [envelope.time]", CLOCKS),
        (
            EchoTell(reached=False, code="peer.quota", message="full"),
            "fault",
            "does not reach this node: full [peer.quota]",
            "on the machine of bruno: trailmesh node doctor",
        ),
    ],
)
async def test_a_peer_that_cannot_call_back_is_told_with_why(
    pair: Pair, told: Any, status: str, words: str, remedy: str
) -> None:
    pair.tells(told)
    _, found = await pair.found()
    assert (found.name, found.status, found.remedy) == ("bruno → here", status, remedy)
    assert words in found.finding


async def test_a_node_behind_nat_is_not_told_to_open_a_port(pair: Pair) -> None:
    for reach in ("held", "both"):
        config = msgspec.structs.replace(pair.rooms.config, listen=Listen(reach=cast(Any, reach)))
        pair.fakes.config = config
        told = doctor_peers.inward_remedy(pair.rooms, "bruno", "peer.unreachable")
        assert told == "on the machine of bruno: trailmesh node doctor"


async def test_a_log_that_is_not_shown_or_was_opened_lately_is_a_warning(pair: Pair) -> None:
    async def told(name: str = "bruno") -> list[CheckResult]:
        return (await pair.found(name))[2:]

    remedy = "trailmesh log audit --peer bruno --home '/data of/node'"
    title = "log of bruno"
    await pair.watch.change(pair.bruno.id, shown=LogAnswer.SILENT)
    trouble = "answers without a head of its log"
    assert await told() == [CheckResult(name=title, status="warn", finding=trouble, remedy=remedy)]
    assert [check.name for check in await told("b" * 40)] == [f"log of {'b' * 25}"]
    await pair.watch.change(pair.bruno.id, shown=LogAnswer.CURRENT)
    assert await told() == []
    now_ms = pair.clock.now_ms()
    for renewed_ms, restored, expected in (
        (now_ms, False, ["it has opened a new log"]),
        (now_ms - WEEK_MS, False, ["it has opened a new log"]),
        (now_ms - WEEK_MS - 1, False, []),
        (now_ms, True, ["it has opened a new log, because entries were lost: ask its owner"]),
    ):
        await pair.watch.change(pair.bruno.id, renewed_ms=renewed_ms, restored=restored)
        found = await told()
        assert [check.finding for check in found] == expected
        assert all((check.name, check.status, check.remedy) == (title, "warn", remedy) for check in found)


# --- knocking --------------------------------------------------------------------------------------------------------


async def knock(here: MemoryNode, /, **params: Any) -> Knocked:
    run = MeshVerbs(cast(Rooms, SimpleNamespace(trust=SimpleNamespace(calls=here.calls)))).bound[verbs.KNOCK]
    return cast(Knocked, await run(KnockParams(**params), lambda event: None))


async def test_a_node_that_knocks_is_told_whether_it_was_refused(pair: Pair) -> None:
    stranger = await pair.anna.mesh.add("carol")
    key = bytes(SigningKey(hashlib.sha256(b"bruno").digest()).verify_key).hex()
    refused = await knock(stranger, address=pair.bruno.address, public_key=key)
    assert (refused.refused, refused.code, bool(refused.message)) == (True, "peer.refused_us", True)
    heard = await knock(pair.anna, address=pair.bruno.address, public_key=key, node=pair.bruno.id)
    assert heard.refused is False
    assert await knock(pair.anna, address=pair.bruno.address, public_key=key) == heard


@pytest.mark.parametrize("key", ["", "zz" * 32, "00" * 31, "00" * 33, "0"])
async def test_a_key_that_is_none_is_refused_before_anybody_is_called(pair: Pair, key: str) -> None:
    with pytest.raises(MeshError) as refused:
        await knock(pair.anna, address=pair.bruno.address, public_key=key)
    assert (refused.value.code, refused.value.message) == (
        "input.invalid",
        "a public key must have 64 hexadecimal digits",
    )
    with pytest.raises(MeshError) as refused:
        await knock(pair.anna, address=pair.bruno.address, public_key="00" * 32, node="nobody")
    assert refused.value.code == "id.invalid"
