"""Writes ``messages.json``, ``lease.json``, ``spend.json``: ``python -m tests.vectors.message_vectors`` (``--check`` compares).

Records are maps written by hand from docs/protocol/messages.md. A value names byte strings ``{"hex": …}``; it holds what is
left out of the bytes as well, with its default.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import cbor2

from tests.vectors.generate import ALICE, BOB, FOLDER, node_id

Case = dict[str, Any]
Fields = dict[str, Any]
ALICE_ID, BOB_ID = node_id(bytes(ALICE.verify_key)), node_id(bytes(BOB.verify_key))
SEARCH, LEASE = "sea-AAAAAAAAAAAAAAAAAAAAA", "lea-AAAAAAAAAAAAAAAAAAAAA"
INVALID = "message.invalid"
COUNT_MAX = 2**53

PROFILE = {
    "width_px": 1280,
    "height_px": 800,
    "locale": "en-GB",
    "timezone": "UTC",
    "reduced_motion": True,
    "color_scheme": "light",
    "mobile": False,
}
SPEND = {"iterations": 3, "steps": 7, "milliseconds": 900}
NOTHING = {"iterations": 0, "steps": 0, "milliseconds": 0}
LIMITS = {"iterations": 1, "steps": 10_000, "milliseconds": 1_000}
EMPTY_CONDITION = dict.fromkeys(("url", "title", "text", "element", "all", "any", "not"))
LOCATOR: Fields = {"role": "", "name": "", "nth": None, "frame": "", "selectors": [], "within": None}
WORK: Fields = {"id": b"w" * 16}
SYNC: Fields = {
    "head": b"",
    "opening": b"",
    "base_size": 0,
    "base_root": b"",
    "hashes": [],
    "openings": [],
    "former_size": 0,
    "former_hashes": [],
    "yours": b"",
    "later": b"",
    "tags": [],
    "notes": [],
    "proofs": [],
    "key_heads": [],
    "key_logs": [],
}
SHARE_HEAD = {"writer": BOB_ID, "epoch": 1, "seq": 2, "digest": b"d" * 32}
SPEC = {
    "id": SEARCH,
    "coordinator": ALICE_ID,
    "goal": "g",
    "start_url": "http://shop.example/",
    "condition": {"title": "Mug"},
    "profile": {},
    "participants": [ALICE_ID, BOB_ID],
    "seconds": 60,
    "created_ms": 1_700_000_000_000,
    "seed": 0,
    "login": True,
}
ASSIGNMENT = {
    "search": SEARCH,
    "lease": LEASE,
    "branch": b"b" * 16,
    "prefix": [],
    "prefix_state": b"",
    "limits": LIMITS,
    "expires_ms": COUNT_MAX,
}
RESULT = {"search": SEARCH, "lease": LEASE, "branch": b"b" * 16, "outcome": "spent", "spend": {}}
STATUS = {"node": ALICE_ID, "name": "alice", "version": "0.1.0", "protocol": 2, "now_ms": 0, "grants": {}}
NOTICE = {"about": BOB_ID, "since_ms": 1_700_000_000_000}
CALL = {"number": 1, "route": "status", "media": "application/vnd.trailmesh.message+cose", "body_bytes": 1}
CLICK: dict[str, Any] = {"type": "click", "target": {"role": "link", "name": "Mugs"}}


def plain(value: Any) -> Any:
    """``value`` with byte strings as the vectors write them."""
    match value:
        case bytes():
            return {"hex": value.hex()}
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return value


def condition(**given: Any) -> Fields:
    """A condition as it is read."""
    return EMPTY_CONDITION | given


# Record, what it shows, the map that is sent, what is added to it on reading.
RIGHT: list[tuple[str, str, Fields, Fields]] = [
    ("StatusAsk", "empty", {}, {}),
    ("StatusTell", "right", STATUS, {}),
    ("StatusTell", "with grants", STATUS | {"grants": {"deltas:read": ["*"]}}, {}),
    ("GrantsPush", "right", {"grants": {"session:read": ["https://*.shop.example"]}}, {}),
    ("KeysPush", "right", {"log": b"l"}, {}),
    ("KeysTell", "right", {"log": b"l" * 65_536}, {}),
    ("EchoTell", "reached", {"reached": True, "way": "held"}, {"milliseconds": 0, "code": "", "message": ""}),
    ("SearchOpen", "right", {"spec": b"s"}, {}),
    ("SearchSpec", "right", SPEC, {"condition": condition(title="Mug"), "profile": PROFILE}),
    (
        "SearchSpec",
        "with a condition of parts",
        SPEC | {"condition": {"any": [{"url": "*/x"}, {"not": {"element": {"role": "link"}}}]}},
        {
            "condition": condition(
                any=[condition(url="*/x"), condition(**{"not": condition(element={"role": "link", "name": ""})})]
            ),
            "profile": PROFILE,
        },
    ),
    ("Assignment", "right", ASSIGNMENT, {}),
    ("BranchResult", "spent", RESULT, {"spend": NOTHING, "claim": [], "error": ""}),
    ("BranchResult", "a claim", RESULT | {"outcome": "claim", "spend": SPEND, "claim": [b"a", b"b"]}, {"error": ""}),
    ("BranchRenew", "right", {"search": SEARCH, "lease": LEASE, "spend": SPEND}, {}),
    ("BranchRenewed", "no longer", {"live": False}, {"expires_ms": 0}),
    ("DeltaPush", "nothing", {"search": SEARCH, "deltas": []}, {}),
    ("DeltaPush", "64 deltas", {"search": SEARCH, "deltas": [b"d"] * 64}, {}),
    ("DeltaHave", "right", {"epoch": 1, "seq": 2}, {}),
    ("DeltaPull", "right", {"search": SEARCH, "epoch": 0, "after_seq": 0}, {"heads": []}),
    ("DeltaPull", "with heads", {"search": SEARCH, "epoch": 0, "after_seq": 0, "heads": [SHARE_HEAD]}, {}),
    ("DeltaBatch", "nothing more", {"deltas": [b"d"]}, {"more": False, "heads": []}),
    ("DeltaShow", "right", {"search": SEARCH, "writer": BOB_ID, "epoch": 1, "seq": 1}, {}),
    ("DeltaShown", "right", {"delta": b"d"}, {}),
    ("DeltaProof", "right", {"search": SEARCH, "one": b"d", "other": b"e"}, {}),
    ("LogSync", "nothing known", {}, SYNC),
    ("LogSync", "with a proof", {"head": b"h", "hashes": [b"h" * 32], "tags": [b"t" * 16]}, SYNC),
    (
        "LogSync",
        "where a key log ends",
        {"key_heads": [{"tag": b"t" * 16, "head": bytes(32)}], "key_logs": [b"l"]},
        SYNC,
    ),
    ("DistrustNotice", "right", NOTICE, {"reason": "", "lifted": False}),
    ("DistrustNotice", "lifted", NOTICE | {"lifted": True, "reason": "found again"}, {}),
    ("NoticePush", "right", {"notice": b"n"}, {}),
    ("CapsuleKeyAsk", "right", {}, {}),
    ("CapsuleKeyTell", "right", {"certificate": b"c" * 2_048}, {}),
    ("CapsuleUsed", "right", {"use": b"u"}, {}),
    ("CapsuleStands", "right", {"generation": 1}, {}),
    ("CapsuleRevoked", "right", {"revocation": b"r"}, {}),
    ("CookiesAsk", "right", {"origin": "https://shop.example", "certificate": b"c" * 2_048}, {}),
    ("CookiesTell", "right", {"file": b"TMCAPSUL", "attestation": b"a" * 32_768}, {}),
    ("WorkAsk", "a recording", WORK | {"task": "record", "actions": "start: http://shop.example/"}, {"session": ""}),
    ("WorkAsk", "a replay", WORK | {"task": "replay", "session": "ses-AAAAAAAAAAAAAAAAAAAAA"}, {"actions": ""}),
    ("WorkLook", "right", WORK, {}),
    ("WorkTell", "not done", {"done": False}, {"verdict": b""}),
    ("WorkTell", "done", {"done": True, "verdict": b"v" * 2_048}, {}),
    ("WorkFetch", "right", WORK | {"offset": 1_048_576}, {}),
    ("WorkPart", "right", {"total": 3, "data": b"abc"}, {}),
    ("LogConsistencyAsk", "right", {"log": 0, "old_size": 1, "new_size": 1}, {}),
    ("LogProveAsk", "right", {"digest": b"d" * 32}, {}),
    ("Done", "right", {}, {}),
    ("Action", "goto", {"type": "goto", "url": "http://shop.example/"}, {}),
    ("Action", "back", {"type": "back"}, {}),
    ("Action", "click", CLICK, {"target": LOCATOR | CLICK["target"], "button": "left", "count": 1}),
    (
        "Action",
        "double click",
        CLICK | {"count": 2},
        {"target": LOCATOR | CLICK["target"], "button": "left"},
    ),
    ("Action", "hover", CLICK | {"type": "hover"}, {"target": LOCATOR | CLICK["target"]}),
    (
        "Action",
        "focus with a time",
        CLICK | {"type": "focus", "timeout_ms": 120_000},
        {"target": LOCATOR | CLICK["target"]},
    ),
    ("Action", "reload", {"type": "reload"}, {}),
    ("Action", "switch_tab", {"type": "switch_tab", "tab": 2}, {}),
    ("Action", "close_tab", {"type": "close_tab"}, {}),
    ("Action", "fill with a text", {"type": "fill", "target": {}, "value": "x"}, {"target": LOCATOR, "typed": False}),
    (
        "Action",
        "fill with a secret",
        {"type": "fill", "target": {}, "value": {"secret": "p"}},
        {"target": LOCATOR, "typed": False},
    ),
    ("Action", "select", {"type": "select", "target": {}, "option": "A"}, {"target": LOCATOR, "also": []}),
    ("Action", "check", {"type": "check", "target": {}}, {"target": LOCATOR, "checked": True}),
    ("Action", "drag", CLICK | {"type": "drag", "onto": {}}, {"target": LOCATOR | CLICK["target"], "onto": LOCATOR}),
    ("Action", "upload", {"type": "upload", "target": {}, "files": ["a.txt"]}, {"target": LOCATOR, "digests": []}),
    (
        "Action",
        "emulate",
        {"type": "emulate", "location": "52.52,-13.4"},
        {"width_px": 0, "height_px": 0, "color_scheme": "", "reduced_motion": None, "offline": None},
    ),
    ("Action", "evaluate", {"type": "evaluate", "script": "1 + 1"}, {"target": None}),
    ("Action", "press", {"type": "press", "key": "Enter"}, {"target": None}),
    ("Action", "scroll", {"type": "scroll"}, {"direction": "down", "amount_px": 600}),
    (
        "Action",
        "wait",
        {"type": "wait"},
        {
            "text": "",
            "timeout_ms": 5_000,
            "target": None,
            "state": "visible",
            "address": "",
            "response": "",
            "method": "",
            "still_ms": 0,
        },
    ),
    (
        "Action",
        "extract",
        {"type": "extract", "name": "price"},
        {"target": None, "kind": "text", "pattern": "", "compare": "value"},
    ),
    (
        "Action",
        "extract of a form",
        {"type": "extract", "name": "ticket", "kind": "pattern", "pattern": "TK-#"},
        {"target": None, "compare": "value"},
    ),
    (
        "Action",
        "extract that no replay compares",
        {"type": "extract", "name": "id", "compare": "none"},
        {"target": None, "kind": "text", "pattern": ""},
    ),
    (
        "Action",
        "assert of the page",
        {"type": "assert", "what": "title", "expected": "Mugs", "soft": True},
        {"match": "is", "target": None, "attribute": "", "timeout_ms": 5_000}
        | {"sha256": "", "row": "", "column": "", "items": []},
    ),
    (
        "Action",
        "assert of an element",
        {"type": "assert", "what": "enabled", "target": {"role": "button", "name": "Buy"}},
        {
            "target": LOCATOR | {"role": "button", "name": "Buy"},
            "expected": "",
            "match": "is",
            "attribute": "",
            "soft": False,
            "timeout_ms": 5_000,
            "sha256": "",
            "row": "",
            "column": "",
            "items": [],
        },
    ),
    ("CallFrame", "right", CALL, {}),
    ("AnswerFrame", "right", {"number": 1, "refused": False, "body_bytes": 1}, {}),
]

WRONG: list[tuple[str, str, Any]] = [
    ("StatusAsk", "an unknown field", {"more": 1}),
    ("StatusAsk", "an array", []),
    ("StatusTell", "a missing field", {name: value for name, value in STATUS.items() if name != "grants"}),
    ("StatusTell", "text for a number", STATUS | {"protocol": "1"}),
    ("StatusTell", "true for a number", STATUS | {"protocol": True}),
    ("StatusTell", "a negative number", STATUS | {"now_ms": -1}),
    ("StatusTell", "a number beyond 2^53", STATUS | {"now_ms": COUNT_MAX + 1}),
    ("StatusTell", "null for a text", STATUS | {"name": None}),
    ("StatusTell", "a name of 65 characters", STATUS | {"name": "x" * 65}),
    ("StatusTell", "bytes for a text", STATUS | {"name": b"alice"}),
    ("StatusTell", "an empty list of origins", STATUS | {"grants": {"deltas:read": []}}),
    ("StatusTell", "17 origins", STATUS | {"grants": {"deltas:read": ["*"] * 17}}),
    ("GrantsPush", "grants as a list", {"grants": ["deltas:read"]}),
    ("KeysPush", "text for bytes", {"log": "l"}),
    ("KeysPush", "a log beyond its size", {"log": b"l" * 65_537}),
    ("EchoTell", "a number for true", {"reached": 1}),
    ("EchoTell", "a message with a line feed", {"reached": False, "message": "down\n    → do this"}),
    ("EchoTell", "a code that ends with a line feed", {"reached": False, "code": "peer.unreachable\n"}),
    ("EchoTell", "a way with an escape", {"reached": True, "way": "held\x1b]0;t\x07"}),
    ("EchoTell", "a message with a control character of C1", {"reached": False, "message": "\x9b2J"}),
    ("EchoTell", "a message that turns its letters around", {"reached": False, "message": "\u202etxt.exe"}),
    ("WorkAsk", "an unknown task", WORK | {"task": "explore"}),
    ("WorkAsk", "an id of 15 bytes", {"id": b"w" * 15, "task": "record"}),
    ("WorkTell", "a number for true", {"done": 1}),
    ("SearchSpec", "an empty id", SPEC | {"id": ""}),
    ("SearchSpec", "an id that is a path", SPEC | {"id": "../../../../x"}),
    ("SearchSpec", "an id with control characters", SPEC | {"id": "sea-\x1b[2J\x00AAAAAAAAAAAAAA"}),
    ("SearchSpec", "an id of 80 characters", SPEC | {"id": "s" * 80}),
    ("SearchSpec", "an id with a wrong check digit", SPEC | {"id": SEARCH[:-1] + "B"}),
    ("SearchSpec", "an id in lower case", SPEC | {"id": SEARCH.lower()}),
    ("SearchSpec", "the id of a lease", SPEC | {"id": LEASE}),
    ("SearchSpec", "a coordinator without hyphens", SPEC | {"coordinator": ALICE_ID.replace("-", "")}),
    ("SearchSpec", "a participant with a wrong check digit", SPEC | {"participants": [ALICE_ID, BOB_ID[:-1] + "1"]}),
    ("SearchSpec", "a participant that is a short id", SPEC | {"participants": [ALICE_ID, BOB_ID[:7]]}),
    ("SearchClose", "a search that is no id", {"search": "../x"}),
    ("SearchSpec", "a goal with a line feed", SPEC | {"goal": "g\n✓ done"}),
    ("SearchSpec", "a goal with an escape", SPEC | {"goal": "\x1b[2J"}),
    ("SearchSpec", "a goal that isolates a direction", SPEC | {"goal": "\u2067g"}),
    ("SearchSpec", "a goal with a separator of lines", SPEC | {"goal": "g\u2028"}),
    ("SearchSpec", "33 participants", SPEC | {"participants": [ALICE_ID] * 33}),
    ("SearchSpec", "no second", SPEC | {"seconds": 0}),
    ("SearchSpec", "an empty condition text", SPEC | {"condition": {"title": ""}}),
    ("SearchSpec", "an unknown condition", SPEC | {"condition": {"css": "a"}}),
    ("SearchSpec", "a profile of another colour", SPEC | {"profile": {"color_scheme": "sepia"}}),
    ("SearchSpec", "a locale that is none", SPEC | {"profile": {"locale": "e"}}),
    ("SearchSpec", "a locale with a line feed", SPEC | {"profile": {"locale": "en\n"}}),
    ("Assignment", "a short branch", ASSIGNMENT | {"branch": b"b" * 15}),
    ("Assignment", "a prefix of 33 actions", ASSIGNMENT | {"prefix": [b"a"] * 33}),
    ("Assignment", "too many iterations", ASSIGNMENT | {"limits": LIMITS | {"iterations": 1_001}}),
    ("Assignment", "a lease that is no id", ASSIGNMENT | {"lease": "lea-1"}),
    ("BranchRevoke", "a lease with a line feed", {"search": SEARCH, "lease": LEASE + "\n"}),
    ("BranchResult", "a search that is no id", RESULT | {"search": "sea-1"}),
    ("StatusTell", "a node that is no id", STATUS | {"node": "alice"}),
    ("DeltaPull", "a search that is no id", {"search": " " + SEARCH, "epoch": 0, "after_seq": 0}),
    ("BranchResult", "an unknown outcome", RESULT | {"outcome": "done"}),
    ("DeltaPush", "65 deltas", {"search": SEARCH, "deltas": [b"d"] * 65}),
    ("DeltaBatch", "33 heads", {"deltas": [], "heads": [SHARE_HEAD] * 33}),
    (
        "DeltaPull",
        "a short hash",
        {"search": SEARCH, "epoch": 0, "after_seq": 0, "heads": [SHARE_HEAD | {"digest": b"d"}]},
    ),
    ("DeltaShow", "number zero", {"search": SEARCH, "writer": BOB_ID, "epoch": 1, "seq": 0}),
    ("LogSync", "a short hash", {"hashes": [b"h" * 31]}),
    ("LogSync", "a tag of another size", {"tags": [b"t" * 17]}),
    ("LogSync", "three key logs", {"key_logs": [b"l"] * 3}),
    ("LogSync", "nine openings", {"openings": [b"o"] * 9}),
    ("LogSync", "a short head", {"key_heads": [{"tag": b"t" * 16, "head": bytes(31)}]}),
    ("DistrustNotice", "about nobody", NOTICE | {"about": ""}),
    ("DistrustNotice", "a reason of 301 characters", NOTICE | {"reason": "x" * 301}),
    ("LogConsistencyAsk", "size zero", {"log": 0, "old_size": 0, "new_size": 1}),
    ("LogProveAsk", "a short digest", {"digest": b"d" * 31}),
    ("Action", "an unknown type", {"type": "explode"}),
    ("Action", "a tab that no session can have", {"type": "switch_tab", "tab": 101}),
    ("Action", "no type", {"url": "http://shop.example/"}),
    ("Action", "a field of another type", {"type": "goto", "url": "http://shop.example/", "key": "a"}),
    ("Action", "back to an address", {"type": "back", "url": "http://shop.example/"}),
    ("Action", "a target that is null where one is needed", {"type": "click", "target": None}),
    ("Action", "a secret with a space", {"type": "fill", "target": {}, "value": {"secret": "a b"}}),
    ("Action", "nine selectors", {"type": "click", "target": {"selectors": ["css=a"] * 9}}),
    ("Action", "a time of more than two minutes", {"type": "back", "timeout_ms": 120_001}),
    ("Action", "a scroll by nothing", {"type": "scroll", "amount_px": 0}),
    ("CallFrame", "number zero", CALL | {"number": 0}),
    ("CallFrame", "a route with an upper case letter", CALL | {"route": "Status"}),
    ("CallFrame", "another media type", CALL | {"media": "text/plain"}),
    ("CallFrame", "more than any body", CALL | {"body_bytes": 2**21 + 1}),
    ("AnswerFrame", "without a size", {"number": 1, "refused": False}),
]


def message_cases() -> list[Case]:
    """A record by its name: what its bytes say, or the code."""
    return [
        *(
            {
                "record": record,
                "name": f"{record}: {name}",
                "hex": _bytes(sent),
                "value": plain(read | sent | _nested(read)),
            }
            for record, name, sent, read in map(_timed, RIGHT)
        ),
        *(
            {"record": record, "name": f"{record}: {name}", "hex": _bytes(sent), "code": INVALID}
            for record, name, sent in WRONG
        ),
    ]


def _timed(case: tuple[str, str, Fields, Fields]) -> tuple[str, str, Fields, Fields]:
    """``case``; every action is read with a time."""
    record, name, sent, read = case
    return record, name, sent, {"timeout_ms": 0} | read if record == "Action" else read


def _bytes(sent: Any) -> str:
    return cbor2.dumps(sent, canonical=True).hex()


def _nested(read: Fields) -> Fields:
    """The records within, which are read with their defaults; plain fields are read as they were sent."""
    return {name: value for name, value in read.items() if isinstance(value, dict)}


def lease_cases() -> list[Case]:
    """Events in a lease book, in order: how the lease of the last one stands then, or its code."""

    def event(do: str, lease: str = "one", now: int = 0, **more: Any) -> Case:
        life = {"lifetime_ms": 1_000} if do in ("grant", "renew") else {}
        worker = {"worker": "bob"} if do in ("grant", "renew") else {}
        branch = {"branch": "x", "latest_ms": 5_000} if do == "grant" else {}
        return {"do": do, "lease": lease, "now_ms": now} | branch | worker | life | more

    grant = event("grant")
    held: list[tuple[str, list[Case], tuple[str, int, int]]] = [
        ("granted", [grant], ("granted", 1, 1_000)),
        ("granted twice", [grant, event("grant", now=500)], ("granted", 1, 1_000)),
        ("renewed", [grant, event("renew", now=400)], ("renewed", 1, 1_400)),
        ("renewed again", [grant, event("renew", now=400), event("renew", now=900)], ("renewed", 1, 1_900)),
        ("never shortened", [grant, event("renew", now=400, lifetime_ms=100)], ("renewed", 1, 1_000)),
        (
            "never beyond its latest end",
            [event("grant", latest_ms=1_100), event("renew", now=400)],
            ("renewed", 1, 1_100),
        ),
        ("granted until its latest end", [event("grant", latest_ms=700)], ("granted", 1, 700)),
        ("done", [grant, event("result", now=400)], ("done", 1, 1_000)),
        ("done twice", [grant, event("result"), event("result")], ("done", 1, 1_000)),
        ("not over yet", [grant, event("expire", now=999)], ("granted", 1, 1_000)),
        ("over", [grant, event("expire", now=1_000)], ("expired", 1, 1_000)),
        ("a late result", [grant, event("expire", now=1_000), event("result")], ("expired", 1, 1_000)),
        ("revoked", [grant, event("revoke")], ("revoked", 1, 1_000)),
        ("a result after that", [grant, event("revoke"), event("result")], ("revoked", 1, 1_000)),
        ("the next of a branch", [grant, event("revoke"), event("grant", "two")], ("granted", 2, 1_000)),
        ("of another branch", [grant, event("grant", "two", branch="y")], ("granted", 1, 1_000)),
    ]
    wrong: list[tuple[str, list[Case], str]] = [
        ("a second for a branch", [grant, event("grant", "two")], "lease.busy"),
        ("the id of another lease", [grant, event("grant", branch="y")], "input.invalid"),
        ("renewed by another worker", [grant, event("renew", worker="eve")], "lease.unknown"),
        ("renewed too late", [grant, event("renew", now=1_000)], "lease.unknown"),
        ("renewed after its end", [grant, event("result"), event("renew")], "lease.unknown"),
        ("renewed and never granted", [event("renew")], "lease.unknown"),
        ("a result of nothing", [event("result")], "lease.unknown"),
    ]
    return [
        *(
            {"name": name, "events": events, "state": state, "term": term, "expires_ms": expires_ms}
            for name, events, (state, term, expires_ms) in held
        ),
        *({"name": name, "events": events, "code": code} for name, events, code in wrong),
    ]


def spend_cases() -> list[Case]:
    """What a worker may say it spent on a lease: its limits, the time since the assignment was signed, and the code if not."""
    allowed = {"iterations": 8, "steps": 128, "milliseconds": 60_000}
    passed = 10_000
    most = {"iterations": 8, "steps": 128 + 256, "milliseconds": passed + 60_000}
    told: list[tuple[str, dict[str, int], str]] = [
        ("nothing spent", dict.fromkeys(most, 0), ""),
        ("as much as can be", most, ""),
        *((f"{name}: one too many", most | {name: most[name] + 1}, "lease.spend") for name in most),
        *((f"{name}: 2^53", most | {name: COUNT_MAX}, "lease.spend") for name in most),
    ]
    return [
        {"name": name, "limits": allowed, "spend": spend, "passed_ms": passed} | ({"code": code} if code else {})
        for name, spend, code in told
    ]


def files() -> dict[str, str]:
    """Name → text of each file."""
    made = {"messages.json": message_cases(), "lease.json": lease_cases(), "spend.json": spend_cases()}
    return {name: json.dumps(cases, indent=1, ensure_ascii=False) + "\n" for name, cases in made.items()}


def main(arguments: list[str]) -> int:
    """0, or 1 if ``--check`` finds a file that differs."""
    differing = 0
    for name, text in files().items():
        if "--check" not in arguments:
            (FOLDER / name).write_text(text, encoding="utf-8")
        elif (FOLDER / name).read_text(encoding="utf-8") != text:
            print(f"{name} differs from what its generator makes")
            differing = 1
    return differing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
