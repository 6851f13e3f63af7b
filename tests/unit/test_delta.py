"""Deltas: the payload, the chain of one peer, and vectors of what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.errors import MeshError
from protocol.search.delta import DeltaReader, actor_of, decode_delta
from protocol.search.tree import SearchTree
from protocol.wire import cbor
from tests.tables import each
from tests.trees import ROOT_KEY, SEARCH, Peer, lease, node, public_key
from tests.vectors import delta_vectors
from tests.vectors.delta_vectors import FOLDER

REFUSED: list[dict[str, Any]] = json.loads((FOLDER / "delta_refused.json").read_text())
ACCEPTED: list[dict[str, Any]] = json.loads((FOLDER / "delta_accepted.json").read_text())


def reader(*, may_lease: bool = False) -> DeltaReader:
    return DeltaReader(public_key("alice"), SEARCH, may_lease=may_lease)


def published(count: int) -> Peer:
    peer = Peer("alice")
    for number in range(count):
        peer.share.name(node(f"n{number}"))
        peer.share.visit([ROOT_KEY], value=1, cost_ms=1)
        peer.publish()
    return peer


def test_the_committed_vectors_are_what_their_generator_makes() -> None:
    assert delta_vectors.main(["--check"]) == 0


@pytest.mark.parametrize("vector", REFUSED, ids=lambda vector: vector["name"])
def test_every_refused_vector_is_refused_with_its_code_and_changes_nothing(vector: dict[str, Any]) -> None:
    follower, tree = reader(), SearchTree(SEARCH)

    def take(payload: str) -> None:
        update = follower.read(bytes.fromhex(payload))
        assert update is not None
        try:
            tree.apply("alice", follower.epoch, update)
        except MeshError:
            follower.unread()
            raise

    for payload in vector["before"]:
        take(payload)
    before = (follower.epoch, follower.next_seq, follower.head, tree.digest())
    with pytest.raises(MeshError) as caught:
        take(vector["payload"])
    assert caught.value.code == vector["code"]
    assert (follower.epoch, follower.next_seq, follower.head, tree.digest()) == before


@pytest.mark.parametrize("vector", ACCEPTED, ids=lambda vector: vector["name"])
def test_every_accepted_vector_is_read_to_its_end(vector: dict[str, Any]) -> None:
    follower = reader(may_lease=True)
    for told in vector["payloads"]:
        update = follower.read(bytes.fromhex(told["payload"]))
        assert update is not None
        assert [len(update.nodes), len(update.stat_keys), len(update.leases)] == told["puts"]
        assert (follower.epoch, follower.next_seq - 1) == (told["epoch"], told["seq"])
        assert follower.head == bytes.fromhex(told["hash"])


def test_a_gap_names_the_delta_that_is_wanted() -> None:
    peer, follower = published(3), reader()
    follower.read(peer.payloads[0])
    with pytest.raises(MeshError) as caught:
        follower.read(peer.payloads[2])
    assert (caught.value.code, caught.value.detail) == ("delta.gap", {"epoch": 1, "seq": 2})


def test_a_repeated_delta_is_ignored() -> None:
    peer, follower = published(2), reader()
    assert all(follower.read(payload) is not None for payload in peer.payloads)
    assert [follower.read(payload) for payload in peer.payloads] == [None, None]


def test_a_delta_of_a_replaced_epoch_is_ignored() -> None:
    peer, follower = published(2), reader()
    peer.restart()
    assert follower.read(peer.payloads[-1]) is not None
    assert follower.read(peer.payloads[0]) is None
    assert follower.epoch == 2


@each("restart", [False, True])
def test_a_delta_that_the_tree_refused_can_be_read_again(restart: bool) -> None:
    peer, follower = published(2), reader()
    if restart:
        peer.restart()
    follower.read(peer.payloads[0])
    before = (follower.epoch, follower.next_seq, follower.head)
    assert follower.read(peer.payloads[-1]) is not None
    follower.unread()
    assert (follower.epoch, follower.next_seq, follower.head) == before
    assert follower.read(peer.payloads[-1]) is not None


def test_a_peer_cannot_publish_the_chunk_of_another() -> None:
    """Guard: protocol/search/delta.py, DeltaReader._check_chain."""
    peer = published(1)
    with pytest.raises(MeshError) as caught:
        DeltaReader(public_key("bob"), SEARCH).read(peer.payloads[0])
    assert caught.value.code == "delta.invalid"


def test_only_the_coordinator_may_write_leases() -> None:
    """Guard: protocol/search/delta.py, read_change."""
    peer = Peer("alice")
    peer.share.lease(ROOT_KEY, lease(1))
    peer.publish()
    with pytest.raises(MeshError) as caught:
        reader().read(peer.payloads[0])
    assert caught.value.code == "delta.invalid"
    update = reader(may_lease=True).read(peer.payloads[0])
    assert update is not None
    assert update.leases == {ROOT_KEY: lease(1)}


def test_the_payload_is_a_map_of_search_epoch_sequence_and_chunk() -> None:
    payload = published(1).payloads[0]
    assert sorted(cbor.decode(payload)) == ["chunk", "epoch", "search", "seq"]
    assert decode_delta(payload).prior_heads == ()


def test_the_actor_is_the_first_half_of_the_hash_of_the_public_key() -> None:
    assert actor_of(b"") == bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb924")
