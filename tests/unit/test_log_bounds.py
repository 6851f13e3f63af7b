"""Witness logs at their edges: checkpoints, proofs and openings that just fit, and the reason why others do not."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.log import log_proof, log_renewal, note, witness_log
from protocol.log.log_proof import Equivocation, InclusionProof, KeyOf, key_finder, key_of
from protocol.log.note import Note
from protocol.log.witness_log import Checkpoint, Link, Opening, Standing, judge
from protocol.wire.envelope import key_id
from tests.key_logs import FIRST, SECOND, START_S, THIEF, log_of, public, rotated
from tests.logs import KEY, NODE, PUBLIC, Tree, tree
from tests.tables import each

WITNESS = SigningKey(bytes([3]) * 32)
WITNESS_NODE = ids.node_id(bytes(WITNESS.verify_key))
SIGNER = KeyOf(node=NODE, public_key=PUBLIC)


def refusal(call: Any, *arguments: Any, **named: Any) -> str:
    """The message of a ``log.invalid``."""
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    assert caught.value.code == "log.invalid"
    return caught.value.message


# --- checkpoints -----------------------------------------------------------------------------------------------------

ROOT = base64.b64encode(bytes(32)).decode()
ORIGIN = f"trailmesh/{NODE}/0"


def text_note(text: str) -> Note:
    return note.sign(text, ORIGIN, KEY)


SIZE = "the size of a checkpoint must be a decimal number, at least 1"
CANONICAL = "the root of a checkpoint must be 32 bytes in canonical base64"
NAMED = "the origin of a log must have the form trailmesh/<node id>/<number>"


@each(
    ("text", "reason"),
    [
        (f"{ORIGIN}\n1\n{ROOT}\n", ""),
        (f"{ORIGIN}\n{2**53}\n{ROOT}\n", ""),
        (f"{ORIGIN}\n{2**53 + 1}\n{ROOT}\n", SIZE),
        (f"{ORIGIN}\n0\n{ROOT}\n", SIZE),
        (f"{ORIGIN}\n01\n{ROOT}\n", SIZE),
        (f"{ORIGIN}\n+1\n{ROOT}\n", SIZE),
        (f"{ORIGIN}\n{'9' * 20}\n{ROOT}\n", SIZE),
        (f"{ORIGIN}\n1\n", "a checkpoint must have three lines"),
        (f"{ORIGIN}\n1\n{ROOT}\nmore\n", "a checkpoint must have three lines"),
        (f"{ORIGIN}\n1\n!\n", "the root of a checkpoint is not base64"),
        (f"{ORIGIN}\n1\n{base64.b64encode(bytes(31)).decode()}\n", CANONICAL),
        (f"{ORIGIN}\n1\n{base64.b64encode(bytes(33)).decode()}\n", CANONICAL),
        (f"{ORIGIN}\n1\n{ROOT[:-2]}B=\n", CANONICAL),
        (f"{ORIGIN[:-1]}\n1\n{ROOT}\n", NAMED),
        (f"{ORIGIN}0\n1\n{ROOT}\n", NAMED),
        (f"{ORIGIN}/0\n1\n{ROOT}\n", NAMED),
        (f"{NODE}/0\n1\n{ROOT}\n", NAMED),
        (f"trailmesh/{NODE.lower()}/0\n1\n{ROOT}\n", NAMED),
        ("trailmesh/AAAA/0\n1\n" + ROOT + "\n", NAMED),
        (f"trailmesh/{NODE}/{2**31 - 1}\n1\n{ROOT}\n", ""),
        (f"trailmesh/{NODE}/{2**31}\n1\n{ROOT}\n", "the number of the log is too large"),
    ],
)
def test_a_checkpoint_has_one_form_and_says_what_is_not_of_it(text: str, reason: str) -> None:
    if reason:
        assert refusal(witness_log.peek, text_note(text)) == reason
    else:
        read = witness_log.peek(text_note(text))
        assert (read.text, read.node, read.root) == (text, NODE, bytes(32))


def test_a_checkpoint_is_opened_under_any_key_of_its_node_and_under_no_other() -> None:
    data = tree(3).note(number=2)
    other = bytes(WITNESS.verify_key)
    for keys in ((PUBLIC,), (PUBLIC, other), (other, PUBLIC)):
        checkpoint, signed = witness_log.open_checkpoint(data, NODE, *keys)
        assert (checkpoint.number, checkpoint.size) == (2, 3)
        assert witness_log.is_signed(signed, *keys)
        extra = signed.with_line(witness_log.cosign(signed, WITNESS_NODE, WITNESS, 7))
        assert witness_log.bare(extra, *keys) == signed
    assert not witness_log.is_signed(signed, other)
    told = f"a checkpoint of {NODE[:7]}, not of {WITNESS_NODE[:7]}"
    assert refusal(witness_log.open_checkpoint, data, WITNESS_NODE, PUBLIC) == told
    assert refusal(witness_log.open_checkpoint, data, NODE, other) == f"the note is not signed by trailmesh/{NODE}/2"


def test_leaves_and_tags_are_the_hashes_that_are_published() -> None:
    digest = hashlib.sha256(b"envelope").digest()
    leaf = hashlib.sha256(b"\x00trailmesh-artefact-v1\x00" + digest).digest()
    assert witness_log.artefact_entry(b"envelope") == witness_log.entry_hash(digest) == leaf
    tag = hashlib.sha256(b"trailmesh-acquaintance-v1\x00" + b"ABC").digest()[:16]
    assert witness_log.acquaintance("B", "A", "C") == witness_log.acquaintance("A", "B", "C") == tag
    assert (witness_log.origin("N", 3), witness_log.cosigner("N")) == ("trailmesh/N/3", "trailmesh/N")
    begun = witness_log.beginning(NODE, b"envelope", Opening(log=f"trailmesh/{NODE}/7", opened_ms=0))
    assert begun == Checkpoint(node=NODE, number=7, size=1, root=leaf)


GROWN = tree(9)
NOTHING = Link(base_size=0, base_root=b"", proof=())


@each(
    ("held", "told", "link", "standing"),
    [
        (GROWN.checkpoint(5), GROWN.checkpoint(5), NOTHING, Standing.SAME),
        (GROWN.checkpoint(5), GROWN.checkpoint(4), NOTHING, Standing.BEHIND),
        (GROWN.checkpoint(5), GROWN.checkpoint(6), GROWN.link(5, 6), Standing.AHEAD),
        (GROWN.checkpoint(5), GROWN.checkpoint(6), GROWN.link(4, 6), Standing.UNCONNECTED),
        (GROWN.checkpoint(5), GROWN.checkpoint(6), GROWN.link(5, 7), Standing.UNPROVEN),
        (GROWN.checkpoint(5), GROWN.checkpoint(5, number=1), NOTHING, Standing.UNCONNECTED),
        (GROWN.checkpoint(5, number=1), GROWN.checkpoint(5), NOTHING, Standing.REPLACED),
        (GROWN.checkpoint(5), tree(9, fork_at=2).checkpoint(5), NOTHING, Standing.CONTRADICTS),
        (tree(9, fork_at=2).checkpoint(5), GROWN.checkpoint(6), GROWN.link(5, 6), Standing.CONTRADICTS),
    ],
)
def test_a_checkpoint_is_judged_by_number_size_and_proof(
    held: Checkpoint, told: Checkpoint, link: Link, standing: Standing
) -> None:
    assert judge(held, told, link) is standing


# --- proofs ----------------------------------------------------------------------------------------------------------


def inclusion(**changes: Any) -> InclusionProof:
    digests = [bytes([number]) * 32 for number in range(5)]
    grown = Tree([witness_log.entry_hash(digest) for digest in digests])
    proof = InclusionProof(
        signer=SIGNER, digest=digests[2], index=2, hashes=tuple(grown.inclusion(2, 5)), checkpoint=grown.note().decode()
    )
    return msgspec.structs.replace(proof, **changes)


def test_a_proof_file_may_be_as_large_as_its_limit() -> None:
    data = log_proof.encode(inclusion())
    assert data.startswith(b'{\n  "format": "trailmesh-log-inclusion-v1",\n')
    assert data.endswith(b"}\n")
    assert log_proof.artefact_digest(b"envelope") == hashlib.sha256(b"envelope").digest()
    whole = data + b" " * (limits.LOG_PROOF_BYTES_MAX - len(data))
    assert log_proof.decode(whole) == inclusion()
    assert refusal(log_proof.decode, whole + b" ") == "a proof can have at most 262144 bytes"
    named = b'{"format":"' + b"f" * 100 + b'"}'
    assert refusal(log_proof.decode, named) == f"{'f' * 64!r} is not a known form of proof"
    long = data.replace(b'"index": 2', b'"' + b"x" * 300 + b'": 2')
    assert len(refusal(log_proof.decode, long)) == 200
    text = data.replace(b'"index": 2', b'"index": "2"')
    assert refusal(log_proof.decode, text).startswith("not a proof: Expected `int`, got `str`")
    lower = data.replace(NODE.encode(), NODE.lower().encode(), 1)
    assert "canonical" in refusal(log_proof.decode, lower)


def test_what_a_proof_shows_is_told_whole() -> None:
    proof = inclusion()
    found = log_proof.check(proof)
    checkpoint = witness_log.peek(note.parse(proof.checkpoint.encode()))
    assert (found.shows, found.node, found.log, found.size) == ("inclusion", NODE, ORIGIN, 5)
    assert (found.root, found.digest, found.index) == (checkpoint.root.hex(), (b"\x02" * 32).hex(), 2)
    assert (found.cosignatures, found.other_size, found.other_root) == ((), 0, "")
    forked = tree(9, fork_at=2)
    link = forked.link(5, 9)
    against = Equivocation(
        signer=SIGNER,
        first=GROWN.note(5).decode(),
        second=forked.note(9).decode(),
        first_root=link.base_root,
        hashes=link.proof,
    )
    found = log_proof.check(against)
    assert (found.shows, found.node, found.log) == ("equivocation", NODE, ORIGIN)
    assert (found.size, found.root) == (9, forked.root(9).hex())
    assert (found.other_size, found.other_root) == (5, GROWN.root(5).hex())
    assert (found.digest, found.index) == ("", 0)


LEAD = "the hashes do not lead from the artefact to the root of the checkpoint"


@each(
    ("changes", "reason"),
    [
        ({"index": 3}, LEAD),
        ({"digest": bytes(32)}, LEAD),
        ({"checkpoint": "\ud800"}, "a checkpoint is not UTF-8"),
        ({"signer": KeyOf(node=WITNESS_NODE, public_key=PUBLIC)}, f"the key is not a key of {WITNESS_NODE[:7]}"),
        ({"signer": KeyOf(node=NODE, public_key=PUBLIC, key_log=b"x")}, "the key log in the proof: form: ends early"),
        ({"cosigners": (SIGNER,)}, f"{NODE[:7]} did not cosign the checkpoint"),
        ({"cosigners": (KeyOf(node=NODE, public_key=bytes(32)),)}, f"the key is not a key of {NODE[:7]}"),
    ],
)
def test_a_proof_of_inclusion_says_what_it_does_not_show(changes: dict[str, Any], reason: str) -> None:
    assert refusal(log_proof.check, inclusion(**changes)) == reason


@each(
    ("first", "second", "link", "reason"),
    [
        (GROWN.note(5), GROWN.note(5, number=1), NOTHING, "of two different logs"),
        (GROWN.note(9), GROWN.note(5), NOTHING, "the larger checkpoint must come second"),
        (GROWN.note(5), GROWN.note(5), NOTHING, "the checkpoints do not contradict each other"),
        (GROWN.note(5), GROWN.note(9), GROWN.link(5, 9), "the checkpoints do not contradict each other"),
        (GROWN.note(5), GROWN.note(9), NOTHING, "the hashes do not prove the root of the second history"),
    ],
)
def test_a_proof_of_equivocation_says_what_it_does_not_show(
    first: bytes, second: bytes, link: Link, reason: str
) -> None:
    proof = Equivocation(
        signer=SIGNER, first=first.decode(), second=second.decode(), first_root=link.base_root, hashes=link.proof
    )
    assert reason in refusal(log_proof.check, proof)


def test_a_key_comes_with_its_key_log_only_if_it_needs_one() -> None:
    log = rotated(log_of(FIRST), FIRST, SECOND, START_S + 60)
    first, second = public(FIRST), public(SECOND)
    assert key_of(log.node, first, None) == KeyOf(node=log.node, public_key=first)
    assert key_of(log.node, first, log) == KeyOf(node=log.node, public_key=first)
    assert key_of(log.node, second, log) == KeyOf(node=log.node, public_key=second, key_log=log.encode())
    assert key_of(log.node, second, None) == KeyOf(node=log.node, public_key=second)


def test_a_finder_of_keys_knows_those_of_one_node_for_their_time() -> None:
    log = rotated(log_of(FIRST), FIRST, SECOND, START_S + 600)
    find = key_finder(key_of(log.node, public(SECOND), log))
    assert find(log.node, key_id(public(FIRST)), START_S + 1) == FIRST.verify_key
    assert find(log.node, key_id(public(FIRST)), START_S + 601) is None
    assert find(log.node, key_id(public(SECOND)), START_S + 601) == SECOND.verify_key
    assert find(NODE, key_id(public(SECOND)), START_S + 601) is None
    single = key_finder(SIGNER)
    assert single(NODE, key_id(PUBLIC), 0) == KEY.verify_key
    assert single(log.node, key_id(PUBLIC), 0) is None
    refusal(key_finder, KeyOf(node=log.node, public_key=public(THIEF), key_log=log.encode()))
    refusal(key_finder, KeyOf(node=NODE, public_key=public(THIEF)))


# --- openings --------------------------------------------------------------------------------------------------------


def opening(number: int, previous: bytes = b"", *others: bytes, node: str = NODE) -> Opening:
    return Opening(log=witness_log.origin(node, number), previous=previous, others=others, opened_ms=1)


LATER = "the opening of a later log must name the log before it"
ONE_HIGHER = "the number of a log must be one higher than that of the log it replaces"
FIRST_LOG = "the opening of a node's first log must not name a former log"


@each(
    ("said", "reason"),
    [
        (opening(0, node=WITNESS_NODE), "the opening is of another node's log"),
        (opening(0, GROWN.note(3)), FIRST_LOG),
        (opening(0, b"", GROWN.note(3)), FIRST_LOG),
        (opening(1), LATER),
        (opening(1, b"", GROWN.note(3)), LATER),
        (opening(1, GROWN.note(3, number=1)), ONE_HIGHER),
        (opening(2, GROWN.note(3)), ONE_HIGHER),
        (opening(2, GROWN.note(3, number=1), GROWN.note(3, number=2)), "an opening may name only former logs"),
    ],
)
def test_an_opening_says_what_is_wrong_with_what_it_names(said: Opening, reason: str) -> None:
    assert refusal(log_renewal.named_by, said, NODE, PUBLIC) == reason


def test_of_what_is_named_the_one_that_accounts_is_returned() -> None:
    held, smaller, larger = GROWN.checkpoint(5), GROWN.checkpoint(3), GROWN.checkpoint(7)
    forked = tree(9, fork_at=2).checkpoint(5)
    link = GROWN.link(5, 7)
    assert log_renewal.account(held, 1, [smaller, held], NOTHING) == (Standing.SAME, held)
    assert log_renewal.account(held, 1, [smaller, larger], link) == (Standing.AHEAD, larger)
    assert log_renewal.account(held, 1, [GROWN.checkpoint(9), larger], link) == (Standing.AHEAD, larger)
    assert log_renewal.account(held, 1, [held, larger, forked], link) == (Standing.CONTRADICTS, forked)
    for named, standing in (([smaller], Standing.UNPROVEN), ([larger], Standing.UNCONNECTED), ([], Standing.UNPROVEN)):
        assert log_renewal.account(held, 1, named, NOTHING) == (standing, None)
    later = [GROWN.checkpoint(4, number=1), GROWN.checkpoint(4, number=2), GROWN.checkpoint(4, number=3)]
    assert log_renewal.account(held, 3, [held, *later], NOTHING)[0] is Standing.SAME
    assert log_renewal.account(held, 3, [held, *later[1:]], NOTHING)[0] is Standing.UNPROVEN
    assert log_renewal.account(held, 3, [held, *later[:1], GROWN.checkpoint(4)], NOTHING)[0] is Standing.UNPROVEN
