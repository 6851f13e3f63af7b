"""Changes of a node's own keys: what is stored in which order, who is told, and when a change is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters.keys.file import MemoryKeyStore
from node.signing import identity
from node.signing.identity import LOG_FILE
from node.trust import RecoveryKey
from node.trust.own_keys import OwnKeys, describe
from node.verbs.nodes.keys import ChangedKey, RecoveredKey, RecoverParams, RevokedKey, RevokeParams
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.keys import keylog, recovery
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.keys.keylog import KeyLog
from protocol.messages import Done, KeysAsk, KeysPush, StatusAsk, StatusTell
from tests.key_logs import FIRST, SECOND, log_of, rotated, valid_at
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.socket_nodes import SetClock

SEED = bytes(range(32))
SKEW_S = limits.CLOCK_SKEW_S


class WatchedKeys(MemoryKeyStore):
    """Notes, at every write, how many keys it is given and how many events the stored key log has."""

    def __init__(self, home: Path, own: Any) -> None:
        super().__init__()
        self._home, self._own = home, own
        self.written: list[tuple[int, int, bytes]] = []

    def save(self, seeds: Sequence[bytes]) -> None:
        """``adapters.ports.KeyStore.save``."""
        self.written.append((len(seeds), len(identity.read_log(self._home)), self._own.public_key))
        super().save(seeds)


class Keys:
    """The keys of a node that has a recovery key, over real files."""

    def __init__(self, node: MemoryNode, home: Path) -> None:
        self.node, self.home = node, home
        self.clock = SetClock()
        node.calls._clock = self.clock
        own = node.identity
        own.become(
            keylog.begin(own.key, recovery.commitment(SEED), now_s=self.now_s - 500, random=bytes(EVENT_RANDOM_BYTES)),
            own.key,
        )
        identity.write_log(home, own.log)
        self.kept = WatchedKeys(home, own)
        self.ended: list[str] = []
        self.words: list[str] = []
        self.keys = OwnKeys(
            home,
            own,
            self.kept,
            self.clock,
            node.calls,
            [node.server, node.client],
            RecoveryKey(own, self._read_words),
            self._end_pairing,
            self._end_work,
        )
        self.file = home / "recovery.txt"
        self.file.write_text(recovery.render(node.id, SEED))

    @property
    def now_s(self) -> int:
        return self.clock.now_ms() // 1000

    def _read_words(self, text: str) -> bytes:
        self.words.append(text)
        return SEED

    async def _end_pairing(self) -> None:
        self.ended.append("pairing")

    async def _end_work(self) -> None:
        self.ended.append("work")

    async def news(self) -> list[tuple[str, tuple[str, ...]]]:
        found = (await self.node.store.feed(after=0, kind="key")).changes
        return [(change.kind, change.ids) for change in found]

    def result(self, **more: Any) -> dict[str, Any]:
        """What every change gives."""
        own = self.node.identity
        return {
            "node": own.node,
            "short": ids.short(own.node),
            "public_key": own.public_key.hex(),
            "events": 2,
            "told": ["bruno"],
            "not_told": [],
        } | more


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[tuple[Keys, MemoryNode]]:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        yield Keys(anna, tmp_path), bruno


async def refusal(call: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await call
    return caught.value


# --- rotation --------------------------------------------------------------------------------------------------------


async def test_a_rotation_is_stored_before_it_is_told_and_both_keys_are_kept_meanwhile(
    two: tuple[Keys, MemoryNode],
) -> None:
    anna, bruno = two
    own, old = anna.node.identity, anna.node.identity.public_key
    found = await anna.keys.rotate()
    assert found == ChangedKey(**anna.result())
    assert own.public_key != old
    assert anna.kept.written == [(2, 1, old), (1, 2, own.public_key)]
    assert anna.kept.load() == (bytes(own.key),)
    assert identity.read_log(anna.home).encode() == own.log.encode()
    assert own.log.since_s == anna.now_s
    assert own.spoken
    assert (anna.node.server.public_key, anna.ended) == (own.public_key, ["pairing"])
    assert await anna.news() == [(FeedKind.KEY_ROTATED, (own.node,))]
    assert bruno.peers.public_key(own.node) == own.public_key
    await bruno.calls.call(own.node, "status", StatusAsk(), StatusTell)


async def test_a_peer_that_is_away_is_named_and_hears_of_it_later(two: tuple[Keys, MemoryNode]) -> None:
    anna, bruno = two
    await bruno.stop()
    assert await anna.keys.rotate() == ChangedKey(**anna.result(told=[], not_told=["bruno"]))


@pytest.mark.parametrize(("ahead_s", "code"), [(0, ""), (SKEW_S, ""), (SKEW_S + 1, "peer.clock"), (-9_000, "")])
async def test_a_clock_that_is_ahead_of_those_of_all_peers_makes_no_key(
    two: tuple[Keys, MemoryNode], ahead_s: int, code: str
) -> None:
    anna, bruno = two
    anna.node.calls.contacts.compare_clocks(bruno.id, -ahead_s * 1000)
    before = anna.node.identity.log.encode()
    if code:
        error = await refusal(anna.keys.rotate())
        assert (error.code, anna.node.identity.log.encode(), anna.kept.written) == (code, before, [])
        minutes, seconds = divmod(ahead_s, 60)
        assert error.message == (
            f"the clock of this node is {minutes} min {seconds} s ahead of those of its peers: "
            "peers would not accept a new key until then"
        )
    else:
        assert (await anna.keys.rotate()).events == 2


async def test_of_several_clocks_the_one_that_is_most_ahead_counts_and_it_is_asked_for(
    two: tuple[Keys, MemoryNode],
) -> None:
    anna, bruno = two
    carla = await bruno.mesh.add("carla")
    await bruno.mesh.pair(anna.node, carla)
    contacts = anna.node.calls.contacts
    for node, apart_s in ((bruno.id, -9_000), (carla.id, -SKEW_S)):
        contacts.compare_clocks(node, apart_s * 1000)
    assert (await anna.keys.rotate()).events == 2
    for node in (bruno.id, carla.id):
        contacts._last.pop(node)
    asked: list[str] = []

    async def weather(leg: Any) -> None:
        if not leg.is_answer:
            asked.append(leg.route)

    bruno.mesh.network.weather = weather
    await anna.keys._check_clock()
    assert asked == ["status", "status"]
    await anna.keys._check_clock()
    assert asked == ["status", "status"]


@pytest.mark.parametrize(
    ("latest_s", "behind_s", "since_s"),
    [
        (-5, 0, 0),
        (0, 0, 0),
        (1, 0, 1),
        (SKEW_S, 0, SKEW_S),
        (SKEW_S + 1, 0, None),
        (SKEW_S + 100, 100, SKEW_S + 100),
        (SKEW_S + 101, 100, None),
        (SKEW_S + 1, -100, None),
        (SKEW_S, -100, SKEW_S),
    ],
)
async def test_a_key_begins_when_the_last_artefact_of_the_one_before_was_signed(
    two: tuple[Keys, MemoryNode], latest_s: int, behind_s: int, since_s: int | None
) -> None:
    anna, bruno = two
    own = anna.node.identity
    anna.node.calls.contacts.compare_clocks(bruno.id, behind_s * 1000)
    own.latest_s = anna.now_s + latest_s
    if since_s is None:
        with pytest.raises(MeshError) as caught:
            anna.keys._from_s()
        error = caught.value
        assert (error.code, error.detail) == ("key.clock", {"latest_s": own.latest_s})
        assert error.message.startswith("this node has signed artefacts that are dated up to 2026-01-01 00:0")
        assert error.message.endswith(" UTC")
    else:
        assert anna.keys._from_s() == anna.now_s + since_s


async def test_of_several_clocks_that_are_ahead_the_nearest_decides(two: tuple[Keys, MemoryNode]) -> None:
    anna, bruno = two
    carla = await bruno.mesh.add("carla")
    await bruno.mesh.pair(anna.node, carla)
    for node, apart_s in ((bruno.id, 50), (carla.id, 100)):
        anna.node.calls.contacts.compare_clocks(node, apart_s * 1000)
    anna.node.identity.latest_s = anna.now_s + SKEW_S + 50
    assert anna.keys._from_s() == anna.now_s + SKEW_S + 50
    anna.node.identity.latest_s += 1
    with pytest.raises(MeshError):
        anna.keys._from_s()


# --- recovery --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_words", [False, True])
async def test_a_recovery_needs_its_key_and_not_the_current_one(two: tuple[Keys, MemoryNode], by_words: bool) -> None:
    anna, bruno = two
    own = anna.node.identity
    given: dict[str, Any] = {"words_file": str(anna.file)} if by_words else {"key_file": str(anna.file)}
    found = await anna.keys.recover(RecoverParams(**given))
    assert found == RecoveredKey(**anna.result(), recovery_file="")
    assert own.log.since_s == anna.now_s
    assert anna.words == ([anna.file.read_text()] if by_words else [])
    assert (anna.ended, await anna.news()) == (["pairing"], [(FeedKind.KEY_RECOVERED, (own.node,))])
    assert bruno.peers.public_key(own.node) == own.public_key
    await anna.keys.recover(RecoverParams(key_file=str(anna.file)))  # the recovery key is still the same


async def test_a_recovery_can_replace_the_recovery_key(two: tuple[Keys, MemoryNode], tmp_path: Path) -> None:
    anna, _ = two
    out = tmp_path.parent / f"{tmp_path.name}-new.txt"
    found = await anna.keys.recover(
        RecoverParams(key_file=str(anna.file), recovery_out=str(out), since_s=anna.now_s - 20)
    )
    assert found.recovery_file == str(out)
    log, first = anna.node.identity.log, anna.node.identity.genesis_key
    assert (valid_at(log, first, anna.now_s - 21), valid_at(log, first, anna.now_s - 19)) == (True, False)
    assert out.stat().st_mode & 0o777 == 0o600
    assert recovery.parse(out.read_text(), anna.node.id) != SEED
    error = await refusal(anna.keys.recover(RecoverParams(key_file=str(anna.file))))
    assert error.code == "recovery.invalid"
    error = await refusal(anna.keys.recover(RecoverParams(key_file=str(out), recovery_out=str(out))))
    assert (error.code, error.message) == ("input.invalid", f"{out} exists already")
    await anna.keys.recover(RecoverParams(key_file=str(out)))
    out.unlink()


async def test_a_recovery_key_that_cannot_be_written_changes_nothing(
    two: tuple[Keys, MemoryNode], tmp_path: Path
) -> None:
    anna, _ = two
    (blocked := tmp_path.parent / f"{tmp_path.name}-blocked").write_text("a file")
    error = await refusal(
        anna.keys.recover(RecoverParams(key_file=str(anna.file), recovery_out=str(blocked / "new.txt")))
    )
    assert (error.code, "cannot be written" in error.message) == ("input.invalid", True)
    assert (len(anna.node.identity.log), anna.kept.written) == (1, [])


@pytest.mark.parametrize("files", [(), ("key_file", "words_file")])
async def test_the_recovery_key_is_given_in_one_way(two: tuple[Keys, MemoryNode], files: tuple[str, ...]) -> None:
    anna, _ = two
    given: dict[str, Any] = dict.fromkeys(files, str(anna.file))
    error = await refusal(anna.keys.recover(RecoverParams(**given)))
    assert (error.code, error.message) == (
        "input.invalid",
        "give the recovery key with either --key-file or --words-file",
    )


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "input.invalid"),
        (b"\xff\xfe", "recovery.invalid"),
        (b"x" * limits.RECOVERY_FILE_CHARS_MAX, "recovery.invalid"),
        (b"x" * (limits.RECOVERY_FILE_CHARS_MAX + 2), "recovery.invalid"),
    ],
)
async def test_a_file_without_a_recovery_key_is_refused(
    two: tuple[Keys, MemoryNode], content: bytes | None, code: str
) -> None:
    anna, _ = two
    anna.file.unlink()
    if content is not None:
        anna.file.write_bytes(content)
    error = await refusal(anna.keys.recover(RecoverParams(key_file=str(anna.file))))
    assert error.code == code
    await anna.keys.revoke(RevokeParams())


async def test_of_a_file_no_more_is_read_than_shows_that_it_is_too_long(two: tuple[Keys, MemoryNode]) -> None:
    anna, _ = two
    anna.file.write_text("x" * (limits.RECOVERY_FILE_CHARS_MAX + 2))
    await anna.keys.recover(RecoverParams(words_file=str(anna.file)))
    assert anna.words == ["x" * (limits.RECOVERY_FILE_CHARS_MAX + 1)]


@pytest.mark.parametrize(("since_s", "code"), [(0, ""), (-500, ""), (-501, "input.invalid"), (1, "input.invalid")])
@pytest.mark.parametrize("way", ["recover", "revoke"])
async def test_a_key_is_lost_between_the_birth_of_the_node_and_now(
    two: tuple[Keys, MemoryNode], way: str, since_s: int, code: str
) -> None:
    anna, _ = two
    given: dict[str, Any] = {"key_file": str(anna.file), "since_s": anna.now_s + since_s}
    call = anna.keys.recover(RecoverParams(**given)) if way == "recover" else anna.keys.revoke(RevokeParams(**given))
    if code:
        error = await refusal(call)
        assert (error.code, len(anna.node.identity.log)) == (code, 1)
        assert error.message == (
            "--since must not be in the future"
            if since_s > 0
            else "this node was made at 2025-12-31T23:51:40 UTC, and --since is before that: give that time or a later one"
        )
    else:
        assert (await call).events == 2


# --- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["", "key_file", "words_file"])
async def test_a_node_that_revokes_itself_tells_its_peers_and_ends_its_work(
    two: tuple[Keys, MemoryNode], by: str
) -> None:
    anna, bruno = two
    given: dict[str, Any] = {by: str(anna.file)} if by else {}
    found = await anna.keys.revoke(RevokeParams(**given, since_s=anna.now_s - 7))
    own = anna.node.identity
    assert found == RevokedKey(**anna.result(), revoked_s=anna.now_s - 7)
    assert (anna.ended, await anna.news()) == (["work"], [(FeedKind.KEY_REVOKED, (own.node,))])
    assert identity.read_log(anna.home).encode() == own.log.encode()
    assert bruno.peers.standing(own.node) == "keylog.revoked"
    assert (await refusal(anna.keys.rotate())).code == "keylog.revoked"
    assert anna.kept.written == []


# --- what peers ask, and what people are told ------------------------------------------------------------------------


async def test_a_key_log_is_given_to_peers_and_taken_from_them(two: tuple[Keys, MemoryNode]) -> None:
    anna, bruno = two
    assert set(anna.keys.routes) == {"keys/push", "keys/pull"}
    told = await anna.keys.on_pull(bruno.id, KeysAsk())
    assert KeyLog.read(told.log).node == anna.node.id
    new = rotated(bruno.identity.log, bruno.identity.key, SECOND, anna.now_s)
    assert await anna.keys.on_push(bruno.id, KeysPush(log=new.encode())) == Done()
    assert anna.node.peers.public_key(bruno.id) == bytes(SECOND.verify_key)


def test_keys_are_described_without_a_passphrase(tmp_path: Path) -> None:
    log = rotated(log_of(), FIRST, SECOND, 2_000)
    identity.write_log(tmp_path, log)
    assert describe(tmp_path, "plain", lambda digest: digest.hex()) == {
        "node": log.node,
        "short": ids.short(log.node),
        "fingerprint": recovery.fingerprint(log.node).hex(),
        "public_key": bytes(SECOND.verify_key).hex(),
        "events": 2,
        "revoked_s": None,
        "key_form": "plain",
    }
    (tmp_path / LOG_FILE).unlink()
    with pytest.raises(MeshError) as caught:
        describe(tmp_path, "plain", str)
    assert caught.value.code == "node.not_initialised"
