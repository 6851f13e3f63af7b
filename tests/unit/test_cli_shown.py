"""What is printed when there is little to print, or when the answer is no."""

from __future__ import annotations

import re
from typing import Any

import click
import msgspec
import pytest

from node.cli import main
from node.verbs import Verb
from node.verbs.catalogue import CATALOGUE
from protocol.routes import ROUTES
from tests.commands import Answers
from tests.tables import each

AGENT: dict[str, Any] = {
    "name": "helper", "state": "valid", "scopes": ["read", "live"], "origins": [], "capsules": [], "created_ms": 0,
    "capsule_names": {"cap-A": "shop"}, "capsules_ended": ["cap-B"],
    "expires_ms": 1_000, "calls": 3, "calls_max": 0, "browser_seconds": 4, "browser_seconds_max": 9, "running": 1,
}  # fmt: skip


def row_of(lines: list[str], word: str) -> list[str]:
    """The cells of the only row of a table that has ``word``."""
    (row,) = [line for line in lines if word in line]
    return [cell.strip() for cell in row.split("│")[1:-1]]


def test_agents_are_a_table_or_a_word() -> None:
    done = Answers(agent_list=[{"agents": []}]).run("agent", "ls")
    assert done.out == ["no agents: `trailmesh agent add --help`"]
    done = Answers(
        agent_list=[
            {"agents": [AGENT | {"origins": ["https://a.example"], "capsules": ["cap-A=live", "cap-B=record"]}]}
        ]
    ).run("agent", "ls")
    cells = [
        "helper",
        "valid",
        "read, live",
        "https://a.example",
        "shop (cap-A)=live cap-B=record [ended]",
        "1970-01-01 00:00:01",
        "3",
        "4 of 9",
        "1",
    ]
    assert row_of(done.out, "helper") == cells
    (heads,) = [line for line in done.out if "scopes" in line]
    assert [head.strip() for head in re.split("[│┃]", heads)[1:4]] == ["name", "state", "scopes"]
    done = Answers(agent_list=[{"agents": [AGENT | {"calls_max": 1}]}]).run("agent", "ls")
    assert row_of(done.out, "helper")[3:7] == ["public sites", "", "1970-01-01 00:00:01", "3 of 1"]


@each(("ended", "more"), [(0, ""), (2, "; ended 2 of its calls, browser runs and live sessions")])
def test_an_agent_is_removed_with_what_it_was_doing(ended: int, more: str) -> None:
    done = Answers(agent_remove=[{"name": "helper", "ended": ended}]).run("agent", "rm", "helper")
    assert (done.code, done.out) == (0, [f"removed helper: its token is no longer valid{more}"])


def test_the_token_is_all_of_the_output() -> None:
    done = Answers(agent_add=[AGENT | {"token": "tma_x"}]).run("agent", "add", "helper", "--scope", "read")
    assert done.out == ["tma_x"]
    assert done.err == [
        "helper may read, live at every public site that the configuration allows, and private and loopback addresses only "
        "where an origin names them; until 1970-01-01 00:00:01 UTC; the token is not shown again"
    ]
    done = Answers(agent_add=[AGENT | {"token": "tma_x", "origins": ["https://a.example"]}]).run(
        "agent", "add", "helper", "--scope", "read"
    )
    assert done.err[0].startswith("helper may read, live at https://a.example; until 1970")
    granted = AGENT | {"token": "tma_x", "origins": ["https://a.example"], "capsules": ["cap-A=live"]}
    done = Answers(agent_add=[granted]).run("agent", "add", "helper", "--scope", "live", "--capsule", "shop=live")
    assert done.err[0].startswith(
        "helper may read, live at https://a.example, with the logins shop (cap-A)=live; until 1970"
    )


VERIFIED: dict[str, Any] = {
    "node": "NODE", "rows": 4, "head": "4ead", "anchors": 2, "heads": 2, "anchors_lost": 0, "unfinished": [], "sound": True,
    "broken": 0, "fault": "", "tampered": [],
}  # fmt: skip


@each(
    ("changed", "code", "more"),
    [
        ({}, 0, ["yes"]),
        (
            {"anchors_lost": 1, "unfinished": [{"row": 3, "what": "node.serve"}, {"row": 4, "what": "node.join"}]},
            0,
            [
                "yes",
                "lost heads    1 of the witness log are not stored or not accepted",
                "still running, or cut off by a crash:",
                "  row 3 (node.serve)",
                "  row 4 (node.join)",
            ],
        ),
        ({"sound": False, "broken": 3, "fault": "a gap"}, 1, ["no: row 3: a gap"]),
    ],
)
def test_the_audit_trail_is_sound_or_not_in_words_and_in_the_exit_code(
    changed: dict[str, Any], code: int, more: list[str]
) -> None:
    done = Answers(audit_verify=[VERIFIED | changed]).run("audit", "verify")
    lines = ["node          NODE", "rows          4", "head          4ead", "signed heads  2 of 2 match"]
    assert (done.code, done.out) == (code, [f"sound         {more[0]}", *lines, *more[1:]])


@each(
    ("anchors", "heads", "told"),
    [(0, 0, "0"), (1, 1, "1 of 1 match"), (0, 2, "0 of 2 match")],
)
def test_the_signed_heads_that_match_are_counted_among_all(anchors: int, heads: int, told: str) -> None:
    done = Answers(audit_verify=[VERIFIED | {"anchors": anchors, "heads": heads}]).run("audit", "verify")
    assert done.out[4] == f"signed heads  {told}"


def test_rows_are_listed_with_what_they_have_and_nothing_else() -> None:
    row: dict[str, Any] = {
        "number": 7, "at_ms": 1_000, "who": "NODEABC-REST", "what": "node.rotate", "outcome": "ok", "code": "", "of": 0,
        "risk": 0, "approved_by": "", "subject": "", "note": {},
    }  # fmt: skip
    full = row | {
        "number": 8, "who": "owner", "code": "x.y", "of": 7, "risk": 5, "subject": "ses-A", "note": {"a": "b", "c": "d"}
    }  # fmt: skip
    listed = {"rows": [row, full], "names": {"NODEABC-REST": "bob"}, "total": 1, "head": "4ead"}
    done = Answers(audit_list=[listed]).run("audit")
    assert done.out == [
        "    7  1970-01-01 00:00:01  bob         node.rotate      ok",
        "    8  1970-01-01 00:00:01  owner       node.rotate      "
        "ok x.y; under row 7; class 5 approved by nobody; ses-A; a=b; c=d",
        "2 of 1 row; head 4ead",
    ]
    other = Answers(
        audit_list=[listed | {"rows": [full | {"approved_by": "owner", "who": "OTHERXX-REST"}], "names": {}}]
    )
    assert "OTHERXX     node.rotate      ok x.y; under row 7; class 5 approved by owner" in other.run("audit").out[0]


@each(
    ("what", "outcome", "told"),
    [
        ("node.join", "begun", "begun; under row 3"),
        ("node.join", "done", "done; ends row 3"),
        ("branch/assign", "failed", "failed; ends row 3"),
        ("node.join", "interrupted", "interrupted; ends row 3"),
        ("peer.paired", "done", "done; under row 3"),
        ("action", "refused", "refused; under row 3"),
    ],
)
def test_a_row_says_which_row_it_ends_and_which_it_belongs_to(what: str, outcome: str, told: str) -> None:
    row = {
        "number": 7, "at_ms": 1_000, "who": "owner", "what": what, "outcome": outcome, "code": "", "of": 3, "risk": 0,
        "approved_by": "", "subject": "", "note": {},
    }  # fmt: skip
    done = Answers(audit_list=[{"rows": [row], "names": {}, "total": 9, "head": "4ead"}]).run("audit")
    assert done.out[0].endswith(f"  {told}")


def test_no_verb_and_no_route_is_called_like_an_event() -> None:
    """Rows of events, ``peer.…``, come alone; all others that say how something ended end the row that they refer to."""
    assert not [name for name in (*CATALOGUE, *ROUTES) if name.startswith("peer.")]


PEER: dict[str, Any] = {
    "name": "carol", "node": "FKYME2W-REST", "seen_ms": 0, "addresses": [], "standing": "", "grants": {}, "granted_us": {},
    "reach": {"held": None, "holds": False, "error": ""}, "log": {"number": None, "trouble": ""}, "notices": [],
}  # fmt: skip


@each(
    ("changed", "first", "may_do"),
    [
        ({}, "carol (FKYME2W), not seen since it was paired", "status only"),
        ({"seen_ms": 1_000}, "carol (FKYME2W), last seen 1970-01-01 00:00:01 UTC", "status only"),
        ({"standing": "peer.distrusted"}, "carol (FKYME2W), not seen since it was paired", "nothing (distrusted)"),
        ({"standing": "log.silent"}, "carol (FKYME2W), not seen since it was paired", "nothing (log.silent)"),
    ],
)
def test_a_peer_is_told_with_when_it_was_seen_and_what_it_may_do(
    changed: dict[str, Any], first: str, may_do: str
) -> None:
    done = Answers(node_peers=[{"peers": [PEER | changed]}]).run("node", "peers")
    assert (done.out[0], done.out[3]) == (first, f"  may do here      {may_do}")


@each(
    ("mine", "scopes", "origins"),
    [
        ({"caller": "owner"}, "all: the owner needs none", "all that the configuration allows"),
        ({"caller": "agent:owner", "scopes": ["live", "read"]}, "live, read", "all that the configuration allows"),
        ({"caller": "agent:a", "scopes": ["read"], "origins": ["https://a.example"]}, "read", "https://a.example"),
    ],
)
def test_who_calls_is_told_what_it_may_do(mine: dict[str, Any], scopes: str, origins: str) -> None:
    told = {"scopes": [], "origins": [], "capsules": [], "verbs": ["node.whoami", "live.open"], **mine}
    lines = Answers(node_whoami=[told]).run("node", "whoami").out
    head = [f"caller   {told['caller']}", f"scopes   {scopes}", f"origins  {origins}"]
    assert lines == [*head, "verbs", "  node.whoami", "  live.open"]


def test_no_peers_and_no_neighbours_are_told_what_to_do() -> None:
    done = Answers(node_peers=[{"peers": []}]).run("node", "peers")
    assert done.out == ["no peers yet: `trailmesh node invite` here, `trailmesh node join --peer …` there"]
    done = Answers(node_discover=[{"nodes": []}]).run("node", "discover")
    assert (len(done.out), "no node announces itself on this network" in done.out[0]) == (1, True)


@each(
    ("knocked", "code", "said"),
    [
        ((True, "peer.unknown"), 0, "refused: peer.unknown (who?)"),
        ((False, "peer.x"), 1, "NOT refused: that node accepted this one and answered peer.x (who?)"),
        ((False, ""), 1, "NOT refused: that node merged a delta from this one"),
    ],
)
def test_a_stranger_that_is_not_refused_is_a_failure(knocked: tuple[bool, str], code: int, said: str) -> None:
    answer = {"refused": knocked[0], "code": knocked[1], "message": "who?"}
    done = Answers(node_knock=[answer]).run("node", "knock", "https://127.0.0.1:1", "--key", "00")
    assert (done.code, done.out) == (code, [said])


NOTICE = {
    "about": "EVEABCD-REST", "about_name": "", "by": "BOBABCD-REST", "by_name": "bob", "since_ms": 1_000, "reason": "lost",
}  # fmt: skip


@each(
    ("received", "given", "titles"),
    [
        ([], [], ["no notices"]),
        ([NOTICE], [], ["notices from peers"]),
        ([], [NOTICE], ["notices from this node"]),
        ([NOTICE], [NOTICE], ["notices from peers", "notices from this node"]),
    ],
)
def test_notices_are_listed_by_whose_they_are(received: list[Any], given: list[Any], titles: list[str]) -> None:
    done = Answers(node_notices=[{"received": received, "given": given}]).run("node", "notices")
    assert [line for line in done.out if "notices" in line] == titles
    rows = [line for line in done.out if "lost" in line]
    assert len(rows) == len(received) + len(given)
    if rows:
        assert row_of(rows[:1], "lost") == ["EVEABCD", "bob (BOBABCD)", "1970-01-01 00:00:01", "lost"]


@each(
    ("changed", "more"),
    [
        ({}, []),
        ({"notify": True}, ["peers notified: none"]),
        ({"notify": True, "told": ["bob", "carol"]}, ["peers notified: bob, carol"]),
        ({"not_told": ["dave"]}, ["not reached: dave; repeat the command to notify them"]),
    ],
)
def test_who_was_told_of_distrust_and_trust_is_said(changed: dict[str, Any], more: list[str]) -> None:
    result = {"name": "eve", "node": "EVEABCD-REST", "notify": False, "told": [], "not_told": []} | changed
    done = Answers(node_distrust=[result | {"since_ms": 1_000, "searches": 1}]).run("node", "distrust", "eve")
    assert done.out == [
        "eve (EVEABCD) has been distrusted since 1970-01-01 00:00:01 UTC",
        "it was removed from 1 search, together with its results",
        *more,
    ]
    done = Answers(node_trust=[result | {"grants": {}}]).run("node", "trust", "eve")
    assert done.out == ["eve (EVEABCD) is trusted again; it may do here: status only", *more]


STATUS: dict[str, Any] = {
    **dict.fromkeys(("name", "node", "version", "home", "address", "log"), "x"),
    **dict.fromkeys(("log_size", "peers", "peers_distrusted", "notices", "sessions", "searches_running"), 1),
    "serving": True, "revoked_s": None, "log_rollback": False, "peers_frozen": 0, "peers_silent": 0, "audit_rows": 5,
    "refusals": {"by_place": {}, "by_code": {}, "by_peer": {}}, "peer_disk": {}, "names": {},
}  # fmt: skip


def test_a_status_begins_with_who_the_node_is_and_ends_with_what_it_refused() -> None:
    done = Answers(node_status=[STATUS]).run("node", "status")
    assert (len(done.out), done.err) == (15, [])
    assert done.out[0] == "name              x" and done.out[12:] == [
        "searches running  1",
        "audit rows        5",
        "refused           nothing",
    ]
    refusals = {"by_place": {"a": 1, "b": 2}, "by_code": {"c.d": 3}, "by_peer": {"NODEABC-REST": {"c.d": 2, "e.f": 1}}}
    done = Answers(
        node_status=[
            STATUS
            | {"revoked_s": 0, "log_rollback": True, "peers_frozen": 2, "peers_silent": 1, "refusals": refusals}
            | {"peer_disk": {"NODEABC-REST": 1_572_864}, "names": {"NODEABC-REST": "bob"}}
        ]
    ).run("node", "status")
    assert done.out[13:] == [
        "revoked           this node revoked itself on  UTC: it signs nothing, and peers refuse it",
        "peers frozen      2 (`trailmesh node peers`)",
        "logs not shown    1 peer (`trailmesh node peers`)",
        "audit rows        5",
        "refused           a 1, b 2",
        "                    3 c.d",
        "                    of bob (NODEABC): c.d 2, e.f 1",
        "disk of a peer    bob (NODEABC): 1.5 MiB",
    ]
    assert done.err == ["a peer holds a later state of this log: nothing is signed until `trailmesh log renew`"]


REQUIRED = [
    (verb, item.name)
    for verb in CATALOGUE.values()
    for item in msgspec.structs.fields(verb.takes)
    if verb.command and item.required
]


@pytest.mark.parametrize(("verb", "name"), REQUIRED, ids=lambda each: str(getattr(each, "name", each)))
def test_a_command_without_what_its_verb_needs_is_refused_before_the_node_is_asked(verb: Verb, name: str) -> None:
    command: Any = main
    for word in verb.command.split():
        command = command.get_command(click.Context(command), word)
    (parameter,) = [each for each in command.params if each.name == name]
    assert parameter.required
    others = [each for each in command.params if each.required and each is not parameter]
    words = [word for each in others if isinstance(each, click.Option) for word in (each.opts[0], "1")]
    words += ["1" for each in others if isinstance(each, click.Argument)]
    done = Answers().run(*verb.command.split(), *words)
    assert (done.code, done.asked) == (2, [])
