"""What the small parts of the protocol decide, exactly: rows, changes, due times, refusals, notices, storage faults, errors."""

from __future__ import annotations

import errno
import json
from typing import Any

import msgspec
import pytest

from protocol import audit, feed, ids, limits, notice
from protocol.audit import START, AuditDraft, AuditOutcome, Head
from protocol.errors import CODES, FAMILIES, Blame, MeshError, PeerError
from protocol.feed import FeedKind
from protocol.messages import KIND_DISTRUST_NOTICE, DistrustNotice
from protocol.notice import SignedNotice
from protocol.recording.records.session import Profile
from protocol.refusals import OTHERS, Counts, Refusals
from protocol.routes import ROUTES, request_bytes_max
from protocol.schedule import LATE_MS_MAX, Due, Misfire, RunStatus, decide, delay_ms
from protocol.store_faults import store_code
from protocol.webhook import check_reach
from protocol.wire import cbor, envelope
from tests.key_logs import FIRST, SECOND, public
from tests.tables import each

NODE, OTHER = (ids.node_id(public(key)) for key in (FIRST, SECOND))
SEARCH, SCHEDULE, SESSION = (ids.make_id(kind, bytes(range(13))) for kind in ("sea", "sch", "ses"))
NOW_MS = 1_767_225_600_000


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message


# --- the audit trail -------------------------------------------------------------------------------------------------

DRAFT = AuditDraft(at_ms=1, what="session.record", who="owner", outcome=AuditOutcome.DONE, key="ab", key_events=1)


def test_the_first_row_is_number_one_and_names_no_row_before_it() -> None:
    line, head = audit.chain(DRAFT, START)
    row, followed = audit.follow(START, line)
    assert (row.number, row.previous, START) == (1, "0" * 64, Head(0, "0" * 64))
    assert head == followed == Head(1, audit.digest(line))
    assert [row.of, row.risk, row.note, row.subject, row.code] == [0, 0, {}, "", ""]
    _, second = audit.chain(DRAFT, head)
    assert second.number == 2


def test_a_row_that_does_not_follow_is_refused_with_the_first_thing_that_is_wrong() -> None:
    line, head = audit.chain(DRAFT, START)
    last, _ = audit.chain(DRAFT, head)
    assert refusal(audit.follow, START, last)[1] == "row 1 is missing: row 2 is in its place"
    assert refusal(audit.follow, head, line)[1] == "row 2 is missing: row 1 is in its place"
    assert refusal(audit.follow, Head(1, "1" * 64), last)[1] == "its hash of the previous row does not match that row"


def test_a_line_may_be_as_long_as_its_limit() -> None:
    longest = bytes(limits.AUDIT_ROW_BYTES_MAX)
    assert refusal(audit.read, longest)[1].startswith("not a row of the trail: ")
    assert refusal(audit.read, longest + b"\x00")[1] == "a row of the trail can have at most 16384 bytes"
    line, _ = audit.chain(DRAFT, START)
    long = json.dumps(json.loads(line) | {"outcome": "x" * 400}).encode()
    assert len(refusal(audit.read, long)[1]) == 200
    spaced = json.dumps(json.loads(line)).encode()
    assert refusal(audit.read, spaced)[1] == "the row is not in the canonical form of the trail"


def test_a_text_is_cut_to_its_limit_and_every_character_that_is_not_printed_becomes_a_space() -> None:
    assert audit.clean("a\n\x1b\u202eb") == "a   b"
    assert len(audit.clean("x" * 300)) == limits.AUDIT_TEXT_CHARS_MAX == 256
    assert audit.clean("abc", 2) == "ab"


def test_notes_are_the_first_ones_that_say_something() -> None:
    many = {f"{number}": f"said {number}" for number in range(20)}
    assert audit.notes({"empty": "", **many}) == dict(list(many.items())[: limits.AUDIT_NOTES_MAX])
    ((name, text),) = audit.notes({"n" * 100: "t" * 300}).items()
    assert (name, text) == ("n" * 80, "t" * 256)


# --- the feed of changes ---------------------------------------------------------------------------------------------


@each(
    ("kind", "given", "message"),
    [
        (FeedKind.NODE_SERVING, (NODE,), ""),
        (FeedKind.NODE_SERVING, (), "node.serving names 1 ids"),
        (FeedKind.NODE_SERVING, (NODE, NODE), "node.serving names 1 ids"),
        (FeedKind.NODE_SERVING, (NODE.lower(),), "an id of node.serving is not in its canonical form"),
        (FeedKind.AGENT_ADDED, ("bruno-2",), ""),
        (FeedKind.AGENT_ADDED, ("Bruno",), "not the name of an agent"),
        (FeedKind.AGENT_ADDED, ("b" * 33,), "not the name of an agent"),
        (FeedKind.SEARCH_STARTED, (SEARCH, NODE), ""),
        (FeedKind.SEARCH_STARTED, (SEARCH, OTHER.lower()), "an id of search.started is not in its canonical form"),
        (FeedKind.SEARCH_STARTED, (SEARCH.lower(), NODE), "an id of search.started is not in its canonical form"),
        (
            FeedKind.SEARCH_STARTED,
            (SESSION, NODE),
            "an id of this kind looks like sea- and 21 letters or digits 2-7",
        ),
    ],
)
def test_a_change_names_the_ids_of_its_kind_in_their_one_form(
    kind: FeedKind, given: tuple[str, ...], message: str
) -> None:
    if message:
        assert refusal(feed.check_ids, kind, given) == ("id.invalid", message)
    else:
        assert feed.check_ids(kind, list(given)) == given


# --- due times -------------------------------------------------------------------------------------------------------


def test_a_delay_follows_from_the_schedule_and_the_due_time_alone() -> None:
    """Another delay would repeat or forget a due time over a restart with a later version."""
    given = [(SCHEDULE, NOW_MS, 60), (SCHEDULE, NOW_MS + 1, 60), ("sch-1", NOW_MS, 60), ("sch-1", NOW_MS, 1)]
    assert [delay_ms(*each) for each in given] == DELAYS_MS
    assert delay_ms(SCHEDULE, NOW_MS, 0) == 0
    assert {delay_ms("sch-1", at_ms, 1) for at_ms in range(20_000)} == set(range(1_001)), "both ends are reached"


DELAYS_MS = [41_024, 4_041, 49_682, 605]
COALESCED, MISSED, RUNNING, SKIPPED = (RunStatus(name) for name in ("coalesced", "missed", "running", "skipped"))


@each(
    ("late_ms", "given", "statuses"),
    [
        ((), {}, []),
        ((0,), {}, [RUNNING]),
        ((0,), {"running": True}, [SKIPPED]),
        ((2, 1), {}, [COALESCED, RUNNING]),
        ((2, 1), {"misfire": Misfire.SKIP}, [MISSED, RUNNING]),
        ((2, 1), {"more": True}, [COALESCED, COALESCED]),
        ((2, 1), {"more": True, "misfire": Misfire.SKIP}, [MISSED, MISSED]),
        ((2, 1), {"may_run": False}, [MISSED, MISSED]),
        ((2, 1), {"may_run": False, "misfire": Misfire.SKIP}, [MISSED, MISSED]),
        ((60_000,), {"misfire": Misfire.SKIP}, [RUNNING]),
        ((LATE_MS_MAX,), {"misfire": Misfire.SKIP, "running": True}, [SKIPPED]),
        ((LATE_MS_MAX + 1,), {"misfire": Misfire.SKIP}, [MISSED]),
        ((LATE_MS_MAX + 1,), {}, [RUNNING]),
        ((LATE_MS_MAX + 1,), {"running": True}, [SKIPPED]),
    ],
)
def test_what_becomes_of_due_times(late_ms: tuple[int, ...], given: dict[str, Any], statuses: list[RunStatus]) -> None:
    """Late is reckoned from the moment that a due time was ripe."""
    ripe = [Due(NOW_MS - late - 500_000, NOW_MS - late) for late in late_ms]
    named: dict[str, Any] = {"misfire": Misfire.RUN_ONCE, "running": False} | given
    assert decide(ripe, now_ms=NOW_MS, **named) == [
        (due.due_ms, status) for due, status in zip(ripe, statuses, strict=True)
    ]


# --- refusals --------------------------------------------------------------------------------------------------------


def test_counts_are_kept_and_added_to_those_of_before() -> None:
    refusals = Refusals()
    refusals.count("quota", node="A")
    refusals.count("quota", node="A")
    refusals.count("no such reason", node="B")
    refusals.count("unknown")
    counts = Counts(
        since_ms=7,
        by_place={"quota": {"peer.limit": 2}, "no such reason": {"peer.protocol": 1}, "unknown": {"peer.unknown": 1}},
        by_peer={"A": {"peer.limit": 2}, "B": {"peer.protocol": 1}},
    )
    assert refusals.counts(7) == counts
    again = Refusals()
    again.restore(counts)
    again.restore(counts)
    again.count("quota", node="A", code="peer.scope")
    assert again.by_place["quota", "peer.limit"] == again.by_peer["A", "peer.limit"] == 4
    assert (again.by_place["quota", "peer.scope"], again.by_peer["A", "peer.scope"]) == (1, 1)
    assert again.reasons == {"quota": 5, "no such reason": 2, "unknown": 2}
    assert again.codes == {"peer.limit": 4, "peer.protocol": 2, "peer.unknown": 2, "peer.scope": 1}


@each("known", [limits.REFUSALS_PEERS_MAX - 1, limits.REFUSALS_PEERS_MAX])
def test_peers_of_before_take_up_their_places_and_the_others_take_up_none(known: int) -> None:
    refusals = Refusals()
    by_peer = {str(number): {"peer.limit": 1} for number in range(known)}
    refusals.restore(Counts(by_peer=by_peer | {OTHERS: {"peer.limit": 5}}))
    refusals.count("quota", node="new")
    refusals.count("quota", node="0")
    full = known == limits.REFUSALS_PEERS_MAX
    assert refusals.by_peer[OTHERS, "peer.limit"] == (6 if full else 5)
    assert (("new", "peer.limit") in refusals.by_peer) is not full
    assert refusals.by_peer["0", "peer.limit"] == 2


def test_a_request_is_as_large_as_its_route_allows() -> None:
    assert request_bytes_max("status") == limits.MESSAGE_BYTES_MAX == 4_096
    assert request_bytes_max("deltas/push") == limits.PEER_BODY_BYTES_MAX
    assert request_bytes_max("keys/introduce") == request_bytes_max("") == 2 * 1_048_576
    kept = {name for name, route in ROUTES.items() if route.keeps}
    assert kept == {"search/open", "branch/assign", "deltas/push", "work/ask", "capsule/cookies"}


# --- notices ---------------------------------------------------------------------------------------------------------


def signed(issued_s: int, about: str, reason: str = "") -> SignedNotice:
    said = DistrustNotice(about=about, since_ms=1, reason=reason)
    return SignedNotice(by=NODE, issued_s=issued_s, notice=said, envelope=b"")


def test_the_newest_notice_about_a_node_is_kept_and_the_oldest_goes_first() -> None:
    one, other = signed(10, "b"), signed(10, "a")
    assert notice.keep([one], other) == (other, one)
    for issued_s in (10, 11):
        again = signed(issued_s, "b", "again")
        assert notice.keep([other, one], again) == (other, again)
    assert notice.keep([one, other], signed(9, "b", "older")) == (other, one)
    full = [signed(100 + number, f"{number}") for number in range(limits.NOTICES_PER_PEER_MAX)]
    assert notice.keep(full, signed(500, "new")) == (*full[1:], signed(500, "new"))
    assert notice.keep(full[1:], signed(500, "new")) == (*full[1:], signed(500, "new"))
    assert notice.keep(full, signed(1, "new")) == tuple(full), "the one that came is the oldest"


def test_a_reason_is_one_line_of_bounded_length() -> None:
    longest = "x" * limits.DISTRUST_REASON_CHARS_MAX
    assert [notice.check_reason(text) for text in ("", "  ", " stolen ", longest)] == ["", "", "stolen", longest]
    for text in (longest + "x", "two\nlines", "\x1b[2J"):
        assert refusal(notice.check_reason, text) == (
            "input.invalid",
            "a reason must be one line of at most 300 printable characters",
        )


def opened(now_s: int = 1_000, sender: str = NODE, issued_s: int = 1_000, **fields: Any) -> SignedNotice:
    said: dict[str, Any] = {"about": OTHER, "since_ms": 1_000_000} | fields
    header = envelope.EnvelopeHeader(issuer=NODE, issued_s=issued_s, unique=bytes(16))
    payload = cbor.encode(DistrustNotice(**said))
    sealed = envelope.seal(payload, kind=KIND_DISTRUST_NOTICE, key=FIRST, header=header)
    find = envelope.single_key(public(FIRST), NODE)
    found = notice.open_notice(sealed, find, sender=sender, now_s=now_s)
    assert notice.read_notice(sealed) == found
    return found


def test_a_notice_is_about_another_node_and_of_the_past_give_or_take_the_skew() -> None:
    early_s = 1_000 - limits.CLOCK_SKEW_S
    assert opened(early_s).notice.about == OTHER
    assert (opened().by, opened().issued_s) == (NODE, 1_000)
    form = "a notice must name another node by its full id and give a reason of one line"
    for fields, reason in (
        ({"now_s": early_s - 1}, "the notice is from the future"),
        ({"now_s": early_s, "issued_s": 1_001}, "the notice is from the future"),
        ({"now_s": early_s, "since_ms": 1_000_001}, "the notice is from the future"),
        ({"about": NODE}, form),
        ({"about": OTHER.lower()}, "the field about does not contain a node id in its canonical form"),
        ({"reason": " space"}, form),
        ({"reason": "two\nlines"}, "the notice: a reason must be one line of at most 300 printable characters"),
    ):
        assert refusal(opened, **fields) == ("message.invalid", reason)
    assert refusal(opened, sender=OTHER)[0] == "envelope.issuer"


# --- faults of storage, and errors -----------------------------------------------------------------------------------


@each(
    ("number", "code"),
    [
        (errno.ENOSPC, "store.full"),
        (errno.EDQUOT, "store.full"),
        (errno.EFBIG, "store.full"),
        (errno.EROFS, "store.unwritable"),
        (errno.EACCES, "store.unwritable"),
        (errno.EPERM, "store.unwritable"),
        (errno.ENOTDIR, "store.unwritable"),
        (errno.EIO, "store.corrupt"),
        (None, "store.corrupt"),
    ],
)
def test_only_a_damaged_disk_calls_for_a_backup(number: int | None, code: str) -> None:
    assert store_code(number) == code


def test_a_code_stands_in_one_family() -> None:
    assert sum(map(len, FAMILIES)) == len(CODES)


def test_an_error_is_told_in_one_form() -> None:
    error = MeshError("store.full", path="/x")
    known = CODES["store.full"]
    assert (error.blame, error.retryable, error.remedy, error.shown) == (
        Blame.ENVIRONMENT,
        known.retryable,
        known.remedy,
        error,
    )
    assert str(error) == f"store.full: {known.meaning}"
    assert error.to_dict() == {
        "code": "store.full",
        "message": known.meaning,
        "blame": "environment",
        "retryable": known.retryable,
        "remedy": known.remedy,
        "detail": {"path": "/x"},
    }
    assert MeshError("store.full", "words").message == "words"


def test_the_error_of_a_peer_is_shown_under_the_name_it_has_here() -> None:
    error = PeerError("store.full", "its words", peer="NODE234-REST", path="/x")
    assert (error.code, error.message, error.detail) == (
        "store.full",
        "its words",
        {"path": "/x", "peer": "NODE234-REST"},
    )
    assert error.args == ("NODE234 answered store.full: its words",)
    called = error.called("bruno")
    assert called.shown.to_dict() == {
        **MeshError("peer.failed").to_dict(),
        "message": "bruno answered store.full: its words",
        "detail": {"peer": "NODE234-REST", "code": "store.full"},
    }
    assert (called.code, called.detail) == (error.code, error.detail)


# --- where a webhook goes, what a page looks like ---------------------------------------------------------------------


@each(
    ("address", "scheme", "reason"),
    [
        ("localhost", "https", "not an IP address"),
        ("10.0.0.1", "http", "a webhook is an https address, or http to this machine"),
        (
            "169.254.169.254",
            "https",
            "a webhook is not sent to metadata services, nor to addresses that are no host",
        ),
        ("::ffff:10.0.0.1", "http", "a webhook is an https address, or http to this machine"),
    ],
)
def test_where_a_webhook_does_not_go_is_told(address: str, scheme: str, reason: str) -> None:
    assert refusal(check_reach, address, scheme) == ("input.invalid", reason)


def test_a_page_looks_the_same_everywhere_unless_it_is_said_otherwise() -> None:
    assert msgspec.to_builtins(Profile()) == {
        "width_px": 1_280,
        "height_px": 800,
        "locale": "en-GB",
        "timezone": "UTC",
        "reduced_motion": True,
        "color_scheme": "light",
        "mobile": False,
    }
    with pytest.raises(ValueError, match=f"^'{'x' * 64}' is not a known time zone"):
        Profile(timezone="x" * 100)
