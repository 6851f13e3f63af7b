"""A store whose process is killed at any moment loses nothing it had committed.

This file is also the process that is killed: ``python -m tests.e2e.test_store_crash HOME ROUND`` writes until then, alone or, with
``together`` behind it, as many writers at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from adapters.ports.records import ArtefactRecord, DeltaRecord, PeerRecord
from adapters.storage.lock import LOCK_FILE, locked
from adapters.storage.sqlite import BLOBS_DIRECTORY, SqliteStore
from protocol.audit import START, AuditDraft, AuditOutcome, follow
from protocol.page.actions.action import Goto
from protocol.recording.records.session import BrowserInfo, Profile, Session, Step
from protocol.recording.records.verdict import Verdict

ROOT = Path(__file__).parents[2]
KILLS = 10
SEED = 20_260_101
STEPS_PER_SESSION = 5
WRITERS = 16
GROUP_KILLS = 5


def _session(session_id: str) -> Session:
    browser = BrowserInfo(backend="launched", name="chromium", version="1")
    return Session(
        id=session_id,
        node="NODE",
        created_ms=1,
        title="Crash",
        start_url="https://shop.example/",
        profile=Profile(),
        browser=browser,
        verdict=Verdict.OPEN,
        steps=0,
        duration_ms=0,
    )


def _step(index: int, snapshot: bytes) -> Step:
    url = "https://shop.example/"
    return Step(
        index=index,
        action=Goto(url=url),
        ok=True,
        url=url,
        title="",
        state=bytes(16),
        risk=1,
        started_ms=0,
        duration_ms=1,
        snapshot=snapshot,
    )


def committed(*words: object) -> None:
    """Tell the parent. One write call per line and no buffer: what the reader has seen was committed before."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def _write_together_until_killed(directory: Path, round_: int) -> None:
    """Writers that share commits; each says what it was answered."""
    store = await SqliteStore.open(directory)

    async def write(name: str) -> None:
        number = 0
        while True:
            number += 1
            row = await store.append_audit(_draft(f"{name}.{number}"))
            committed("audit", row.number, row.digest)
            await store.put_meta(f"{name}-{number}", bytes(1_000))
            committed("meta", f"{name}-{number}")

    await asyncio.gather(*(write(f"writer-{round_}-{number}") for number in range(WRITERS)))


async def _write_until_killed(directory: Path, round_: int) -> None:
    store = await SqliteStore.open(directory)
    number = 0
    while True:
        number += 1
        session_id = f"ses-{round_}-{number}"
        await store.put_session(_session(session_id))
        committed("session", session_id)
        for index in range(1, STEPS_PER_SESSION + 1):
            digest = await store.put_blob(f"{session_id} {index}".encode() * 2_000)
            committed("blob", digest.hex())
            await store.append_step(session_id, _step(index, digest))
            committed("step", session_id, index)
        await store.append_delta(DeltaRecord(search="sea-1", peer="P", epoch=round_, seq=number, envelope=b"e" * 5_000))
        committed("delta", round_, number)
        envelope = session_id.encode()
        digest = hashlib.sha256(envelope).digest()
        proof = ArtefactRecord(
            digest=digest, kind="manifest", subject=session_id, issuer="NODE", issued_s=1, envelope=envelope
        )
        whole = [_step(index, b"") for index in range(1, 4)]
        await store.import_session(_session(f"{session_id}-copy"), whole, [proof])
        committed("import", f"{session_id}-copy", digest.hex())
        peer = PeerRecord(
            node=session_id,
            name="p",
            public_key=bytes(32),
            addresses=(),
            grants={"deltas:read": ("*",)},
            paired_ms=number,
        )
        await store.put_peer(peer)
        committed("peer", session_id)


def _draft(subject: str) -> AuditDraft:
    return AuditDraft(
        at_ms=1, what="session.record", who="owner", outcome=AuditOutcome.BEGUN, key="", key_events=0, subject=subject
    )


def _kill_a_writer(directory: Path, round_: int, seed: random.Random, how: str = "") -> list[str]:
    """Start a writer, kill it at a seeded moment, return what it said was committed."""
    command = [sys.executable, "-m", "tests.e2e.test_store_crash", str(directory), str(round_), how]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(seed.randint(1, 40))]
        with suppress(subprocess.TimeoutExpired):  # it never ends by itself: this is the moment of the kill
            process.wait(timeout=seed.uniform(0, 0.02))
        process.kill()
        lines += process.stdout.readlines()
    assert process.returncode == -9
    return [line.decode().strip() for line in lines if line.endswith(b"\n")]


async def _lost(store: SqliteStore, said: list[str]) -> list[str]:
    """The lines of ``said`` whose record is not in the store."""
    peers = {peer.node for peer in await store.peers()}
    deltas = {f"{delta.epoch} {delta.seq}" for delta in await store.deltas("sea-1")}
    artefacts = {artefact.digest.hex() for artefact in await store.artefacts()}
    steps = {found.id: len(await store.steps(found.id)) for found in await store.sessions(limit=100_000)}
    lost = []
    for line in said:
        match line.split():
            case ["session", session_id]:
                there = session_id in steps
            case ["step", session_id, index]:
                there = steps.get(session_id, 0) >= int(index)
            case ["import", session_id, digest]:
                there = steps.get(session_id) == 3 and digest in artefacts
            case ["delta", epoch, seq]:
                there = f"{epoch} {seq}" in deltas
            case ["peer", node]:
                there = node in peers
            case ["blob", digest]:
                there = bool(await store.blob(bytes.fromhex(digest)))
            case _:
                there = False
        if not there:
            lost.append(line)
    # An import is all or nothing also when nobody was told about it.
    lost += [session_id for session_id, count in steps.items() if session_id.endswith("-copy") and count != 3]
    return lost


async def test_a_store_that_was_killed_opens_sound_with_all_that_was_committed(tmp_path: Path) -> None:
    seed = random.Random(SEED)
    home, said = tmp_path / "home", list[str]()
    for round_ in range(1, KILLS + 1):
        now = await asyncio.to_thread(_kill_a_writer, home, round_, seed)
        assert now, "the writer died before it wrote anything"
        said += now
        with locked(home):  # the kernel has released what the killed process held
            store = await SqliteStore.open(home)
            try:
                assert await store.check() == []
                assert await _lost(store, said) == [], f"seed {SEED}, round {round_}"
            finally:
                await store.close()
        assert list((home / BLOBS_DIRECTORY).glob("*/.tmp-*")) == []
    assert (home / LOCK_FILE).exists()


async def test_writers_that_share_a_commit_lose_nothing_they_were_answered_and_the_trail_stays_a_chain(
    tmp_path: Path,
) -> None:
    seed = random.Random(SEED)
    home, said = tmp_path / "home", list[str]()
    for round_ in range(1, GROUP_KILLS + 1):
        now = await asyncio.to_thread(_kill_a_writer, home, round_, seed, "together")
        assert now, "the writers died before they wrote anything"
        said += now
        with locked(home):
            store = await SqliteStore.open(home)
            try:
                assert await store.check() == []
                rows = await store.audit_lines(limit=1_000_000)
                digests = {row.number: row.digest for row in rows}
                head = START
                for row in rows:
                    _, head = follow(head, row.line)
                    assert (head.number, head.digest) == (row.number, row.digest)
                for line in said:
                    match line.split():
                        case ["audit", number, digest]:
                            assert digests.get(int(number)) == digest, f"seed {SEED}, round {round_}: {line}"
                        case ["meta", key]:
                            assert await store.get_meta(key) == bytes(1_000), f"seed {SEED}, round {round_}: {line}"
                        case _:
                            raise AssertionError(line)
            finally:
                await store.close()


if __name__ == "__main__":
    write = _write_together_until_killed if sys.argv[3:] == ["together"] else _write_until_killed
    with locked(Path(sys.argv[1])):
        asyncio.run(write(Path(sys.argv[1]), int(sys.argv[2])))
