"""What the commands of pairing ask of the node, of the person and of the terminal."""

from __future__ import annotations

import re
import shutil
from os import terminal_size
from pathlib import Path
from typing import Any

import pytest
import segno

from node.cli import main
from node.cli.nodes import pairing
from node.cli.nodes.pairing import read_peer
from protocol.errors import MeshError
from protocol.limits import INVITE_CHARS_MAX, PAIRING_WINDOW_S
from tests.commands import Answers, Terminal
from tests.tables import each

OTHER: dict[str, Any] = {
    "node": "NODEABC-REST",
    "short": "NODEABC",
    "fingerprint": "six words",
    "name": "bob",
    "addresses": ["https://192.168.1.20:7443"],
    "asks": {},
    "grants": {"explore": ["*"]},
    "granted_us": {},
    "unasked": [],
}
MET = {"meeting": "m1", "digits": "1234567", "pinned": False, "other": OTHER | {"had": None}}
ADDRESS = "https://192.168.1.20:41873"
JOIN = ("node", "join", "--peer", ADDRESS)
BEGUN = ("node.pair_begin", {"address": ADDRESS, "grant": [], "ask": [], "fingerprint": ""})
PAIRED = [
    "paired with bob",
    "  name              bob",
    "  node              NODEABC-REST",
    "  words             six words",
    "  address           https://192.168.1.20:7443",
    "  may do here       explore",
    "  lets us do there  status only",
]


def confirmed(agreed: bool) -> tuple[str, dict[str, Any]]:
    return "node.pair_confirm", {"meeting": "m1", "agreed": agreed}


def pairing_node(**changed: Any) -> Answers:
    """A node that has met another one."""
    met = MET | changed
    return Answers(node_pair_begin=[met], node_pair_wait=[met], node_pair_confirm=[OTHER])


@each(("typed", "agreed"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_the_node_is_told_what_the_person_says_of_the_digits(typed: bytes, agreed: bool) -> None:
    done = pairing_node().run(*JOIN, typed=Terminal(typed))
    assert (done.code, done.asked) == (0, [BEGUN, confirmed(agreed)])
    assert done.out == PAIRED
    assert "  digits   123 4567" in done.err
    assert done.err[:2] == ["the other node", "  name              bob"]
    assert ("waiting for the person at the other node" in done.err) is agreed


def test_who_goes_away_from_the_question_has_refused() -> None:
    for answer in (OTHER, MeshError("pairing.unconfirmed")):
        node = Answers(node_pair_begin=[MET], node_pair_confirm=[answer])
        done = node.run(*JOIN, typed=Terminal(b""))
        assert (done.code, done.asked, done.out) == (130, [BEGUN, confirmed(False)], [])


def test_a_fingerprint_that_was_given_takes_the_place_of_the_question() -> None:
    done = pairing_node(pinned=True).run(*JOIN, "--fingerprint", "NODEABC", typed=b"n\n".decode())
    begun = ("node.pair_begin", {**BEGUN[1], "fingerprint": "NODEABC"})
    assert (done.code, done.asked) == (0, [begun, confirmed(True)])
    assert not any("same digits?" in line for line in done.err)


@pytest.mark.parametrize("command", [JOIN, ("node", "pair")], ids=lambda words: " ".join(words[:2]))
def test_without_a_person_and_a_fingerprint_the_node_is_not_asked(command: tuple[str, ...]) -> None:
    done = pairing_node().run(*command, typed="y\n")
    assert (done.code, done.asked, done.out) == (2, [], [])
    assert "[pairing.unconfirmed]" in done.err[0]


def test_a_peer_that_pairs_again_is_shown_with_what_it_could_do_before() -> None:
    met = pairing_node(other=OTHER | {"had": {"session:read": ["*"]}}).run(*JOIN, typed=Terminal(b"y\n"))
    before = "  could do here     session:read: replaced by"
    assert before in met.out and before in met.err


def test_an_address_may_have_spaces_around_it_and_large_letters() -> None:
    done = pairing_node().run("node", "join", "--peer", f" {ADDRESS.upper()} ", typed=Terminal(b"y\n"))
    assert done.asked[0] == ("node.pair_begin", {**BEGUN[1], "address": ADDRESS.upper()})


def test_a_fingerprint_with_an_invite_is_refused_before_the_node_is_asked() -> None:
    done = Answers().run("node", "join", "--peer", "tmi1.abc", "--fingerprint", "NODEABC")
    assert (done.code, done.asked) == (2, [])
    assert "use --fingerprint only with an address" in done.err[0]


def test_an_invite_is_shown_while_the_nodes_talk_and_the_peer_at_the_end() -> None:
    node = Answers(node_join=[OTHER | {"had": None, "unasked": ["status"]}])
    node.events = [{"inviter": OTHER}, {"of another": "kind"}]
    done = node.run("node", "join", "--peer", "tmi1.abc", "--grant", "explore", "--ask", "audit")
    assert done.asked == [("node.join", {"invite": "tmi1.abc", "grant": ["explore"], "ask": ["audit"]})]
    assert (done.code, done.out) == (0, PAIRED)
    assert done.err == [
        "the invite",
        *PAIRED[1:],
        "note: nothing uses status yet; the grant has no effect until something does",
    ]


@each(("words", "seconds"), [((), PAIRING_WINDOW_S), (("--minutes", "1"), 60), (("--minutes", "3"), 180)])
def test_a_node_waits_as_many_minutes_as_it_is_told(words: tuple[str, ...], seconds: int) -> None:
    node = pairing_node()
    waiting = {"short": "ANNAABC", "fingerprint": "our words", "expires_s": 1, "address": ADDRESS}
    node.events = [{"of another": "kind"}, {"waiting": waiting}]
    done = node.run("node", "pair", "--grant", "explore", *words, typed=Terminal(b"y\n"))
    asked = {"grant": ["explore"], "ask": [], "fingerprint": "", "seconds": seconds}
    assert (done.code, done.asked) == (0, [("node.pair_wait", asked), confirmed(True)])
    assert done.err[:4] == [
        "this node    ANNAABC, our words",
        "waits until  1970-01-01 00:00:01 UTC; on the other machine:",
        f"  trailmesh node join --peer {ADDRESS}",
        "the other node",
    ]
    assert done.out == PAIRED


@each("minutes", [0, PAIRING_WINDOW_S // 60 + 1])
def test_a_node_waits_for_no_other_number_of_minutes(minutes: int) -> None:
    done = Answers().run("node", "pair", "--minutes", str(minutes), typed=Terminal(b"y\n"))
    assert (done.code, done.asked) == (2, [])


# --- invites ---------------------------------------------------------------------------------------------------------

INVITED: dict[str, Any] = {"invite": "tmi1." + "a" * 100, "expires_s": 1, "unasked": []}


def test_an_invite_is_one_line_of_output_and_the_rest_is_for_the_person(capsys: pytest.CaptureFixture[str]) -> None:
    done = Answers(node_invite=[INVITED]).run("node", "invite")
    assert done.out == [INVITED["invite"]]
    assert done.err == [
        "",
        "Valid once, until 1970-01-01 00:00:01 UTC. On the other machine run `trailmesh node join --peer -` "
        "and paste the line above.",
    ]


def drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str, out: bool = True, err: bool = True
) -> str:
    """Standard error of an invite. out, err: whether they are a terminal."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: out)
    monkeypatch.setattr("sys.stderr.isatty", lambda: err)
    with Answers(node_invite=[INVITED]).given():
        main(["node", "invite", *words], standalone_mode=False)
    printed = capsys.readouterr()
    assert printed.out == f"{INVITED['invite']}\n"
    return printed.err


@pytest.mark.parametrize(
    ("words", "out", "err", "shown"),
    [
        ((), True, True, True),
        ((), True, False, False),
        ((), False, True, False),
        (("--qr",), False, False, True),
        (("--no-qr",), True, True, False),
    ],
)
def test_an_invite_is_drawn_for_who_sees_it_or_wants_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    out: bool,
    err: bool,
    shown: bool,
) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda fallback=(80, 24): terminal_size((200, 50)))
    assert bool(re.search("[█▀▄]", drawn(monkeypatch, capsys, *words, out=out, err=err))) is shown


def test_a_code_that_is_wider_than_the_terminal_is_drawn_only_for_who_insists(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = segno.make(INVITED["invite"], error="l", micro=False).symbol_size()[0]
    for columns, words, shown in ((wide, (), True), (wide - 1, (), False), (wide - 1, ("--qr",), True)):
        monkeypatch.setattr(shutil, "get_terminal_size", lambda fallback=(80, 24), at=columns: terminal_size((at, 50)))
        said = drawn(monkeypatch, capsys, *words)
        assert ("too narrow for the QR code" in said) is not shown
        assert bool(re.search("[█▀▄]", said)) is shown
        # The small squares are drawn two in one line, so that the code fits on a screen.
        assert not shown or len(said.splitlines()) < 0.7 * wide


def test_what_is_read_of_an_invite_is_bounded_and_tells_one_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 2 * INVITE_CHARS_MAX + 1
    long = "x" * (most + 5)
    (tmp_path / "long").write_text(long)
    assert read_peer(f"@{tmp_path / 'long'}") == long[:most]
    assert read_peer(long) == long
    for on_terminal, typed, read in (
        (True, "tmi1.abc\nmore\n", "tmi1.abc\n"),
        (False, "tmi1.abc\nmore\n", "tmi1.abc\nmore\n"),
        (True, long, long[:most]),
        (False, long, long[:most]),
    ):
        monkeypatch.setattr("sys.stdin", _Typed(typed, on_terminal))
        assert read_peer("-") == read


class _Typed:
    def __init__(self, text: str, on_terminal: bool) -> None:
        import io

        self._text, self._on_terminal = io.StringIO(text), on_terminal
        self.read, self.readline = self._text.read, self._text.readline

    def isatty(self) -> bool:
        """Whether a person types."""
        return self._on_terminal


def test_the_rest_of_a_changed_grant_is_said_only_if_there_is_something_to_say() -> None:
    changed = {
        "node": "NODEABC-REST", "name": "bob", "before": {}, "after": {"explore": ["*"]}, "ended": [], "told": True,
        "unasked": [],
    }  # fmt: skip
    done = Answers(node_grant=[changed]).run("node", "grant", "bob", "explore")
    assert (done.out, done.err) == (["before  status only", "after   explore"], [])
    ended = changed | {"ended": ["sea-1", "lea-2"], "told": False}
    done = Answers(node_ungrant=[ended]).run("node", "ungrant", "bob", "explore")
    assert done.out[2:] == ["ended   sea-1, lea-2"]
    assert done.err == ["bob was not reached; it receives the change when it next connects"]


def test_every_command_of_pairing_has_its_place() -> None:
    assert [command.name for command in pairing.COMMANDS] == ["invite", "join", "pair", "grant", "ungrant"]
