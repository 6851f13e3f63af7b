"""Recorded sessions that leave a node and come to one: verified, exported, imported, replayed."""

from __future__ import annotations

import base64
import io
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.ports.records import PeerRecord
from node.sessions.keeping.handover import export_session, import_bundle
from node.sessions.keeping.reports import open_report
from node.sessions.keeping.working import own_start
from node.sessions.shared.replay_plan import ReplaySource
from node.verbs.sessions.session_results import (
    ExportedFile,
    RecordedSession,
    ReplayedSession,
    SessionVerification,
    ShownSession,
)
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.messages import KIND_REPLAY_REPORT
from protocol.page.actions.action import describe
from protocol.recording.records.session import Session
from protocol.recording.records.verdict import Verdict
from protocol.trust.grants import parse_grants
from protocol.wire import cbor
from tests.given_secrets import as_params
from tests.session_samples import find_key, sample_session, sample_steps
from tests.twins.browser import Document
from tests.twins.clock import START_MS
from tests.unit.test_sessions_room import ORIGIN, PAGE_MS, UNKNOWN, Bench, code_and_detail
from tests.vectors.generate import FOLDER

OTHER = 9
"""The key of the other node."""


async def node_of(key: int = 0) -> Bench:
    made = Bench(seed=key, key=key)
    await made.witness.load()
    await made.peers.load()
    return made


@pytest.fixture
async def bench() -> Bench:
    return await node_of()


@pytest.fixture
async def done(bench: Bench) -> RecordedSession:
    """A session that the node recorded."""
    return await bench.record()


async def pair(here: Bench, there: Bench, **changes: Any) -> None:
    """Make ``there`` a peer of ``here``, named bruno."""
    record = PeerRecord(
        node=there.node,
        name="bruno",
        public_key=there.witness.identity.public_key,
        addresses=(),
        grants=parse_grants("explore"),
        granted_us=parse_grants("explore"),
        paired_ms=START_MS,
    )
    await here.store.put_peer(msgspec.structs.replace(record, **changes))
    await here.peers.load()


# --- verifying, exporting, importing ---------------------------------------------------------------------------------


async def test_a_session_and_its_bundle_are_verified_to_the_same_facts(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    out = tmp_path / "mugs.tmsession"
    shown: ShownSession = await bench.call("show", session=done.id)
    said: dict[str, Any] = {
        "id": done.id,
        "session": done.id,
        "signer": bench.node,
        "signer_name": "here",
        "manifest": shown.manifest,
        "steps": 3,
        "verdict": Verdict.PASS,
    }
    exported: ExportedFile = await bench.call("export", session=done.id, out=str(out))
    issued_s = START_MS // 1000
    assert exported == ExportedFile(what="bundle", issued_s=issued_s, out=str(out), **said)
    for target in (done.id, done.id.upper().replace("SES-", "ses-"), done.id.replace("ses-", "SES-")):
        verified: SessionVerification = await bench.call("verify", target=target)
        assert verified == SessionVerification(what="session", issued_s=issued_s, **said)
    verified = await bench.call("verify", target=str(out))
    assert verified == SessionVerification(what="bundle", issued_s=issued_s, **said)
    assert (shown.signed_by, shown.standing, len(bytes.fromhex(shown.manifest))) == (bench.node, "", 32)


async def test_a_file_that_exists_is_replaced_only_if_asked_and_a_failed_export_leaves_nothing(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    out = tmp_path / "mugs.tmsession"
    out.write_bytes(b"before")
    refused = await bench.refused("export", session=done.id, out=str(out))
    assert code_and_detail(refused) == ("input.invalid", {"path": str(out)})
    assert out.read_bytes() == b"before"
    assert (await bench.refused("export", session=UNKNOWN, out=str(out), force=True)).code == "input.not_found"
    assert out.read_bytes() == b"before"
    await bench.call("export", session=done.id, out=str(out), force=True)
    first = out.read_bytes()
    assert first.startswith(b"PK")
    await bench.call("export", session=done.id, out=str(tmp_path / "again"))
    assert (tmp_path / "again").read_bytes() == first
    (tmp_path / "folder").mkdir()
    refused = await bench.refused("export", session=done.id, out=str(tmp_path / "folder"), force=True)
    assert refused.code == "input.invalid"
    refused = await bench.refused("export", session=done.id, out=str(tmp_path / "none" / "mugs"))
    assert (refused.code, "cannot be written" in refused.message) == ("input.invalid", True)
    assert sorted(os.listdir(tmp_path)) == ["again", "folder", "mugs.tmsession"]
    open_one = msgspec.structs.replace(sample_session(sample_steps()[0]), verdict=Verdict.INTERRUPTED)
    await bench.store.put_session(open_one)
    refused = await bench.refused("export", session=open_one.id, out=str(tmp_path / "open"))
    assert refused.code == "session.not_committed"


async def test_a_bundle_of_a_peer_is_stored_once_with_all_it_holds(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    out = tmp_path / "mugs"
    await bench.call("export", session=done.id, out=str(out))
    other = await node_of(OTHER)
    assert (await other.refused("import", path=str(out))).code == "envelope.key_unknown"
    assert await other.store.sessions() == []
    await pair(other, bench)
    verified: SessionVerification = await other.call("import", path=str(out))
    assert (verified.what, verified.session, verified.signer_name) == ("bundle", done.id, "bruno")
    assert await other.call("import", path=str(out)) == verified
    assert await other.kinds() == [(FeedKind.SESSION_IMPORTED, (done.id,))]
    assert await other.store.steps(done.id) == await bench.store.steps(done.id)
    assert await other.store.session(done.id) == await bench.store.session(done.id)
    assert await other.call("verify", target=done.id) == msgspec.structs.replace(verified, what="session")
    again = tmp_path / "again"
    await other.call("export", session=done.id, out=str(again))
    assert again.read_bytes() == out.read_bytes()
    shown: ShownSession = await other.call("show", session=done.id)
    assert (shown.signed_by, shown.standing) == (bench.node, "")


async def test_a_bundle_with_the_id_of_another_stored_session_is_refused(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    out = tmp_path / "mugs"
    await bench.call("export", session=done.id, out=str(out))
    unsigned = await node_of(OTHER)
    await pair(unsigned, bench)
    taken = msgspec.structs.replace(sample_session(sample_steps()[0]), id=done.id, verdict=Verdict.INTERRUPTED)
    await unsigned.store.put_session(taken)
    refused = await unsigned.refused("import", path=str(out))
    assert code_and_detail(refused) == ("bundle.invalid", {"id": done.id})
    assert await unsigned.store.session(done.id) == taken
    twin = await node_of()  # the same key and randomness, so the same id, but another page
    twin.site.documents[f"{ORIGIN}/mugs"] = Document(
        title="More mugs", controls=twin.site.documents[f"{ORIGIN}/mugs"].controls
    )
    assert (await twin.record()).id == done.id
    assert (await twin.refused("import", path=str(out))).code == "bundle.invalid"


async def test_what_is_no_file_of_ours_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    for name in ("verify", "import"):
        key = "target" if name == "verify" else "path"
        refused = await bench.refused(name, **{key: str(path)})
        assert code_and_detail(refused) == ("input.no_file", {"path": str(path)})
        assert "session ls" not in refused.remedy
    path.write_bytes(b"PKnothing")
    assert (await bench.refused("import", path=str(path))).code.startswith("bundle.")
    assert (await bench.refused("verify", target=str(path))).code.startswith("bundle.")
    path.write_bytes(b"nothing")
    assert not (await bench.refused("verify", target=str(path))).code.startswith("bundle.")
    monkeypatch.setattr(limits, "BUNDLE_BYTES_MAX", 7)
    assert (await bench.refused("verify", target=str(path))).code != "input.too_large"
    path.write_bytes(b"nothing!")
    for name, key in (("verify", "target"), ("import", "path")):
        assert (await bench.refused(name, **{key: str(path)})).code == "input.too_large"
    assert (await bench.refused("verify", target="ses-x")).code == "id.invalid"


# --- replaying -------------------------------------------------------------------------------------------------------


async def test_a_replay_is_told_step_by_step_signed_stored_and_written(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    bench.told.clear()
    out, began_ms = tmp_path / "report", bench.clock.now_ms()
    replayed: ReplayedSession = await bench.call("replay", session=done.id, out=str(out))
    steps = await bench.store.steps(done.id)
    matched = {"matched": True, "text": "same", "error": "", "instead": ""}
    assert bench.told == [{"step": step.index, "of": 3, "action": describe(step.action), **matched} for step in steps]
    assert len(steps) == 3
    report = replayed.report
    assert (report.session, report.node, report.matched, report.verdict) == (done.id, bench.node, 3, Verdict.PASS)
    assert (report.replayed_ms, report.duration_ms) == (began_ms, 2 * PAGE_MS)
    assert [match.duration_ms for match in report.steps] == [PAGE_MS, PAGE_MS, 0]
    assert (report.blocked, report.origin, report.browser) == ((), "", done.browser)
    assert (replayed.signed_by, replayed.out, replayed.unreached, replayed.stopped) == (bench.node, str(out), "", "")
    assert (replayed.differences, replayed.secrets_missing, replayed.described[1]) == ((), (), "click link “Mugs”")
    assert (await bench.kinds())[-1] == (FeedKind.SESSION_REPLAYED, (done.id, report.id))
    shown: ShownSession = await bench.call("show", session=done.id)
    assert (shown.reports, shown.unreached, shown.reports_refused) == ((report,), {}, ())
    assert (replayed.replayable, replayed.stopped_at, replayed.lacking, shown.replayable) == (3, 0, "", 3)
    verified: SessionVerification = await bench.call("verify", target=str(out))
    assert verified == SessionVerification(
        what="replay-report",
        id=report.id,
        session=done.id,
        signer=bench.node,
        signer_name="here",
        issued_s=bench.clock.now_ms() // 1000,
        manifest=shown.manifest,
        steps=3,
        matched=3,
        text={"same": 3, "masked": 0, "numbers": 0, "differs": 0},
        verdict=Verdict.PASS,
        level="text",
    )
    assert len((await bench.call("show", session=done.id)).reports) == 1
    assert bench.browsers.contexts == 0
    refused = await bench.refused("replay", session=done.id, out=str(tmp_path))
    assert code_and_detail(refused) == ("input.invalid", {"path": str(tmp_path)})


async def test_a_site_that_says_something_else_is_reported_and_one_that_is_gone_is_said_to_be(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    mugs = bench.site.documents[f"{ORIGIN}/mugs"]
    bench.site.documents[f"{ORIGIN}/mugs"] = msgspec.structs.replace(mugs, text=("4 mugs",))
    replayed: ReplayedSession = await bench.call("replay", session=done.id)
    assert [(match.matched, match.text) for match in replayed.report.steps] == [
        (True, "same"),
        (False, "numbers"),
        (False, "numbers"),
    ]
    assert [(one.step, one.recorded, one.met, one.also) for one in replayed.differences] == [
        (2, "- 3 mugs", "- 4 mugs", (3,)),
    ]
    bench.site.documents[f"{ORIGIN}/mugs"] = msgspec.structs.replace(mugs, title="Cups", controls=())
    bench.told.clear()
    replayed = await bench.call("replay", session=done.id)
    assert [(match.index, match.performed, match.matched) for match in replayed.report.steps] == [
        (1, True, True),
        (2, True, False),
        (3, False, False),
    ]
    assert (replayed.report.matched, replayed.report.verdict) == (1, Verdict.PARTIAL)
    assert (replayed.replayable, replayed.stopped_at, replayed.lacking) == (3, 3, "")
    assert bench.told[-1]["error"] == "action.target_missing"
    assert (replayed.differences[-1].step, replayed.differences[-1].what) == (3, "action")
    bench.site.documents = {"http://else.test/": Document(title="Else")}
    gone: ReplayedSession = await bench.call("replay", session=done.id, out=str(tmp_path / "report"))
    assert (gone.replayable, gone.stopped_at) == (3, 1)
    verified: SessionVerification = await bench.call("verify", target=str(tmp_path / "report"))
    assert (verified.matched, verified.steps, verified.stopped_at) == (0, 3, 1)
    assert (gone.unreached, gone.report.verdict) == ("browser.navigation", Verdict.FAIL)
    shown: ShownSession = await bench.call("show", session=done.id)
    assert (len(shown.reports), shown.unreached) == (3, {gone.report.id: "browser.navigation"})


async def test_a_replay_elsewhere_says_where_and_keeps_to_the_form_of_an_origin(
    bench: Bench, done: RecordedSession
) -> None:
    there = "http://staging.test:81"
    bench.site.documents |= {there + path: bench.site.documents[ORIGIN + path] for path in ("/", "/mugs")}
    replayed: ReplayedSession = await bench.call("replay", session=done.id, base_url=there)
    assert (replayed.report.origin, replayed.report.matched) == (there, 3)
    assert (await bench.refused("replay", session=done.id, base_url=f"{there}/mugs")).code == "input.invalid"
    assert (await bench.refused("replay", session=UNKNOWN)).code == "input.not_found"
    assert (await bench.refused("replay", session="ses-1")).code == "id.invalid"
    assert not bench.room._work._used[done.id] and not bench.room._work._used[UNKNOWN]
    await bench.call("purge", session=done.id)


PASSWORD = f"start: {ORIGIN}/\nsteps:\n- fill: {{role: textbox, name: Password, value: {{secret: word}}}}"


async def test_a_secret_is_for_where_the_replay_begins_and_only_if_this_node_chose_that(
    bench: Bench, tmp_path: Path
) -> None:
    word = as_params(word="hunter2!")
    done = await bench.record(PASSWORD, secrets=word, approve_class=7)
    assert (await bench.refused("replay", session=done.id)).code == "action.secret_missing"
    assert (await bench.call("replay", session=done.id, approve_class=7, secrets=word)).report.matched == 2
    there = "http://staging.test:81"
    bench.site.documents[f"{there}/"] = bench.site.documents[f"{ORIGIN}/"]
    assert (
        await bench.call("replay", session=done.id, approve_class=7, secrets=word, base_url=there)
    ).report.matched == 2
    out = tmp_path / "bundle"
    await bench.call("export", session=done.id, out=str(out))
    other = await node_of(OTHER)
    other.site.documents[f"{there}/"] = bench.site.documents[f"{ORIGIN}/"]
    await pair(other, bench)
    await other.call("import", path=str(out))
    assert (
        await other.refused("replay", session=done.id, approve_class=7, secrets=word)
    ).code == "action.secret_elsewhere"
    named = {"word": msgspec.structs.replace(word["word"], origins=(ORIGIN,))}
    assert (await other.call("replay", session=done.id, approve_class=7, secrets=named)).report.matched == 2
    assert (
        await other.call("replay", session=done.id, approve_class=7, secrets=named, base_url=there)
    ).report.matched == 1


def test_the_start_of_a_session_is_ones_own_only_if_the_owner_had_it_recorded_here() -> None:
    session = msgspec.structs.replace(sample_session(sample_steps()[0]), search="", caller="owner")

    def start(**changes: Any) -> str:
        return own_start(msgspec.structs.replace(session, **changes), session.node)

    assert start() == start(caller="") == session.start_url
    for others in ({"caller": "agent:anna"}, {"search": "sea-1"}, {"node": "ELSE"}, {"node": "ELSE", "caller": ""}):
        assert start(**others) == ""


async def test_a_report_of_a_peer_is_stored_and_refused_once_the_peer_is_distrusted(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    other, bundle, out = await node_of(OTHER), tmp_path / "bundle", tmp_path / "report"
    await pair(other, bench)
    await pair(bench, other)
    await bench.call("export", session=done.id, out=str(bundle))
    await other.call("import", path=str(bundle))
    report = (await other.call("replay", session=done.id, out=str(out))).report
    verified: SessionVerification = await bench.call("verify", target=str(out))
    assert (verified.signer, verified.signer_name, verified.id) == (other.node, "bruno", report.id)
    assert (await bench.call("show", session=done.id)).reports == (report,)
    await pair(bench, other, distrusted_ms=START_MS + 1)
    shown: ShownSession = await bench.call("show", session=done.id)
    assert shown.reports == ()
    assert [(one.node, one.name) for one in shown.reports_refused] == [(other.node, "bruno")]
    assert shown.reports_refused[0].code == (await bench.refused("verify", target=str(out))).code
    await pair(other, bench, distrusted_ms=START_MS + 1)
    standing = (await other.call("show", session=done.id)).standing
    assert standing.startswith("peer.distrusted")


async def test_a_report_that_names_another_node_than_its_signer_is_refused(bench: Bench, done: RecordedSession) -> None:
    report = (await bench.call("replay", session=done.id)).report
    shown: ShownSession = await bench.call("show", session=done.id)
    recorded = ReplaySource(session=shown.session, steps=shown.steps, manifest=bytes.fromhex(shown.manifest))
    forged = msgspec.structs.replace(report, node=ids.node_id(bytes(32)))
    for record, code in ((report, ""), (forged, "envelope.issuer"), (Session, "report.invalid")):
        payload = record if isinstance(record, msgspec.Struct) else {"session": done.id}
        signed = await bench.witness.artefact(KIND_REPLAY_REPORT, done.id, payload)  # type: ignore[arg-type]
        if code:
            with pytest.raises(MeshError) as refused:
                open_report(signed.envelope, bench.peers.find_key, recorded)
            assert refused.value.code == code
        else:
            assert open_report(signed.envelope, bench.peers.find_key, recorded) == report


async def test_a_session_of_an_earlier_version_leaves_as_it_came(bench: Bench) -> None:
    cases = json.loads((FOLDER / "older.json").read_text(encoding="utf-8"))["cases"]
    older = base64.b64decode(next(case["file"] for case in cases if case["format"] == "bundle"))
    bundle = await import_bundle(bench.store, io.BytesIO(older), find_key, bench.witness.feed)
    out = io.BytesIO()
    await export_session(bench.store, bundle.session.id, out)
    assert out.getvalue() == older
    # Exported by a node that encodes its steps anew, it would not be what was signed.
    assert [cbor.encode(step) for step in bundle.steps()] != await bench.store.step_bodies(bundle.session.id)
