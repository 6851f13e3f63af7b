"""What the writer emits passes the strict decoder, and is what automerge itself makes of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from adapters.search.writer import TreeWriter
from protocol import limits
from protocol.errors import MeshError
from protocol.search.chunk import decode_change
from protocol.search.delta import DeltaReader, actor_of, decode_delta, encode_delta, read_change
from protocol.search.entry import SCALE, Register, TreeUpdate, make_update
from tests.trees import ROOT_KEY, SEARCH, Peer, lease, node, public_key

KEY = public_key("alice")

# Hands the decoded puts to a fresh automerge document and prints the hashes automerge gives its own changes.
# It runs apart, because a fault of the native library ends the process.
ORACLE = """
import json, sys
from automerge.core import ROOT, Document, ObjType, ScalarType
task = json.load(sys.stdin)
document, maps = Document(bytes.fromhex(task["actor"])), []
for change in task["changes"]:
    with document.transaction() as transaction:
        if not maps:
            maps = [transaction.put_object(ROOT, name, ObjType.Map) for name in ("nodes", "stats", "lease")]
        for place, key, value in change:
            transaction.put(maps[place], key, ScalarType.Bytes, bytes.fromhex(value))
json.dump([change.hash.hex() for change in document.get_changes([])], sys.stdout)
"""


def _history() -> list[bytes]:
    """Chunks with first puts, replaced puts, all three maps, and values that did not change."""
    peer = Peer("alice")
    for number in range(6):
        entry = node(f"n{number % 4}", prior=number / 10)
        peer.share.name(entry)
        peer.share.visit([ROOT_KEY, entry.key], value=number * 1000, cost_ms=7, success=number == 3)
        peer.share.lease(entry.key, lease(number, live=number % 2 == 0, term=number + 1))
        peer.publish()
    return peer.payloads


def test_the_reader_accepts_every_delta_and_finds_what_was_written() -> None:
    entry = node("a")
    update = make_update(
        {entry.key: entry}, {entry.key: Register(visits=2, value_sum=SCALE, best=SCALE)}, {entry.key: lease(1)}
    )
    (delta,) = TreeWriter(KEY, SEARCH, 1).flush(update)
    read = DeltaReader(KEY, SEARCH, may_lease=True).read(encode_delta(delta))
    assert read is not None
    assert (read.nodes, tuple(read.stat_keys), read.leases) == (update.nodes, update.stat_keys, update.leases)
    assert (read.stats == update.stats).all()


def test_automerge_gives_replayed_changes_the_hashes_of_the_chunks() -> None:
    changes = [decode_change(decode_delta(payload).chunk) for payload in _history()]
    task = {
        "actor": actor_of(KEY).hex(),
        "changes": [
            [
                [place, key.decode(), value.hex()]
                for place, puts in enumerate((change.nodes, change.stats, change.leases))
                for key, value in puts
            ]
            for change in changes
        ],
    }
    oracle = subprocess.run(
        [sys.executable, "-c", ORACLE], input=json.dumps(task), capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(oracle.stdout) == [change.hash.hex() for change in changes]


def test_values_that_did_not_change_make_no_delta() -> None:
    writer, entry = TreeWriter(KEY, SEARCH, 1), node("a")
    update = make_update({entry.key: entry})
    assert len(writer.flush(update)) == 1
    assert writer.flush(update) == []
    assert writer.flush(TreeUpdate()) == []
    assert writer.seq == 1


def test_a_large_update_is_split_into_chunks_within_the_limits() -> None:
    nodes = [node(f"{number:05} " + "x" * 1_800) for number in range(400)]
    deltas = TreeWriter(KEY, SEARCH, 1).flush(make_update({entry.key: entry for entry in nodes}))
    assert [delta.seq for delta in deltas] == [1, 2]
    reader = DeltaReader(KEY, SEARCH)
    updates = [reader.read(encode_delta(delta)) for delta in deltas]
    assert all(len(delta.chunk) <= limits.CHUNK_BYTES_MAX for delta in deltas)
    assert sum(len(update.nodes) for update in updates if update is not None) == 400


def test_a_register_heavy_update_is_split_by_the_number_of_operations() -> None:
    stats = {number.to_bytes(16, "big"): Register(visits=1) for number in range(25_000)}
    deltas = TreeWriter(KEY, SEARCH, 1).flush(make_update(stats=stats))
    changes = [decode_change(delta.chunk) for delta in deltas]
    assert sum(change.puts for change in changes) == 25_000
    assert len(read_change(changes[-1], may_lease=False).stat_keys) == changes[-1].puts


def test_a_full_epoch_is_refused_before_anything_is_written() -> None:
    writer = TreeWriter(KEY, SEARCH, 1)
    stats = {number.to_bytes(16, "big"): Register(visits=1) for number in range(limits.EPOCH_PUTS_MAX + 1)}
    with pytest.raises(MeshError) as caught:
        writer.flush(make_update(stats=stats))
    assert caught.value.code == "input.too_large"
    assert (writer.seq, writer.head, writer.full) == (0, None, False)


def test_a_new_epoch_starts_a_new_chain_that_names_the_old_head() -> None:
    peer = Peer("alice")
    peer.share.name(node("a"))
    peer.publish()
    old = peer.writer.head
    peer.restart()
    reader = DeltaReader(KEY, SEARCH)
    assert all(reader.read(payload) is not None for payload in peer.payloads)
    assert (reader.epoch, reader.next_seq) == (2, 2)
    assert decode_delta(peer.payloads[-1]).prior_heads == (old,)
