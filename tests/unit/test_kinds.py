"""Each text of a stored record has a kind, and the walker redacts a record by the kinds of its fields."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_type_hints

import msgspec

import protocol
from adapters.ports import store
from adapters.ports.tables import Table
from node.approvals.stored import QuestionRecord
from protocol.approval.question import Question
from protocol.audit import AuditDraft, Row
from protocol.feed import FeedChange
from protocol.kinds import AuthorText, Done, Home, PageText, Plain, Request, TextKind, bare, is_record, kind_of
from protocol.messages import SearchSpec
from protocol.page.actions.action import Click, Fill, Locator, Secret
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.recording.records.session import ReplayReport, Session, Step
from scripts.guard_table import ROOT

SECRETS = {"word": "hunter2"}
SHOWN = "‹secret:word›"


def texts_of(record: type, kind: TextKind | None = None) -> Iterator[tuple[str, TextKind | None]]:
    """Each text of ``record`` and of the records in it, as ``Step.title``, with its kind."""
    seen: set[type] = set()
    pending: list[tuple[Any, TextKind | None, str]] = [(record, kind, record.__name__)]
    while pending:
        hint, above, place = pending.pop()
        found, inner = kind_of(hint) or above, bare(hint)
        if inner is str:
            yield place, found
        elif is_record(inner):
            fields = () if inner in seen else get_type_hints(inner, include_extras=True).items()
            seen.add(inner)
            pending += [(field, found, f"{inner.__name__}.{name}") for name, field in fields]
        else:
            pending += [(each, found, place) for each in get_args(inner)]


def records_in(hint: Any) -> Iterator[type[msgspec.Struct]]:
    """The records in a type, but not those inside of them."""
    pending = [hint]
    while pending:
        inner = bare(pending.pop())
        if is_record(inner):
            yield inner
        pending += get_args(inner)


def stored() -> Iterator[type[msgspec.Struct]]:
    """The records that methods of the ports of the store take and return, and those of every table that a room describes."""
    for file in (path for room in ("adapters", "node") for path in (ROOT / room).rglob("*.py")):
        if " = Table(" in file.read_text():
            module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
            yield from (each.record for each in vars(module).values() if isinstance(each, Table))
    ports = [each for each in vars(store).values() if isinstance(each, type) and getattr(each, "_is_protocol", False)]
    for _, method in (found for port in ports for found in inspect.getmembers(port, inspect.isfunction)):
        for hint in get_type_hints(method, include_extras=True).values():
            yield from records_in(hint)


def sent() -> Iterator[type[msgspec.Struct]]:
    """The records that cross a border of the node as bytes: all those of the protocol that refuse unknown fields."""
    for module in pkgutil.walk_packages(protocol.__path__, "protocol."):
        importlib.import_module(module.name)
    pending = [msgspec.Struct]
    while pending:
        below = pending.pop().__subclasses__()
        pending += below
        wire = [each for each in below if each.__module__.startswith("protocol.")]
        yield from (each for each in wire if each.__struct_config__.forbid_unknown_fields)


LEAVING = frozenset((*stored(), *sent()))
CREDENTIALS = ("protocol.capsule.", "protocol.page.secrets.")
"""Modules of records that hold secrets themselves: the contents of a capsule, and secrets that are given."""


def test_what_leaves_is_found_by_itself() -> None:
    assert {
        Session,
        Step,
        ReplayReport,
        AuditDraft,
        Row,
        Question,
        QuestionRecord,
        SearchSpec,
        FeedChange,
    } <= LEAVING
    assert len(LEAVING) > 150


def test_each_text_of_a_record_that_is_stored_or_sent_says_what_it_is() -> None:
    lacking = sorted({place for record in LEAVING for place, kind in texts_of(record) if kind is None})
    assert not lacking, (
        f"{', '.join(lacking)}: a text that is stored or sent has a kind, by which it is redacted. Declare it as one of those in"
        " protocol/kinds.py: PageText if a page says it, AuthorText if the author of a session wrote it, Plain if neither did"
    )


def test_a_secret_itself_stands_only_in_what_is_sealed_or_given() -> None:
    holding = {record for record in LEAVING for _, kind in texts_of(record) if kind is TextKind.CREDENTIAL}
    assert holding
    assert [each for each in holding if not each.__module__.startswith(CREDENTIALS)] == []


class Inner(msgspec.Struct):
    """A record with a text that says nothing of itself."""

    said: str
    known: Plain


class Outer(msgspec.Struct):
    """A record that holds it."""

    each: tuple[Inner, ...]
    names: dict[Plain, str]
    cells: Annotated[tuple[str, ...], TextKind.PAGE_TEXT]
    maybe: Inner | None = None


def test_a_text_without_a_kind_is_found_wherever_it_lies() -> None:
    assert {place for place, kind in texts_of(Outer) if kind is None} == {"Inner.said", "Outer.names"}


class Part(msgspec.Struct, frozen=True):
    """A record in another one."""

    text: PageText = ""
    plain: Plain = ""


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """A record with a text of each kind, and of each form that a field has."""

    url: Home = "http://shop.test/"
    text: Annotated[PageText, msgspec.Meta(max_length=16)] = ""
    wrote: AuthorText = ""
    done: Done = ""
    asked: Request = ""
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    pair: tuple[Plain, PageText] = ("", "")
    named: Mapping[Plain, PageText] = {}
    cells: Annotated[tuple[str, ...], TextKind.PAGE_TEXT] = ()
    either: AuthorText | Part = ""


REDACTED = (
    (Whole(text="hunter2"), Whole(text=SHOWN)),
    (Whole(text="hunter2 hunter2"), Whole(text=f"{SHOWN} {SHOWN}"[:16])),
    (Whole(wrote="a hunter2"), Whole(wrote=f"a {SHOWN}")),
    (Whole(done="hunter2"), Whole(done="hunter2")),
    (Whole(asked="GET /a?token=1&q=hunter2"), Whole(asked=f"GET /a?token=REDACTED&q={SHOWN}")),
    (Whole(part=Part("hunter2", "hunter2")), Whole(part=Part(SHOWN, "hunter2"))),
    (Whole(parts=(Part(), Part("hunter2"))), Whole(parts=(Part(), Part(SHOWN)))),
    (Whole(pair=("hunter2", "hunter2")), Whole(pair=("hunter2", SHOWN))),
    (Whole(named={"hunter2": "hunter2"}), Whole(named={"hunter2": SHOWN})),
    (Whole(cells=("hun", "ter2", "")), Whole(cells=(SHOWN, SHOWN, ""))),
    (Whole(either="hunter2"), Whole(either=SHOWN)),
    (Whole(either=Part("hunter2")), Whole(either=Part(SHOWN))),
)


def test_a_record_is_redacted_by_the_kinds_of_its_fields() -> None:
    for given, kept in REDACTED:
        assert redacted(given, Redaction(SECRETS)) == kept


def test_what_holds_nothing_to_redact_is_the_same_object() -> None:
    fill = Fill(target=Locator(role="textbox", name="Name"), value=Secret(secret="word"))
    given = Whole(text="a", parts=(Part("b"),), named={"a": "b"}, cells=("c",), pair=("a", "b"), part=Part("x"))
    for record in (given, fill, Click(target=Locator(name="hunter")), ElementEvidence(name="Shop", cells=("a", "b"))):
        assert redacted(record, Redaction(SECRETS)) is record
    assert redacted(None, Redaction(SECRETS)) is None
    pair = (Part("a"), Part("b"))
    assert redacted(pair, Redaction(SECRETS)) is pair


def test_the_home_of_a_record_decides_what_leaves_its_texts() -> None:
    asked: list[str] = []

    def stored_at(url: str) -> Mapping[str, str]:
        asked.append(url)
        return {"ann": "Ann"} if "people" in url else {}

    redaction = Redaction(SECRETS, stored_at=stored_at)
    given = Whole(url="http://people.test/", text="Ann hunter2", wrote="Ann hunter2", part=Part("Ann"))
    kept = redacted(given, redaction)
    assert (kept.text, kept.wrote, kept.part) == ("‹secret:ann› hun", f"Ann {SHOWN}", Part("‹secret:ann›"))
    other = Whole(text="Ann")
    assert redacted(other, redaction) is other
    assert asked == ["http://people.test/", "http://shop.test/"]


def test_these_texts_of_a_step_are_stored_as_they_are() -> None:
    """Whoever adds one here says that no page and no author can put a secret into it, or that it was redacted before."""
    kept = {place for place, kind in texts_of(Step) if kind in (TextKind.PLAIN, TextKind.DONE)}
    assert sorted(kept) == [
        "Assert.attribute",
        "Assert.sha256",
        "Effect.body",
        "Effect.method",
        "ElementEvidence.attributes",
        "ElementEvidence.group",
        "ElementEvidence.role",
        "Emulate.location",
        "Extract.name",
        "Extract.pattern",
        "HiddenText.at",
        "HiddenText.text",
        "Locator.frame",
        "Locator.role",
        "Press.key",
        "Secret.secret",
        "Step.basic",
        "Step.error",
        "Step.ref",
        "Step.written",
        "Wait.method",
        "Within.role",
    ]
