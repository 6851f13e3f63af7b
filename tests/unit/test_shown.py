"""Results describe themselves: each field has a label, and one renderer prints every form."""

from __future__ import annotations

import string
from typing import Annotated, Any

import msgspec
import pytest

from node.cli.base.render import render
from node.verbs.catalogue import CATALOGUE
from node.verbs.shown import fields_of, shown
from node.verbs.written import text_of
from protocol import ids
from protocol.errors import MeshError
from protocol.ids import SessionId
from scripts.docs_records import row, with_inner

WRITTEN_BY_HAND = frozenset({"events", "node"})
"""Groups whose commands still write their results by hand. A new group is none of them."""
RECORDS = with_inner(
    dict.fromkeys(
        kind for verb in CATALOGUE.values() if verb.name.split(".")[0] not in WRITTEN_BY_HAND for kind in verb.kinds
    )
)


def test_each_field_of_a_described_result_has_a_label() -> None:
    assert len(RECORDS) >= 9
    results = [record for record in RECORDS if record.__module__.startswith("node.verbs.")]
    bare = [f"{record.__name__}.{each.name}" for record in results for each in fields_of(record) if not each.described]
    assert bare == []


def test_fields_that_others_are_added_to_or_written_with_exist() -> None:
    missing = []
    for record in (record for verb in CATALOGUE.values() for record in with_inner(verb.kinds)):
        for each in fields_of(record):
            said = each.shown
            assert each.record is not None or not said.brief, each
            used = {name for _, name, _, _ in string.Formatter().parse(said.brief) if name}
            inner = set(each.record.__struct_fields__) if each.record else set()
            missing += [f"{record.__name__}.{each.name}: {name}" for name in used - inner]
            if said.into and said.into not in record.__struct_fields__:
                missing.append(f"{record.__name__}.{each.name}: {said.into}")
    assert missing == []


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part."""

    name: Annotated[str, shown("name", column=True)]
    done: Annotated[bool, shown("done", column=True)]
    node: Annotated[str, shown("by", as_="node", column=True)]
    cost_ms: Annotated[int, shown("spent", as_="duration", unit="ms")] = 0


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """One field of each form."""

    state: Annotated[str, shown("state")] = ""
    reason: Annotated[str, shown("reason", into="state", words=" [{}]")] = ""
    at_ms: Annotated[int, shown("at", as_="time", unit="ms", empty="never")] = 0
    until_s: Annotated[int, shown("until", as_="time", unit="s")] = 0
    takes_ms: Annotated[int, shown("takes", as_="duration", unit="ms")] = 0
    size: Annotated[int, shown("size", as_="bytes", unit="bytes")] = 0
    steps: Annotated[int, shown("steps", unit="step")] = 0
    good: Annotated[bool, shown("good")] = False
    peers: Annotated[list[str] | None, shown("peers", empty="all")] = None
    hosts: Annotated[list[str], shown("hosts")] = msgspec.field(default_factory=list)
    log: Annotated[list[str], shown("log", as_="lines")] = msgspec.field(default_factory=list)
    first: Annotated[Part | None, shown("first")] = None
    best: Annotated[Part | None, shown("best", brief="{name} in {cost_ms}")] = None
    names: Annotated[dict[str, str], shown("names", as_="names")] = msgspec.field(default_factory=dict)
    path: Annotated[list[str], shown("path", as_="steps")] = msgspec.field(default_factory=list)
    next: Annotated[str, shown("next", as_="argument", words="--for {}")] = ""
    by: Annotated[str, shown("for", as_="node")] = ""
    reached: Annotated[bool, shown("reached", empty="no")] = False
    claims: Annotated[int, shown("claims", unit="claim", into="reached", words=" ({})")] = 0
    secret: Annotated[str, shown("picture", as_="hidden")] = ""
    plain: int = 0


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table with more below."""

    number: Annotated[int, shown("step", column=True)]
    ok: Annotated[bool, shown("ok", column=True)]
    notes: Annotated[list[str], shown("note", below=True)]
    tab: Annotated[bool, shown("opened", words="a tab", below=True)] = False
    number_of_tab: Annotated[int, shown("tab", into="tab", words=", number {}")] = 1
    saw: Annotated[Part | None, shown("saw", brief="{name}", below=True)] = None
    id: Annotated[str, shown("id")] = "never shown in a table"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A record whose fields stand in another one."""

    title: Annotated[str, shown("title")]
    lines: Annotated[list[str], shown("lines", as_="bare")]
    said: Annotated[str, shown("said", as_="bare")] = ""


class Outer(msgspec.Struct, frozen=True, kw_only=True):
    """Such a one, with lists of two forms."""

    id: Annotated[str, shown("identifier")] = ""
    parts: Annotated[list[Part], shown("parts of it", as_="lines", brief="{name}{done}{cost_ms}")] = msgspec.field(
        default_factory=list
    )
    page: Annotated[Page | None, shown("page", as_="inline")] = None
    rows: Annotated[list[Row], shown("rows")] = msgspec.field(default_factory=list)
    did: Annotated[list[str], shown("action", beside="rows")] = msgspec.field(default_factory=list)


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """A list that is all of a result."""

    parts: Annotated[list[Part], shown("parts", empty="no parts: `trailmesh make`")]


NODE = "NODEABC-DEFGHIJ"
FULL: dict[str, Any] = {
    "state": "paused", "reason": "peer.gone", "at_ms": 1_772_000_000_123, "until_s": 86_400, "takes_ms": 90_061_000, "size": 1536,
    "steps": 1, "good": True, "peers": [], "hosts": ["a", "b"], "log": ["one", "two"],
    "first": {"name": "x", "done": False, "node": NODE, "cost_ms": 1_500}, "best": {"name": "y", "cost_ms": 100},
    "names": {NODE: "bruno"}, "path": ["open", "click"], "next": "the shop", "by": "agent:shopper", "reached": True, "claims": 2,
    "secret": "hidden", "plain": 3,
}  # fmt: skip
LINES = """\
state        paused [peer.gone]
at (UTC)     2026-02-25 06:13:20
until (UTC)  1970-01-02 00:00:00
takes        1 d 1 h 1 min 1 s
size         1.5 KiB
steps        1 step
good         yes
peers        none
hosts        a, b
log:
  one
  two
first:
  name   x
  by     bruno (NODEABC)
  spent  1.5 s
best         y in 0.1 s
path:
  1. open
  2. click
next         --for 'the shop'
for          agent:shopper
reached      yes (2 claims)
"""


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        (FULL, LINES),
        ({"at_ms": 0, "peers": None, "hosts": [], "good": False, "first": None}, "at (UTC)  never\npeers     all\n"),
        ({"state": "", "reason": "peer.gone"}, "state  [peer.gone]\n"),
        ({"reached": False, "claims": 1}, "reached  no (1 claim)\n"),
        ({"parts": []}, "no parts: `trailmesh make`\n"),
    ],
    ids=["every form", "little to say", "only a part", "an empty value and a part", "an empty list"],
)
def test_a_result_is_printed_as_its_fields_say(
    result: dict[str, Any], lines: str, capsys: pytest.CaptureFixture[str]
) -> None:
    render((Whole, Parts), result)
    assert capsys.readouterr().out == lines


def test_a_list_of_records_is_a_table_of_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    render((Whole, Parts), {"parts": [{"name": "x", "done": False, "node": NODE, "cost_ms": 5}]})
    title, _, heads, _, cells, _ = capsys.readouterr().out.splitlines()
    assert title.strip() == "parts"
    assert heads.replace("┃", " ").split() == ["name", "done", "by"]
    assert cells.replace("│", " ").split() == ["x", "no", "NODEABC"]


def test_the_fields_of_an_inline_record_stand_among_those_around_it_and_its_page_as_it_is() -> None:
    page = {"title": "Mugs", "lines": ["- banner", "  - link"]}
    assert text_of((Outer,), {"id": "x", "page": page}).splitlines() == [
        "identifier  x",
        "title       Mugs",
        "- banner",
        "  - link",
    ]
    assert text_of((Outer,), {"id": "x", "page": None}) == "identifier  x"
    text = {"id": "x", "page": {"title": "Mugs", "said": "one text"}}
    assert text_of((Outer,), text).splitlines()[2:] == ["one text"], "a text is one line, not a line for each character"


def test_a_table_has_a_list_beside_it_and_lines_below_it() -> None:
    rows = [
        {"number": 1, "ok": True, "notes": [], "tab": False, "number_of_tab": 1},
        {
            "number": 12,
            "ok": False,
            "notes": ["late", "small"],
            "tab": True,
            "number_of_tab": 2,
            "saw": {"name": "a link"},
        },
    ]
    assert text_of((Outer,), {"id": "x", "rows": rows, "did": ["open", "click “Buy”"]}).splitlines() == [
        "identifier  x",
        "rows:",
        "  step  action       ok",
        "  1     open         yes",
        "  12    click “Buy”  no",
        "step 12: note: late",
        "step 12: note: small",
        "step 12: opened: a tab, number 2",
        "step 12: saw: a link",
    ]


def test_a_long_list_says_how_much_of_it_is_not_written() -> None:
    lines = text_of((Whole,), {"log": [f"n{number}" for number in range(45)]}).splitlines()
    assert (len(lines), lines[:2], lines[-1]) == (42, ["log:", "  n0"], "  … 5 more (--json has all)")
    parts = [{"name": f"n{number}", "done": False, "node": NODE} for number in range(45)]
    assert len(text_of((Outer,), {"id": "x", "parts": parts}).splitlines()) == 47, "records are counted by their lists"


def test_durations_and_sizes_are_written_in_their_units(capsys: pytest.CaptureFixture[str]) -> None:
    durations = {0: "0 s", 100: "0.1 s", 59_000: "59 s", 60_499: "1 min", 5_400_000: "1 h 30 min", 172_800_000: "2 d"}
    for takes_ms, said in durations.items():
        render((Whole,), {"takes_ms": takes_ms})
        assert capsys.readouterr().out == f"takes  {said}\n"
    for size, said in {0: "0 bytes", 1023: "1023 bytes", 1 << 20: "1.0 MiB", 3 << 29: "1.5 GiB"}.items():
        render((Whole,), {"size": size})
        assert capsys.readouterr().out == f"size  {said}\n"


def test_schemas_and_pages_have_the_label_and_the_unit_of_a_field() -> None:
    _, parts = msgspec.json.schema_components([Whole])
    told = parts["Whole"]["properties"]
    assert told["at_ms"]["description"] == "at, in milliseconds since 1970, UTC"
    assert told["state"]["description"] == "state"
    at = msgspec.inspect.type_info(Whole).fields[2]  # type: ignore[attr-defined]
    assert row(at, "a note.") == "| `at_ms` | integer, milliseconds since 1970, UTC | `0` | *at*: a note. |"


def test_a_form_without_its_unit_is_refused() -> None:
    with pytest.raises(AssertionError, match="ms, s"):
        shown("at", as_="time")


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A record of ids with labels."""

    id: Annotated[SessionId, shown("session")]
    others: Annotated[tuple[Annotated[SessionId, shown("other")], ...], shown("others")] = ()


def test_a_label_takes_no_id_out_of_the_check_of_ids() -> None:
    good = ids.make_id("ses", bytes(ids.ID_RANDOM_BYTES))
    ids.check_ids(Named(id=good, others=(good,)))
    for record in (Named(id="x"), Named(id=good, others=(good, "x"))):
        with pytest.raises(MeshError, match="ses id in its canonical form"):
            ids.check_ids(record)
