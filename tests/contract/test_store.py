"""What every store does, run over SQLite and over its in-memory twin."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from adapters.ports.records import ArtefactRecord, DeltaRecord, LeaseRecord, PeerRecord, SearchRecord
from adapters.ports.store import Store
from adapters.storage.sqlite import SqliteStore
from node.pairing.stored import INVITES, InviteRecord
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Fill, Goto, Locator, Secret
from protocol.recording.records.session import BrowserInfo, Profile, Session, Step
from protocol.recording.records.verdict import Verdict
from protocol.wire import cbor
from tests.twins.storage import MemoryStore


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else await SqliteStore.open(tmp_path / "home")
    yield opened
    await opened.close()


def session(number: int = 1, **changes: object) -> Session:
    made = Session(
        id=f"ses-{number}",
        node="NODE",
        created_ms=1_000 + number,
        title=f"Title {number}",
        start_url="https://shop.example/",
        profile=Profile(),
        browser=BrowserInfo(backend="launched", name="chromium", version="1"),
        verdict=Verdict.OPEN,
        steps=0,
        duration_ms=0,
    )
    return msgspec.structs.replace(made, **changes)


def step(index: int, **changes: object) -> Step:
    made = Step(
        index=index,
        action=Click(target=Locator(role="button", name="Buy", nth=index)),
        ok=True,
        url="https://shop.example/",
        title="Shop",
        state=bytes(16),
        risk=1,
        started_ms=index,
        duration_ms=1,
    )
    return msgspec.structs.replace(made, **changes)


def artefact(name: str = "a", **changes: object) -> ArtefactRecord:
    envelope = name.encode()
    digest = hashlib.sha256(envelope).digest()
    made = ArtefactRecord(
        digest=digest, kind="manifest", subject="ses-1", issuer="NODE", issued_s=10, envelope=envelope
    )
    return msgspec.structs.replace(made, **changes)


def search(number: int = 1, **changes: object) -> SearchRecord:
    made = SearchRecord(
        id=f"sea-{number}",
        coordinator="NODE",
        status="running",
        created_ms=number,
        updated_ms=number,
        spec=b"spec",
        state=b"state",
    )
    return msgspec.structs.replace(made, **changes)


def delta(peer: str = "P", epoch: int = 1, seq: int = 1, envelope: bytes = b"e", of: str = "sea-1") -> DeltaRecord:
    return DeltaRecord(search=of, peer=peer, epoch=epoch, seq=seq, envelope=envelope)


def lease(number: int = 1, **changes: object) -> LeaseRecord:
    made = LeaseRecord(
        id=f"lea-{number}",
        search="sea-1",
        branch=b"branch",
        worker="P",
        status="live",
        expires_ms=5,
        assignment=b"signed",
    )
    return msgspec.structs.replace(made, **changes)


def peer(node: str, paired_ms: int, **changes: object) -> PeerRecord:
    made = PeerRecord(
        node=node,
        name=node.lower(),
        public_key=bytes(32),
        addresses=("https://a:1",),
        grants={"deltas:read": ("https://*.shop.example",)},
        paired_ms=paired_ms,
    )
    return msgspec.structs.replace(made, **changes)


def invite(token: bytes = b"t", **changes: object) -> InviteRecord:
    return msgspec.structs.replace(
        InviteRecord(token_hash=token, expires_s=9, grants={"deltas:read": ("https://*.shop.example",)}), **changes
    )


# --- meta, peers, invites ---


async def test_meta_that_was_never_put_is_none(store: Store) -> None:
    assert await store.get_meta("key") is None


async def test_the_last_put_of_a_meta_key_counts(store: Store) -> None:
    await store.put_meta("key", b"one")
    await store.put_meta("key", b"\x00two")
    await store.put_meta("other", b"")
    assert await store.get_meta("key") == b"\x00two"
    assert await store.get_meta("other") == b""


async def test_peers_come_by_pairing_time(store: Store) -> None:
    late, early, tied = peer("A", 20), peer("C", 10), peer("B", 10)
    for one in (late, early, tied):
        await store.put_peer(one)
    assert await store.peers() == [tied, early, late]


async def test_a_peer_is_replaced_by_its_node_id(store: Store) -> None:
    await store.put_peer(peer("A", 10))
    changed = peer("A", 10, seen_ms=99, granted_us={"deltas:read": ("*",)})
    await store.put_peer(changed)
    assert await store.peers() == [changed]


async def test_a_peer_is_removed_once(store: Store) -> None:
    await store.put_peer(peer("A", 10))
    assert await store.remove_peer("A") is True
    assert await store.remove_peer("A") is False
    assert await store.peers() == []


async def test_invites_come_by_expiry_and_are_replaced_by_their_token(store: Store) -> None:
    await store.rows(INVITES).put(invite(b"late", expires_s=20))
    await store.rows(INVITES).put(invite(b"early", expires_s=10))
    await store.rows(INVITES).put(invite(b"late", expires_s=20, failures=2))
    assert await store.rows(INVITES).find() == [
        invite(b"early", expires_s=10),
        invite(b"late", expires_s=20, failures=2),
    ]


async def test_an_invite_that_is_not_there_is_none(store: Store) -> None:
    assert await store.rows(INVITES).take(b"unknown") is None


async def test_an_invite_is_won_by_exactly_one_of_many_concurrent_callers(store: Store) -> None:
    await store.rows(INVITES).put(invite(b"t"))
    await store.rows(INVITES).put(invite(b"other"))
    taken = await asyncio.gather(*(store.rows(INVITES).take(b"t") for _ in range(50)))
    assert [one for one in taken if one is not None] == [invite(b"t")]
    assert await store.rows(INVITES).find() == [invite(b"other")]


# --- sessions, artefacts ---


async def test_an_unknown_session_is_none_and_has_no_steps(store: Store) -> None:
    assert await store.session("ses-1") is None
    assert await store.steps("ses-1") == []


async def test_a_session_comes_back_as_it_was_put(store: Store) -> None:
    made = session(parent="ses-0", search="sea-1", secrets=("password",), title="Größe ✓")
    await store.put_session(made)
    assert await store.session("ses-1") == made


async def test_steps_come_in_their_order_with_every_kind_of_action(store: Store) -> None:
    await store.put_session(session())
    name = "shop"
    steps = [
        step(1, action=Goto(url="https://shop.example/")),
        step(2, action=Fill(target=Locator(role="textbox", name="Password"), value=Secret(secret=name))),
        *(step(index, ok=False, error="browser.timeout", blocked=("POST /buy",)) for index in range(3, 13)),
    ]
    for one in steps:
        await store.append_step("ses-1", one)
    assert await store.steps("ses-1") == steps


async def test_replacing_a_session_keeps_its_steps(store: Store) -> None:
    await store.put_session(session())
    await store.append_step("ses-1", step(1))
    await store.put_session(session(title="Renamed"))
    assert await store.session("ses-1") == session(title="Renamed")
    assert await store.steps("ses-1") == [step(1)]


async def test_a_step_of_an_unknown_session_is_refused(store: Store) -> None:
    with pytest.raises(MeshError) as caught:
        await store.append_step("ses-1", step(1))
    assert caught.value.code == "input.not_found"


async def test_a_step_names_its_picture_when_that_comes_later(store: Store) -> None:
    await store.put_session(session())
    steps = [step(index) for index in (1, 2)]
    for one in steps:
        await store.append_step("ses-1", one)
    picture = await store.put_blob(b"picture")
    pictured = msgspec.structs.replace(steps[1], screenshot=picture)
    await store.amend_step("ses-1", pictured)
    assert await store.steps("ses-1") == [steps[0], pictured]
    await store.remove_session("ses-1")
    with pytest.raises(MeshError):
        await store.blob(picture)


@pytest.mark.parametrize(("name", "index"), [("ses-1", 0), ("ses-1", 2), ("ses-2", 1)])
async def test_a_step_that_is_not_there_is_not_amended(store: Store, name: str, index: int) -> None:
    await store.put_session(session())
    await store.append_step("ses-1", step(1))
    with pytest.raises(MeshError) as caught:
        await store.amend_step(name, step(index))
    assert caught.value.code == "input.not_found"
    assert await store.steps("ses-1") == [step(1)]


@pytest.mark.parametrize("index", [0, 1, 3])
async def test_a_step_that_is_not_the_next_one_is_refused(store: Store, index: int) -> None:
    await store.put_session(session())
    await store.append_step("ses-1", step(1))
    with pytest.raises(MeshError) as caught:
        await store.append_step("ses-1", step(index))
    assert caught.value.code == "input.invalid"
    assert await store.steps("ses-1") == [step(1)]


async def test_a_commit_replaces_the_session_and_keeps_its_artefacts(store: Store) -> None:
    await store.put_session(session())
    await store.append_step("ses-1", step(1))
    done = session(verdict=Verdict.PASS, steps=1, duration_ms=7)
    await store.commit_session(done, [artefact("a"), artefact("b")])
    assert await store.session("ses-1") == done
    assert await store.steps("ses-1") == [step(1)]
    assert await store.artefacts(subject="ses-1") == [artefact("a"), artefact("b")]


async def test_a_commit_that_fails_leaves_nothing_behind(store: Store) -> None:
    await store.put_session(session())
    with pytest.raises(MeshError) as caught:
        await store.commit_session(session(title="Done"), [artefact("a"), artefact("b", issued_s=2**63)])
    assert caught.value.code == "input.invalid"
    assert await store.session("ses-1") == session()
    assert await store.artefacts() == []


async def test_an_import_brings_session_steps_and_artefacts(store: Store) -> None:
    await store.import_session(session(steps=2), [step(1), step(2)], [artefact()])
    assert await store.session("ses-1") == session(steps=2)
    assert await store.steps("ses-1") == [step(1), step(2)]
    assert await store.artefacts() == [artefact()]


async def test_an_import_replaces_session_and_steps_and_keeps_earlier_evidence(store: Store) -> None:
    await store.import_session(session(), [step(1), step(2)], [artefact("old")])
    await store.import_session(session(title="New"), [step(1, title="New")], [artefact("old"), artefact("new")])
    assert await store.session("ses-1") == session(title="New")
    assert await store.steps("ses-1") == [step(1, title="New")]
    assert await store.artefacts() == [artefact("old"), artefact("new")]


async def test_one_step_is_read_by_its_number_or_as_the_last(store: Store) -> None:
    await store.put_session(session())
    assert (await store.step("ses-1", 1), await store.step("ses-1")) == (None, None)
    await store.append_step("ses-1", step(1))
    assert await store.step("ses-1") == step(1), "the last one, where none has a picture"
    seen = step(2, screenshot=await store.put_blob(b"picture"))
    for each in (seen, step(3)):
        await store.append_step("ses-1", each)
    assert await store.step("ses-1") == seen
    assert [await store.step("ses-1", number) for number in (0, 2, 3, 4)] == [None, seen, step(3), None]
    assert (await store.step("ses-2", 1), await store.step("ses-2")) == (None, None)


async def test_steps_are_kept_as_they_were_signed(store: Store) -> None:
    """One that an earlier version encoded lacks fields that have a default now."""
    plain = cbor.decode(cbor.encode(step(1)))
    older = cbor.encode({name: value for name, value in plain.items() if name != "console"})
    await store.import_session(session(), [step(1)], [], bodies=[older])
    assert (await store.steps("ses-1"), await store.step_bodies("ses-1")) == ([step(1)], [older])
    await store.append_step("ses-1", step(2))
    assert await store.step_bodies("ses-1") == [older, cbor.encode(step(2))]


@pytest.mark.parametrize("fault", ["hole", "twice", "unreadable step", "artefact"])
async def test_an_import_that_fails_leaves_the_session_as_it_was(store: Store, fault: str) -> None:
    await store.import_session(session(), [step(1)], [])
    steps = {
        "hole": [step(1), step(3)],
        "twice": [step(1), step(1)],
        "unreadable step": [step(1), step(2, action=Goto(url="x" * 5_000))],
        "artefact": [step(1), step(2)],
    }[fault]
    kept = [artefact("a"), artefact("b", issued_s=2**63)] if fault == "artefact" else [artefact("a")]
    with pytest.raises(MeshError) as caught:
        await store.import_session(session(title="New"), steps, kept)
    assert caught.value.code == "input.invalid"
    assert await store.session("ses-1") == session()
    assert await store.steps("ses-1") == [step(1)]
    assert await store.artefacts() == []


async def test_sessions_come_newest_first_and_the_later_put_first_of_one_moment(store: Store) -> None:
    old, new, tied = session(1, created_ms=1), session(2, created_ms=3), session(3, created_ms=3)
    for one in (new, old, tied):
        await store.put_session(one)
    await store.put_session(new)
    assert await store.sessions() == [tied, new, old]


async def test_sessions_are_searched_in_title_address_and_id_without_regard_to_case(store: Store) -> None:
    one = session(1, title="Straße KAUFEN", start_url="https://a.example/")
    two = session(2, title="other", start_url="https://Shop.example/100%_off")
    await store.put_session(one)
    await store.put_session(two)
    assert await store.sessions(text="STRASSE kauf") == [one]
    assert await store.sessions(text="shop.EXAMPLE") == [two]
    assert await store.sessions(text="SES-") == [two, one]
    assert await store.sessions(text="%_") == [two]
    assert await store.sessions(text="_") == [two]
    assert await store.sessions(text="nowhere") == []


async def test_a_changed_title_is_found_and_the_former_one_is_not(store: Store) -> None:
    await store.put_session(session(title="before"))
    await store.put_session(session(title="after"))
    assert await store.sessions(text="before") == []
    assert await store.sessions(text="after") == [session(title="after")]


async def test_the_limit_cuts_after_the_newest(store: Store) -> None:
    for number in range(5):
        await store.put_session(session(number))
    assert [found.id for found in await store.sessions(limit=2)] == ["ses-4", "ses-3"]
    assert await store.sessions(limit=0) == []


async def test_a_negative_limit_is_refused(store: Store) -> None:
    with pytest.raises(MeshError) as caught:
        await store.sessions(limit=-1)
    assert caught.value.code == "input.invalid"


async def test_artefacts_come_oldest_first_and_are_filtered(store: Store) -> None:
    late = artefact("late", issued_s=30)
    report = artefact("report", kind="report", issued_s=20)
    other = artefact("other", subject="ses-2", issued_s=20)
    for one in (late, report, other):
        await store.put_artefact(one)
    assert await store.artefacts() == [report, other, late]
    assert await store.artefacts(subject="ses-1") == [report, late]
    assert await store.artefacts(kind="manifest") == [other, late]
    assert await store.artefacts(subject="ses-1", kind="report") == [report]
    assert await store.artefacts(subject="ses-3") == []


async def test_an_artefact_is_kept_once_and_the_first_copy_stays(store: Store) -> None:
    await store.put_artefact(artefact("a"))
    await store.put_artefact(artefact("a", issued_s=99))
    assert await store.artefacts() == [artefact("a")]


async def test_artefacts_come_in_pages_that_leave_none_out_though_some_are_of_one_second(store: Store) -> None:
    made = [artefact(str(number), issued_s=issued_s) for number, issued_s in enumerate((1, 5, 5, 5, 9))]
    for one in made:
        await store.put_artefact(one)
    for subject, kind in (("", ""), ("", "manifest"), ("ses-1", ""), ("ses-1", "manifest")):
        of = partial(store.artefacts, subject=subject, kind=kind)
        assert await of(limit=2) == made[:2]
        assert await of(after=made[1], limit=2) == made[2:4]
        assert await of(after=made[3]) == made[4:]
        assert await of(after=made[4]) == []
    gone = artefact("never stored", issued_s=5)
    assert await store.artefacts(after=gone) == made[1:], "rather twice than never"


async def test_an_artefact_is_found_by_its_digest(store: Store) -> None:
    await store.put_artefact(artefact("a"))
    assert await store.artefact(artefact("a").digest) == artefact("a")
    assert await store.artefact(artefact("b").digest) is None


async def test_sessions_are_counted(store: Store) -> None:
    assert await store.count_sessions() == 0
    for number in (1, 2, 1):
        await store.put_session(session(number))
    assert await store.count_sessions() == 2


# --- searches, deltas, leases ---


async def test_a_search_is_replaced_by_its_id(store: Store) -> None:
    assert await store.search("sea-1") is None
    await store.put_search(search())
    await store.put_search(search(status="done", state=b"x" * 400_000))
    assert await store.search("sea-1") == search(status="done", state=b"x" * 400_000)


async def test_searches_come_newest_first_and_by_status(store: Store) -> None:
    for number, status in ((2, "done"), (1, "running"), (3, "running")):
        await store.put_search(search(number, status=status))
    assert [found.id for found in await store.searches()] == ["sea-3", "sea-2", "sea-1"]
    assert [found.id for found in await store.searches(status="running")] == ["sea-3", "sea-1"]
    assert await store.searches(status="failed") == []


async def test_searches_come_in_pages_that_leave_none_out_though_some_are_of_one_moment(store: Store) -> None:
    for number, created_ms in ((1, 5), (2, 7), (3, 5), (4, 5), (5, 1)):
        await store.put_search(search(number, created_ms=created_ms))
    order = [await store.search(f"sea-{number}") for number in (2, 4, 3, 1, 5)]
    assert await store.searches() == order
    assert await store.searches(limit=2) == order[:2]
    assert await store.searches(limit=2, after=order[1]) == order[2:4]
    assert await store.searches(status="running", limit=2, after=order[3]) == order[4:]
    assert await store.searches(limit=0) == []
    await store.remove_search("sea-4")
    assert await store.searches(after=order[1]) == order[2:], "its place is gone, and what is of its moment is not"


async def test_a_delta_is_new_once(store: Store) -> None:
    assert await store.append_delta(delta(envelope=b"e" * 600_000)) is True
    assert await store.append_delta(delta(envelope=b"e" * 600_000)) is False
    assert await store.deltas("sea-1") == [delta(envelope=b"e" * 600_000)]


async def test_two_deltas_with_one_sequence_number_are_equivocation_and_the_first_stays(store: Store) -> None:
    await store.append_delta(delta(epoch=2, seq=3))
    with pytest.raises(MeshError) as caught:
        await store.append_delta(delta(epoch=2, seq=3, envelope=b"other"))
    assert caught.value.code == "delta.equivocation"
    assert caught.value.detail == {"search": "sea-1", "peer": "P", "epoch": 2, "seq": 3}
    assert await store.deltas("sea-1") == [delta(epoch=2, seq=3)]


async def test_one_sequence_number_in_other_places_is_no_equivocation(store: Store) -> None:
    await store.append_delta(delta())
    assert await store.append_delta(delta(peer="Q", envelope=b"1"))
    assert await store.append_delta(delta(epoch=2, envelope=b"2"))
    assert await store.append_delta(delta(of="sea-2", envelope=b"3"))


async def test_deltas_come_by_peer_epoch_and_number_and_are_filtered(store: Store) -> None:
    made = [delta(name, epoch, seq) for name in "PQ" for epoch in (1, 2) for seq in (1, 2, 10)]
    for one in reversed(made):
        await store.append_delta(one)
    await store.append_delta(delta(of="sea-2"))
    assert await store.deltas("sea-1") == made
    assert await store.deltas("sea-1", peer="Q") == made[6:]
    assert await store.deltas("sea-1", epoch=2) == made[3:6] + made[9:]
    assert await store.deltas("sea-1", peer="P", epoch=1, after_seq=1) == made[1:3]
    assert await store.deltas("sea-1", peer="P", after_seq=2) == [made[2], made[5]]
    assert await store.deltas("sea-1", peer="R") == []


async def test_deltas_come_in_pages_by_count_and_by_bytes(store: Store) -> None:
    made = [delta(name, epoch, seq, b"e" * 100) for name in "PQ" for epoch in (1, 2) for seq in (1, 2, 10)]
    for one in made:
        await store.append_delta(one)
    await store.append_delta(delta(of="sea-2"))
    assert await store.deltas("sea-1", limit=5) == made[:5]
    assert await store.deltas("sea-1", after=made[4], limit=5) == made[5:10]
    assert await store.deltas("sea-1", after=made[9], limit=5) == made[10:]
    assert await store.deltas("sea-1", after=made[11]) == []
    assert await store.deltas("sea-1", peer="Q", after=made[7]) == made[8:]
    assert await store.deltas("sea-1", peer="P", epoch=2, after_seq=1, limit=1) == [made[4]]
    assert await store.deltas("sea-1", bytes_max=350) == made[:3]
    assert await store.deltas("sea-1", bytes_max=1) == made[:1], "one at least, or nobody would get on"
    with pytest.raises(MeshError, match="0 or greater"):
        await store.deltas("sea-1", limit=-1)


async def test_a_page_begins_after_a_delta_that_was_dropped_meanwhile(store: Store) -> None:
    for seq in (1, 2, 3):
        await store.append_delta(delta(seq=seq))
    await store.drop_deltas("sea-1", "P")
    await store.append_delta(delta(seq=3))
    assert await store.deltas("sea-1", after=delta(seq=2)) == [delta(seq=3)]


async def test_the_newest_delta_of_each_peer_is_told(store: Store) -> None:
    for name in "QP":
        for epoch, seq in ((1, 9), (2, 1), (2, 3), (2, 2)):
            await store.append_delta(delta(name, epoch, seq))
    await store.append_delta(delta(of="sea-2", peer="R"))
    assert await store.newest_deltas("sea-1") == [delta("P", 2, 3), delta("Q", 2, 3)]
    assert await store.newest_deltas("sea-3") == []


async def test_dropping_deltas_of_earlier_epochs_keeps_the_others(store: Store) -> None:
    for epoch in (1, 2, 3):
        await store.append_delta(delta(epoch=epoch))
        await store.append_delta(delta(peer="Q", epoch=epoch))
    await store.append_delta(delta(of="sea-2"))
    assert await store.drop_deltas("sea-1", "P", before_epoch=3) == 2
    assert await store.deltas("sea-1", peer="P") == [delta(epoch=3)]
    assert len(await store.deltas("sea-1", peer="Q")) == 3
    assert await store.deltas("sea-2") == [delta(of="sea-2")]


async def test_dropping_all_deltas_of_a_peer_lets_it_begin_again(store: Store) -> None:
    await store.append_delta(delta(seq=1))
    await store.append_delta(delta(seq=2))
    assert await store.drop_deltas("sea-1", "P") == 2
    assert await store.drop_deltas("sea-1", "P") == 0
    assert await store.append_delta(delta(seq=1, envelope=b"new")) is True


async def test_a_lease_is_replaced_by_its_id(store: Store) -> None:
    assert await store.lease("lea-1") is None
    await store.put_lease(lease())
    await store.put_lease(lease(status="done", result=b"result"))
    assert await store.lease("lea-1") == lease(status="done", result=b"result")


async def test_leases_of_a_search_come_in_order_and_by_status(store: Store) -> None:
    for one in (lease(2), lease(1, status="done"), lease(3, search="sea-2")):
        await store.put_lease(one)
    assert await store.leases("sea-1") == [lease(2), lease(1, status="done")]
    assert await store.leases("sea-1", status="done") == [lease(1, status="done")]
    assert await store.leases("sea-3") == []


# --- blobs, whole store ---


async def test_a_blob_comes_back_by_its_hash(store: Store) -> None:
    for data in (b"", b"text", bytes(range(256)) * 4_096):
        digest = await store.put_blob(data)
        assert digest == hashlib.sha256(data).digest()
        assert await store.put_blob(data) == digest
        assert await store.blob(digest) == data


@pytest.mark.parametrize("digest", [bytes(32), b"", b"short", b"../../etc"])
async def test_a_blob_that_is_not_there_is_missing(store: Store, digest: bytes) -> None:
    with pytest.raises(MeshError) as caught:
        await store.blob(digest)
    assert caught.value.code == "blob.missing"


async def test_a_store_in_use_is_sound(store: Store) -> None:
    digest = await store.put_blob(b"snapshot")
    await store.import_session(session(), [step(1, snapshot=digest), step(2)], [artefact()])
    await store.append_delta(delta())
    assert await store.check() == []


async def test_the_check_names_steps_whose_blob_is_missing(store: Store) -> None:
    await store.put_session(session())
    await store.append_step("ses-1", step(1, snapshot=b"\x01" * 32, screenshot=await store.put_blob(b"png")))
    await store.append_step("ses-1", step(2, screenshot=b"\x02" * 32))
    assert await store.check() == [
        "step 1 of ses-1 refers to blob 0101010101010101…, which is missing",
        "step 2 of ses-1 refers to blob 0202020202020202…, which is missing",
    ]


async def test_what_could_not_be_read_back_is_not_stored(store: Store) -> None:
    refused = [
        store.put_session(session(created_ms=2**63)),
        store.put_session(session(title="\ud800")),
        store.put_meta("\ud800", b""),
        store.put_peer(peer("A", 2**63)),
        store.put_search(search(created_ms=2**63)),
        store.append_delta(delta(seq=2**63)),
        store.put_lease(lease(expires_ms=2**64)),
    ]
    for call in refused:
        with pytest.raises(MeshError) as caught:
            await call
        assert caught.value.code == "input.invalid"
    assert (await store.sessions(), await store.peers(), await store.searches()) == ([], [], [])
    assert (await store.deltas("sea-1"), await store.lease("lea-1")) == ([], None)


async def test_calls_that_overlap_all_take_effect(store: Store) -> None:
    await asyncio.gather(*(store.append_delta(delta(seq=seq)) for seq in range(1, 41)), store.put_session(session()))
    assert [one.seq for one in await store.deltas("sea-1")] == list(range(1, 41))


async def test_a_closed_store_answers_nothing_and_closes_again(store: Store) -> None:
    await store.close()
    await store.close()
    for call in (store.get_meta("key"), store.put_session(session()), store.blob(bytes(32)), store.check()):
        with pytest.raises(MeshError) as caught:
            await call
        assert caught.value.code == "node.stopped"
