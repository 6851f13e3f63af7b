"""Checkpoints, how they are judged, and proofs that stand on their own."""

from __future__ import annotations

import msgspec
import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.log import log_proof, note, witness_log
from protocol.log.log_proof import Equivocation, InclusionProof, KeyOf
from protocol.log.witness_log import Checkpoint, Link, Opening, Standing, judge
from tests.key_logs import FIRST, SECOND, START_S, THIEF, log_of, public, rotated
from tests.logs import KEY, NODE, PUBLIC, Tree, tree
from tests.tables import each

SIGNER = KeyOf(node=NODE, public_key=PUBLIC)
NOTHING = Link(base_size=0, base_root=b"", proof=())


def refused(call: object, *args: object, **kwargs: object) -> str:
    """The message of a ``log.invalid``."""
    assert callable(call)
    with pytest.raises(MeshError) as caught:
        call(*args, **kwargs)
    assert caught.value.code == "log.invalid"
    return caught.value.message


def text_note(text: str) -> bytes:
    """``text`` signed as a log of ``NODE``."""
    return note.sign(text, witness_log.origin(NODE, 0), KEY).encode()


# --- checkpoints ---


def test_a_signed_checkpoint_is_read_again() -> None:
    grown = tree(5)
    checkpoint, signed = witness_log.open_checkpoint(grown.note(), NODE, PUBLIC)
    assert checkpoint == grown.checkpoint()
    assert signed.encode() == grown.note()
    assert signed.text.splitlines()[0] == f"trailmesh/{NODE}/0"


@each(
    "text",
    [
        "{origin}\n1\n{root}\nextension\n",
        "{origin}\n1\n",
        "{origin}\n01\n{root}\n",
        "{origin}\n0\n{root}\n",
        "{origin}\n-1\n{root}\n",
        "{origin}\n9999999999999999999\n{root}\n",
        "{origin}\n١\n{root}\n",
        "{origin}\n1\nAAAA\n",
        "{origin}\n1\n{root}=\n",
        "trailmesh/{node}/00\n1\n{root}\n",
        "trailmesh/{node}/9999999999\n1\n{root}\n",
        "trailmesh/{node}\n1\n{root}\n",
        "trailmesh/{lower}/0\n1\n{root}\n",
        "example.com/{node}/0\n1\n{root}\n",
    ],
)
def test_a_checkpoint_has_one_form_only(text: str) -> None:
    root = tree(1).checkpoint().text.splitlines()[2]
    filled = text.format(origin=witness_log.origin(NODE, 0), node=NODE, lower=NODE.lower(), root=root)
    refused(witness_log.open_checkpoint, text_note(filled), NODE, PUBLIC)


def test_a_checkpoint_of_another_node_or_key_is_refused() -> None:
    other = SigningKey(bytes([2]) * 32)
    refused(witness_log.open_checkpoint, tree(1).note(), ids.node_id(bytes(other.verify_key)), PUBLIC)
    refused(witness_log.open_checkpoint, tree(1).note(key=other), NODE, PUBLIC)


def test_the_number_of_a_log_has_a_largest_value() -> None:
    largest = witness_log.origin(NODE, limits.LOG_NUMBER_MAX)
    assert witness_log.parse_origin(largest) == (NODE, limits.LOG_NUMBER_MAX)
    assert refused(witness_log.parse_origin, witness_log.origin(NODE, limits.LOG_NUMBER_MAX + 1))


def test_cosigners_are_named_after_their_node() -> None:
    witness = SigningKey(bytes([3]) * 32)
    node, key = ids.node_id(bytes(witness.verify_key)), bytes(witness.verify_key)
    _, signed = witness_log.open_checkpoint(tree(2).note(), NODE, PUBLIC)
    cosigned = signed.with_line(witness_log.cosign(signed, node, witness, 77))
    assert witness_log.cosigned_at(cosigned, node, key) == 77
    assert witness_log.bare(cosigned, PUBLIC) == signed


def test_an_acquaintance_has_one_tag_for_both_and_another_for_others() -> None:
    assert witness_log.acquaintance("A", "B", "C") == witness_log.acquaintance("B", "A", "C")
    assert witness_log.acquaintance("A", "B", "C") != witness_log.acquaintance("A", "D", "C")
    assert len(witness_log.acquaintance("A", "B", "C")) == witness_log.TAG_BYTES


# --- judging ---


@each(("old", "new"), [(1, 2), (1, 9), (4, 9), (5, 9), (8, 9), (7, 64)])
def test_a_log_that_grew_is_ahead(old: int, new: int) -> None:
    grown = tree(new)
    assert judge(grown.checkpoint(old), grown.checkpoint(), grown.link(old, new)) is Standing.AHEAD


@each(("old", "new"), [(2, 3), (4, 9), (5, 9), (8, 9), (7, 64)])
def test_a_log_that_forked_contradicts_itself_whatever_it_proves(old: int, new: int) -> None:
    """Guard: protocol/log/witness_log.py, judge."""
    honest, forked = tree(new), tree(new, fork_at=old - 1)
    held = honest.checkpoint(old)
    assert judge(held, forked.checkpoint(), forked.link(old, new)) is Standing.CONTRADICTS
    lie = Link(base_size=old, base_root=held.root, proof=forked.link(old, new).proof)
    assert judge(held, forked.checkpoint(), lie) is Standing.UNPROVEN


def test_two_roots_of_one_size_contradict_each_other() -> None:
    """Guard: protocol/log/witness_log.py, judge."""
    honest, forked = tree(6), tree(6, fork_at=5)
    assert judge(honest.checkpoint(), forked.checkpoint(), NOTHING) is Standing.CONTRADICTS
    assert judge(honest.checkpoint(), honest.checkpoint(), NOTHING) is Standing.SAME


def test_what_is_smaller_replaced_or_unconnected_is_no_progress_and_no_lie() -> None:
    grown = tree(9)
    held = grown.checkpoint(5)
    assert judge(held, grown.checkpoint(3), NOTHING) is Standing.BEHIND
    assert judge(held, grown.checkpoint(9), grown.link(4, 9)) is Standing.UNCONNECTED
    assert judge(held, grown.checkpoint(9, number=1), grown.link(5, 9)) is Standing.UNCONNECTED
    assert judge(grown.checkpoint(5, number=1), grown.checkpoint(9), grown.link(5, 9)) is Standing.REPLACED


def test_a_log_begins_with_its_opening() -> None:
    begun = witness_log.beginning(NODE, b"opening", Opening(log=witness_log.origin(NODE, 3), opened_ms=0))
    grown = Tree([witness_log.artefact_entry(b"opening"), bytes(32)])
    assert begun == Checkpoint(node=NODE, number=3, size=1, root=grown.root(1))
    assert judge(begun, grown.checkpoint(number=3), grown.link(1, 2)) is Standing.AHEAD
    refused(witness_log.beginning, "OTHER", b"opening", Opening(log=witness_log.origin(NODE, 3), opened_ms=0))


# --- proofs as files ---


def inclusion(grown: Tree, index: int, digest: bytes) -> InclusionProof:
    """As the owner of ``grown`` would give it."""
    size = grown.frontier.count
    return InclusionProof(
        signer=SIGNER,
        digest=digest,
        index=index,
        hashes=tuple(grown.inclusion(index, size)),
        checkpoint=grown.note().decode(),
    )


def logged(count: int) -> tuple[Tree, list[bytes]]:
    """A log of ``count`` artefacts and their digests."""
    digests = [bytes([number]) * 32 for number in range(count)]
    return Tree([witness_log.entry_hash(digest) for digest in digests]), digests


def test_an_inclusion_proof_survives_its_file_and_shows_what_it_says() -> None:
    grown, digests = logged(11)
    proof = log_proof.decode(log_proof.encode(inclusion(grown, 7, digests[7])))
    finding = log_proof.check(proof)
    assert (finding.shows, finding.node, finding.index, finding.size) == ("inclusion", NODE, 7, 11)
    assert finding.digest == digests[7].hex()


def test_an_inclusion_proof_with_anything_changed_is_refused() -> None:
    grown, digests = logged(11)
    good = inclusion(grown, 7, digests[7])
    other = KeyOf(node=ids.node_id(bytes(32)), public_key=bytes(32))
    changes: list[dict[str, object]] = [
        {"digest": digests[6]},
        {"index": 6},
        {"index": 11},
        {"hashes": good.hashes[1:]},
        {"checkpoint": grown.note(10).decode()},
        {"checkpoint": good.checkpoint.replace("\n11\n", "\n12\n")},
        {"checkpoint": "\ud800"},
        {"signer": other},
        {"signer": KeyOf(node=NODE, public_key=bytes(32))},
        {"cosigners": (SIGNER,)},
        {"cosigners": (KeyOf(node=NODE, public_key=bytes(32)),)},
    ]
    for change in changes:
        refused(log_proof.check, msgspec.structs.replace(good, **change))


def test_cosignatures_are_checked_and_told() -> None:
    grown, digests = logged(3)
    witness = SigningKey(bytes([3]) * 32)
    named = KeyOf(node=ids.node_id(bytes(witness.verify_key)), public_key=bytes(witness.verify_key))
    signed = note.parse(grown.note())
    cosigned = signed.with_line(witness_log.cosign(signed, named.node, witness, 99)).encode().decode()
    proof = msgspec.structs.replace(inclusion(grown, 1, digests[1]), checkpoint=cosigned, cosigners=(named,))
    assert [(c.node, c.time_s) for c in log_proof.check(proof).cosignatures] == [(named.node, 99)]


def test_a_key_that_is_not_in_the_key_log_of_a_node_does_not_cosign_for_it() -> None:
    """Guard: protocol/log/log_proof.py, _keys."""
    grown, digests = logged(3)
    log = rotated(log_of(FIRST), FIRST, SECOND, START_S + 60)
    for signer, belongs in ((SECOND, True), (THIEF, False)):
        signed = note.parse(grown.note())
        cosigned = signed.with_line(witness_log.cosign(signed, log.node, signer, 99)).encode().decode()
        named = KeyOf(node=log.node, public_key=public(signer), key_log=log.encode())
        proof = msgspec.structs.replace(inclusion(grown, 1, digests[1]), checkpoint=cosigned, cosigners=(named,))
        if belongs:
            assert [each.node for each in log_proof.check(proof).cosignatures] == [log.node]
        else:
            assert "the key is not a key of" in refused(log_proof.check, proof)


def test_two_roots_of_one_size_are_a_proof() -> None:
    one, other = tree(6), tree(6, fork_at=5)
    proof = Equivocation(signer=SIGNER, first=one.note().decode(), second=other.note().decode())
    finding = log_proof.check(log_proof.decode(log_proof.encode(proof)))
    assert (finding.shows, finding.size, finding.other_size) == ("equivocation", 6, 6)
    assert finding.root != finding.other_root


@each(("old", "new"), [(2, 3), (4, 9), (5, 9), (8, 9), (7, 64)])
def test_a_larger_checkpoint_that_had_another_root_is_a_proof(old: int, new: int) -> None:
    honest, forked = tree(new), tree(new, fork_at=old - 1)
    link = forked.link(old, new)
    proof = Equivocation(
        signer=SIGNER,
        first=honest.note(old).decode(),
        second=forked.note().decode(),
        first_root=link.base_root,
        hashes=link.proof,
    )
    assert log_proof.check(proof).shows == "equivocation"


def test_an_honest_node_cannot_be_framed() -> None:
    """Guard: protocol/log/log_proof.py, check_equivocation."""
    grown, stranger = tree(9), tree(9, fork_at=3)
    forged = stranger.note(key=SigningKey(bytes([2]) * 32)).decode()
    first, second = grown.note(5).decode(), grown.note(9).decode()
    link, wrong = grown.link(5, 9), stranger.link(5, 9)
    attempts = [
        Equivocation(signer=SIGNER, first=first, second=first),
        Equivocation(signer=SIGNER, first=first, second=second),
        Equivocation(signer=SIGNER, first=first, second=second, first_root=link.base_root, hashes=link.proof),
        Equivocation(signer=SIGNER, first=first, second=second, first_root=wrong.base_root, hashes=wrong.proof),
        Equivocation(signer=SIGNER, first=second, second=first, first_root=link.base_root, hashes=link.proof),
        Equivocation(signer=SIGNER, first=second, second=forged),
        Equivocation(signer=SIGNER, first=second, second=stranger.note(number=1).decode()),
    ]
    for attempt in attempts:
        refused(log_proof.check, attempt)


@each(
    "data",
    [b"", b"{}", b"null", b'{"format": "other"}', b'{"format": "trailmesh-log-inclusion-v1"}', b"\xff", b"[" * 5_000],
)
def test_other_files_are_no_proof(data: bytes) -> None:
    refused(log_proof.decode, data)


def test_a_proof_file_is_bounded() -> None:
    assert "at most" in refused(log_proof.decode, b" " * (limits.LOG_PROOF_BYTES_MAX + 1))
