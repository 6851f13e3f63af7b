"""What the commands of the witness log print, and what ``log verify`` accepts without a node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from node.cli.nodes.log import check_bundle
from protocol import limits
from protocol.errors import MeshError
from protocol.log import log_proof, witness_log
from protocol.log.log_proof import InclusionProof, KeyOf
from protocol.recording.records.bundle import verify_bundle
from tests.commands import Answers, Done
from tests.logs import Tree
from tests.session_samples import KEY, NODE, PUBLIC, SESSION_ID, find_key, sample_bundle
from tests.tables import each
from tests.vectors import witness_log_vectors

VECTORS = json.loads(witness_log_vectors.FILE.read_text(encoding="utf-8"))
PROOFS = {each["name"]: each["proof"] for each in VECTORS["proofs"]}
LOG: dict[str, Any] = {
    "name": "bob", "node": "NODEABC-REST", "log": "trailmesh/NODE/0", "size": 4, "root": "r00t", "number": 0,
    "rollback": False, "frozen": "", "out": "", "cosignatures": [],
}  # fmt: skip


def verified(*words: str) -> Done:
    """``log verify`` with a node that answers nothing."""
    done = Answers().run("log", "verify", *words)
    assert done.asked == []
    return done


def written(folder: Path, name: str, proof: Any) -> str:
    """The path of a proof as a file."""
    (folder / name).write_bytes(proof if isinstance(proof, bytes) else json.dumps(proof).encode())
    return str(folder / name)


def proof_of(bundle: bytes, path: Path) -> InclusionProof:
    """That the signature of ``bundle`` is in the log of who has signed it."""
    path.write_bytes(bundle)
    with path.open("rb") as file:
        digest = log_proof.artefact_digest(verify_bundle(file, find_key).signature)
    grown = Tree([witness_log.entry_hash(bytes(32)), witness_log.entry_hash(digest)])
    checkpoint = witness_log.Checkpoint(node=NODE, number=0, size=2, root=grown.root(2))
    return InclusionProof(
        signer=KeyOf(node=NODE, public_key=PUBLIC),
        digest=digest,
        index=1,
        hashes=tuple(grown.inclusion(1, 2)),
        checkpoint=witness_log.sign(checkpoint, KEY).encode().decode(),
    )


# --- proofs ----------------------------------------------------------------------------------------------------------


def test_a_proof_of_inclusion_is_told_with_all_it_shows(tmp_path: Path) -> None:
    finding = log_proof.check(log_proof.decode(json.dumps(PROOFS["inclusion"]).encode()))
    (cosigned,) = finding.cosignatures
    done = verified(written(tmp_path, "p", PROOFS["inclusion"]))
    assert (done.code, done.err) == (0, [])
    assert done.out[:2] == [
        f"node  {finding.node}",
        f"has entered {finding.digest} as number {finding.index} in {finding.log} (size {finding.size})",
    ]
    assert len(done.out) == 3 and done.out[2].startswith(f"  cosigned by {cosigned.node} on ")
    assert len(verified(written(tmp_path, "q", PROOFS["inclusion, not cosigned"])).out) == 2


def test_a_proof_of_two_histories_is_told_with_both(tmp_path: Path) -> None:
    for name in ("two roots of one size", "a fork below a complete tree"):
        finding = log_proof.check(log_proof.decode(json.dumps(PROOFS[name]).encode()))
        assert verified(written(tmp_path, "p", PROOFS[name])).out == [
            f"node  {finding.node}",
            f"log   {finding.log}",
            f"has signed two histories: size {finding.other_size} with root {finding.other_root}",
            f"                     and: size {finding.size} with root {finding.root}",
        ]


def test_a_proof_is_told_as_json_with_the_bundle_that_it_is_about(tmp_path: Path) -> None:
    told = json.loads("\n".join(verified(written(tmp_path, "p", PROOFS["inclusion"]), "--json").out))
    assert (told["shows"], told["bundle"]) == ("inclusion", "")


def test_a_proof_that_shows_nothing_or_is_too_long_is_refused(tmp_path: Path) -> None:
    done = verified(written(tmp_path, "p", PROOFS["another place"]))
    assert (done.code, done.out) == (4, []) and "[log.invalid]" in done.err[0]
    done = verified(written(tmp_path, "p", b" " * (limits.LOG_PROOF_BYTES_MAX + 1)))
    assert f"at most {limits.LOG_PROOF_BYTES_MAX} bytes" in done.err[0]
    # A file of exactly the limit is read.
    exact = json.dumps(PROOFS["inclusion"]).encode().ljust(limits.LOG_PROOF_BYTES_MAX)
    assert verified(written(tmp_path, "p", exact)).code == 0


def test_a_bundle_is_the_one_that_a_proof_is_about_or_is_refused(tmp_path: Path) -> None:
    bundle = tmp_path / "s.tmsession"
    proof = proof_of(sample_bundle(), bundle)
    file = written(tmp_path, "p", log_proof.encode(proof))
    assert check_bundle(proof, str(bundle)) == SESSION_ID
    done = verified(file, "--bundle", str(bundle))
    assert (done.code, done.out[-1]) == (0, f"the bundle is complete and is that artefact: {SESSION_ID}")
    assert json.loads("\n".join(verified(file, "--bundle", str(bundle), "--json").out))["bundle"] == SESSION_ID
    grown = Tree([witness_log.entry_hash(bytes(32))])
    checkpoint = witness_log.Checkpoint(node=NODE, number=0, size=1, root=grown.root(1))
    other = InclusionProof(
        signer=proof.signer,
        digest=bytes(32),
        index=0,
        hashes=(),
        checkpoint=witness_log.sign(checkpoint, KEY).encode().decode(),
    )
    with pytest.raises(MeshError) as refused:
        check_bundle(other, str(bundle))
    assert refused.value.code == "log.not_logged"
    assert verified(written(tmp_path, "o", log_proof.encode(other)), "--bundle", str(bundle)).out == []


def test_a_bundle_goes_with_a_proof_of_inclusion_only(tmp_path: Path) -> None:
    bundle = written(tmp_path, "s.tmsession", sample_bundle())
    done = verified(written(tmp_path, "p", PROOFS["two roots of one size"]), "--bundle", bundle)
    assert (done.code, done.out) == (2, [])
    assert "--bundle goes with a proof of inclusion" in done.err[0]


# --- the log ---------------------------------------------------------------------------------------------------------


@each(
    ("changed", "out", "err"),
    [
        ({}, ["node  bob (NODEABC)", "log   trailmesh/NODE/0", "size  4", "root  r00t"], []),
        ({"log": ""}, ["nothing of the log of bob has been seen yet"], []),
        (
            {"rollback": True, "frozen": "two histories"},
            ["node  bob (NODEABC)", "log   trailmesh/NODE/0", "size  4", "root  r00t"],
            [
                "a peer holds a later state of this log: nothing is signed until `trailmesh log renew`",
                "frozen: two histories",
            ],
        ),
        (
            {"out": "/p"},
            [
                "node  bob (NODEABC)",
                "log   trailmesh/NODE/0",
                "size  4",
                "root  r00t",
                "proof in /p: `trailmesh log verify` checks it anywhere",
            ],
            [],
        ),
    ],
)
def test_a_log_is_told_with_what_is_wrong_with_it(changed: dict[str, Any], out: list[str], err: list[str]) -> None:
    done = Answers(log_show=[LOG | changed]).run("log", "show")
    assert (done.code, done.out, done.err) == (0, out, err)


def test_cosignatures_are_a_table() -> None:
    cosigned = {"name": "carol", "node": "CAROLXY-REST", "size": 3, "time_s": 1}
    done = Answers(log_renew=[LOG | {"cosignatures": [cosigned]}]).run("log", "renew")
    assert "cosigned by" in done.out
    (row,) = [line for line in done.out if "carol" in line]
    assert [cell.strip() for cell in row.split("│")[1:-1]] == ["carol (CAROLXY)", "3", "1970-01-01 00:00:01"]


def test_a_proof_for_nobody_is_refused_before_the_node_is_asked() -> None:
    done = Answers().run("log", "show", "--out", "p")
    assert (done.code, done.asked) == (2, []) and "--out needs --peer" in done.err[0]
    node = Answers(log_show=[LOG])
    (_, asked), *more = node.run("log", "show", "--peer", "bob", "--out", "p").asked
    assert (asked["peer"], asked["out"], more) == ("bob", str(Path("p").absolute()), [])


def test_a_proof_is_written_beside_what_it_is_about_unless_said_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finding = {"index": 3, "log": "trailmesh/N/0", "size": 9, "cosignatures": [{}, {}]}
    node = Answers(log_prove=[{"finding": finding, "out": "/p"}])
    Path("file").touch()
    here = {
        "ses-A": ("ses-A", "ses-A.tmproof"),
        "there/s.tmsession": (str(tmp_path / "there/s.tmsession"), "s.tmsession.tmproof"),
        "file": (str(tmp_path / "file"), "file.tmproof"),
    }
    for given, (target, out) in here.items():
        done = node.run("log", "prove", given)
        asked = done.asked[0][1]
        assert asked["target"] == target
        assert asked["out"] == str(tmp_path / out)
        assert done.out == [
            "entry 3 of trailmesh/N/0 at size 9, cosigned by 2",
            "proof in /p: `trailmesh log verify` checks it anywhere",
        ]
    assert node.run("log", "prove", "ses-A", "--out", "mine").asked[0][1]["out"] == str(tmp_path / "mine")


# --- audits ----------------------------------------------------------------------------------------------------------

AUDIT: dict[str, Any] = {
    "logs": [{"log": "trailmesh/N/0", "size": 2, "root": "r00t", "faults": []}],
    "not_logged": [],
    "not_kept": {"session": 1, "delta": 2},
    "tampered": [],
    "artefacts": 1,
    "sound": True,
}
PEER: dict[str, Any] = {
    "standing": "current", "code": "", "log": "trailmesh/N/0", "size": 5, "size_before": 3, "root": "r00t",
    "sound": True, "seen_ms": 0, "renewed_ms": 0, "restored": False,
    "node": "NODEABC-REST", "name": "bob",
}  # fmt: skip


def test_an_audit_ends_with_its_verdict_in_words_and_in_its_exit_code() -> None:
    done = Answers(log_audit=[AUDIT]).run("log", "audit")
    assert done.asked == [("log.audit", {})]
    assert (done.code, done.out) == (
        0,
        [
            "trailmesh/N/0: 2 entries, root r00t",
            "1 artefact in the store; 3 entries whose artefact is not kept",
            "sound",
        ],
    )
    assert (
        "1 artefact in the store; every entry has its artefact"
        in Answers(log_audit=[AUDIT | {"not_kept": {}}]).run("log", "audit").out
    )
    wrong = AUDIT | {"sound": False, "not_logged": ["ses-A"], "logs": [AUDIT["logs"][0] | {"faults": ["a gap"]}]}
    done = Answers(log_audit=[wrong]).run("log", "audit")
    assert done.code == 1
    assert done.out[1:3] == ["  fault: a gap", "  not in the log: ses-A"] and done.out[-1] == "NOT sound"


@each(
    ("changed", "code", "out"),
    [
        (
            {},
            0,
            [
                "bob (NODEABC): current, it showed a head that extends what was seen",
                "trailmesh/N/0: size 5, extends size 3",
                "root  r00t",
            ],
        ),
        (
            {"size_before": 0, "seen_ms": 1_000, "renewed_ms": 1_000},
            0,
            [
                "bob (NODEABC): current, it showed a head that extends what was seen",
                "trailmesh/N/0: size 5, seen for the first time",
                "root  r00t",
                "it opened this log on 1970-01-01 00:00:01 UTC",
            ],
        ),
        (
            {"sound": False, "standing": "behind", "seen_ms": 1_000, "renewed_ms": 1_000, "restored": True},
            1,
            [
                "bob (NODEABC): behind, it showed an older head than the stored one",
                "trailmesh/N/0: size 5 is held",
                "root  r00t",
                "it last showed a current head on 1970-01-01 00:00:01 UTC",
                "it opened this log on 1970-01-01 00:00:01 UTC, and declared that entries were lost",
            ],
        ),
        (
            {"sound": False, "standing": "unreachable", "code": "peer.unreachable", "log": ""},
            1,
            ["bob (NODEABC): unreachable, it did not answer [peer.unreachable]"],
        ),
    ],
)
def test_the_audit_of_a_peer_says_how_its_log_stands(changed: dict[str, Any], code: int, out: list[str]) -> None:
    done = Answers(log_audit_peer=[PEER | changed]).run("log", "audit", "--peer", "bob")
    assert (done.code, done.out, done.asked) == (code, out, [("log.audit_peer", {"peer": "bob"})])
