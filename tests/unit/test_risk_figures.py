"""The risk benchmark: what counts as an effect, as a control of the same form, and how the figures are counted."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from benchmarks.drift.applications import HERE
from benchmarks.risk import figures
from benchmarks.risk.collecting import Map, chosen
from benchmarks.risk.effects import Kept, effects, learned
from benchmarks.risk.figures import RequestVerdict, upper_bound
from benchmarks.risk.judging import refusal, requests_of, verdicts
from benchmarks.risk.kept import Collected, Head, read
from benchmarks.risk.records import ONCE, REFUSED, Book, Control, Place, Request, Truth, Verdict
from benchmarks.risk.targets import TARGETS, target
from benchmarks.risk.traps.families import TRAPS
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule
from tests.tables import each


def _request(method: str = "GET", path: str = "/items", *, acted: bool = True, kind: str = "fetch") -> Request:
    return Request(method=method, url=f"http://h.example{path}", kind=kind, acted=acted)


def _truth(*requests: Request, effect: tuple[str, ...] = ()) -> Truth:
    control = Control(selector="a", kind="click", tag="a", label="Go")
    return Truth(
        application="shop", place=Place(path="/"), control=control, kind="click", effect=effect, requests=requests
    )


def _judged(*truths: Truth, loads: tuple[Request, ...] = ()) -> list[Verdict]:
    head = Head(origin="http://h.example", loads=loads)
    return list(verdicts(target("datasette"), Collected(head=head, truths=truths)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    live = tmp_path / "live"
    live.mkdir()
    (live / "notes.txt").write_text("figs")
    with closing(sqlite3.connect(live / "shop.sqlite3")) as database:
        database.execute(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, num_views INTEGER, num_product_views INTEGER)"
        )
        database.execute("CREATE TABLE django_session (session_key TEXT PRIMARY KEY, data TEXT)")
        database.execute("INSERT INTO item VALUES (1, 'fig', 0, 0), (2, 'pear', 0, 0)")
        database.execute("INSERT INTO django_session VALUES ('a', 'x')")
        database.commit()
    return live


@pytest.fixture
def write(folder: Path) -> Callable[[str], None]:
    def run(sql: str) -> None:
        with closing(sqlite3.connect(folder / "shop.sqlite3")) as database:
            database.execute(sql)
            database.commit()

    return run


@pytest.mark.parametrize(
    ("sql", "change"),
    [
        ("INSERT INTO item VALUES (3, 'plum', 0, 0)", "shop.sqlite3:item:insert"),
        ("DELETE FROM item WHERE id = 1", "shop.sqlite3:item:delete"),
        ("UPDATE item SET name = 'date' WHERE id = 2", "shop.sqlite3:item:update:name"),
    ],
)
def test_a_changed_row_is_an_effect_and_is_restored_while_the_database_is_open(
    folder: Path, tmp_path: Path, write: Callable[[str], None], sql: str, change: str
) -> None:
    kept = Kept(folder, tmp_path / "kept")
    with closing(sqlite3.connect(folder / "shop.sqlite3")) as server:
        before = server.execute("SELECT * FROM item").fetchall()
        write(sql)
        assert effects(kept.changes(), frozenset()) == [change]
        kept.restore()
        assert server.execute("SELECT * FROM item").fetchall() == before
    assert kept.changes() == []


def test_files_that_came_went_or_changed_are_effects_and_are_restored(folder: Path, tmp_path: Path) -> None:
    (folder / "old.txt").write_text("old")
    kept = Kept(folder, tmp_path / "kept")
    (folder / "notes.txt").write_text("other")
    (folder / "new.txt").write_text("new")
    (folder / "old.txt").unlink()
    assert kept.changes() == ["new.txt:new", "notes.txt:changed", "old.txt:gone"]
    kept.restore()
    assert kept.changes() == []
    assert (folder / "old.txt").read_text() == "old"


def test_an_empty_folder_that_came_or_went_is_an_effect_and_is_restored(folder: Path, tmp_path: Path) -> None:
    (folder / "old").mkdir()
    kept = Kept(folder, tmp_path / "kept")
    (folder / "new" / "inner").mkdir(parents=True)
    (folder / "old").rmdir()
    assert kept.changes() == ["new/inner/:new", "old/:gone"]
    kept.restore()
    assert kept.changes() == []
    assert (folder / "old").is_dir()
    (folder / "old" / "one.txt").write_text("one")
    assert kept.changes() == ["old/one.txt:new"]
    kept.restore()
    assert kept.changes() == []


@pytest.mark.parametrize(
    ("sql", "counts"),
    [
        ("UPDATE django_session SET data = 'y'", False),
        ("UPDATE item SET num_views = 1", False),
        ("UPDATE item SET num_product_views = 1", False),
        ("UPDATE item SET num_views = 1, name = 'x'", True),
        ("DELETE FROM django_session", True),
    ],
)
def test_sessions_and_view_counters_are_noise_but_the_end_of_a_session_is_not(
    folder: Path, tmp_path: Path, write: Callable[[str], None], sql: str, counts: bool
) -> None:
    kept = Kept(folder, tmp_path / "kept")
    write(sql)
    assert kept.changes()
    assert bool(effects(kept.changes(), frozenset())) is counts


def test_what_three_page_loads_bring_is_noise_but_never_a_deletion() -> None:
    seen, gone = "a:seen:insert", "a:item:delete"
    assert learned([[seen, gone, "logged out"]] * 3) == {seen}
    assert learned([[seen]] * 2) == frozenset()
    assert effects([seen, gone], learned([[seen]] * 3)) == [gone]


def test_a_rate_of_nothing_is_the_worst_one() -> None:
    assert figures.missed([]).value == 1.0
    assert figures.overblocked([]).value == 1.0


@each(("errors", "of", "bound"), [(0, 300, 0.00994), (0, 600, 0.00498), (1, 100, 0.04656), (5, 50, 0.19883)])
def test_the_bound_is_that_of_clopper_and_pearson(errors: int, of: int, bound: float) -> None:
    assert upper_bound(errors, of) == pytest.approx(bound, abs=2e-4)


def test_missed_counts_what_changed_something_and_overblocked_what_changed_nothing() -> None:
    read, write = _request(), _request("DELETE", "/items/7")
    listed = _judged(
        _truth(read, effect=("x",)),
        _truth(write, read, effect=("x",)),
        _truth(effect=("x",)),
        _truth(write),
        _truth(read),
        _truth(),
        msgspec.structs.replace(_truth(write), error="the application refused it"),
    )
    assert str(figures.missed(listed)).startswith("2/3")
    assert str(figures.overblocked(listed)).startswith("1/3")
    assert [line.split(": ")[1].split()[0] for line in figures.misses(listed)] == ["GET", "-"]
    assert len(figures.held_for_nothing(listed)) == 1
    assert [line.split()[:2] for line in figures.table(listed)[1:]] == [["shop", "2/3"], ["all", "2/3"]]


def test_one_request_that_is_held_stops_no_other_that_may_have_made_the_effect() -> None:
    """Else a beacon that is held would hide an order that is sent."""
    order, beacon = _request("PROPFIND", "/items/7"), _request("POST", "/beacon")
    (verdict,) = _judged(_truth(beacon, order, effect=("x",)))
    assert verdict.passed == "PROPFIND http://h.example/items/7"


def test_what_loading_sends_by_itself_is_counted_apart_but_no_order_at_its_address_that_reads() -> None:
    ping = _request("POST", "/pages/5/ping", acted=False)
    listed = _judged(
        _truth(_request("POST", "/pages/61/ping")),
        _truth(_request("POST", "/pages/61/ping"), _request("PUT", "/items")),
        _truth(_request("GET", "/items/7/delete", kind="document")),
        loads=(ping, _request("GET", "/items/3/delete", acted=False)),
    )
    assert [bool(each.held) for each in listed] == [False, True, True]
    assert figures.loading(listed) == 1
    (dangerous,) = _judged(_truth(_request("POST", "/pages/61/ping"), effect=("x",)), loads=(ping,))
    assert not dangerous.passed, "whoever sent it, it is held"
    (beside,) = _judged(_truth(_request(), _request("POST", "/pages/61/ping"), effect=("x",)), loads=(ping,))
    assert beside.passed == "GET http://h.example/items"


def test_of_a_run_with_an_effect_the_write_is_blamed_and_not_what_it_loaded() -> None:
    write = Request(method="POST", url="http://h/items/7", kind="fetch", acted=True)
    read = Request(method="GET", url="http://h/items", kind="fetch", acted=True)
    assert list(requests_of([_truth(write, read, effect=("x",))], []).values()) == [(write, True)]
    assert list(requests_of([_truth(read, effect=("x",))], []).values()) == [(read, True)]
    # The same form without an effect elsewhere: nobody can tell, so it counts in neither rate.
    assert requests_of([_truth(write, effect=("x",)), _truth(write)], []) == {}
    assert list(requests_of([_truth(write)], [read]).values()) == [(read, False), (write, False)]


def test_the_guard_of_the_checked_out_product_is_asked() -> None:
    assert refusal(Request(method="DELETE", url="http://h.example/items/7", kind="fetch"))
    assert refusal(Request(method="GET", url="http://h.example/items", kind="document", navigation=True)) is None


def test_no_message_goes_over_a_socket_that_may_not_be_opened_and_each_over_one_that_its_owner_opened() -> None:
    said = Request(method="WS", url="http://h.example/ws/", kind="websocket", body='42["leave",{"room":7}]', acted=True)
    seen = msgspec.structs.replace(said, body='42["seen",3]')
    before = msgspec.structs.replace(seen, body='42["seen",1]', acted=False)
    known = Collected(
        head=Head(origin="http://h.example", loads=(before,)),
        truths=(_truth(said, seen, effect=("x",)), _truth(said), _truth(seen)),
    )
    shut = list(verdicts(target("datasette"), known))
    assert [(each.passed, bool(each.held), each.loading) for each in shut] == [
        ("", True, True),
        ("", True, False),
        ("", False, True),
    ]
    rule = SiteRule(site="http://h.example", why="all of its data comes over it", connect=("/ws/",))
    opened = list(verdicts(target("datasette"), known, GuardPolicy(sites=(rule,))))
    assert [(each.passed, bool(each.held), each.loading) for each in opened] == [
        ("WS http://h.example/ws/ leave", False, False),
        ("", False, False),
        ("", False, False),
    ]


def test_what_could_not_be_performed_is_counted_apart_from_what_the_application_refused() -> None:
    errors = ("", REFUSED, ONCE, "Locator.click: Timeout 2500ms exceeded.")
    rate = figures.unperformed(msgspec.structs.replace(_truth(), error=error) for error in errors)
    assert (rate.errors, rate.of) == (1, 4)


def test_requests_are_counted_in_both_directions() -> None:
    request = Request(method="POST", url="http://h/search", kind="fetch")
    listed = [
        RequestVerdict(application="shop", part="test", request=request, changes=changes, refused=refused)
        for changes, refused in ((True, ""), (True, "method"), (False, "method"), (False, ""), (False, ""))
    ]
    assert str(figures.requests_missed(listed)).startswith("1/2")
    assert str(figures.requests_overblocked(listed)).startswith("1/3")


def test_of_one_shape_no_more_controls_are_driven_than_the_target_says() -> None:
    place = Place(path="/")
    rows = [
        Control(
            selector=f"tr:nth-child({row}) button",
            kind="click",
            tag="button",
            form="post /items/#",
            label=f"row {row}",
            lists=1,
        )
        for row in range(9)
    ]
    other = Control(selector="#other", kind="click", tag="button", label="Other")
    made = Map(application="shop", places=[place], controls={place.key: [*rows, other]})
    picked = chosen(made, 3)
    assert len(picked) == 4
    assert picked == chosen(made, 3)
    assert len(chosen(made, 1_000)) == 10


def test_an_interrupted_line_of_a_book_is_left_out(tmp_path: Path) -> None:
    book = Book(tmp_path / "truth.jsonl")
    book.add(_truth())
    with (tmp_path / "truth.jsonl").open("ab") as file:
        file.write(b'{"application":"sh')
    assert book.read(Truth) == [_truth()]


def test_there_are_three_hundred_traps_of_both_kinds() -> None:
    assert len(TRAPS) >= 300
    assert sum(bool(trap.writes) for trap in TRAPS) >= 100
    assert sum(not trap.writes for trap in TRAPS) >= 100


def test_no_two_traps_share_a_request_and_each_application_has_a_port_and_a_lock() -> None:
    writes = [write for trap in TRAPS for write in trap.writes]
    assert len(writes) == len(set(writes))
    ports = [each.on.port for each in TARGETS]
    assert len(ports) == len(set(ports))
    locks = {lock.stem for lock in (HERE / "locks").iterdir()}
    assert {each.on.environment(each.side) for each in TARGETS} <= {"traps", *locks}
    assert {each.part for each in TARGETS} == {"development", "test", "traps"}


def test_every_trap_that_waits_is_watched_for_longer() -> None:
    waits = [int(found) for trap in TRAPS for found in re.findall(r"setTimeout\(.*?, ([0-9]+)\)", trap.markup)]
    assert waits
    assert max(waits) / 1000 < target("traps").wait_s


def test_of_all_that_changed_something_only_these_orders_by_get_are_sent() -> None:
    """Each by an address that says nothing of it (docs/THREATS.md)."""
    sent = {
        (each.application, each.label or each.place)
        for each_target in TARGETS
        if (known := read(each_target.name, each_target.origin))
        for each in verdicts(each_target, known)
        if each.passed
    }
    assert sent == {
        ("calibreweb", "Sort title in reverse alphabetical order"),
        ("roundup", "/tracker/issue?@template=search"),
    }
