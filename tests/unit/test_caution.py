"""After which mismatches a replay may still write: those that only look different, and never those of data or place."""

from __future__ import annotations

import hashlib
import time

import msgspec

from protocol.page.actions.action import Click, Fill, Goto, Locator
from protocol.page.seen.observation import Element, Traits
from protocol.recording.pages.masks import apply_masks, find_masks, mask_text
from protocol.recording.records.session import RequestFault, Step
from protocol.recording.replays.caution import contradiction, forbids
from protocol.recording.replays.known_changes import KnownChanges
from protocol.recording.replays.replay import Met, compare
from tests.tables import each
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_replayer import HOME, Bench

NEWER = "http://newer.test"
PAGE = """- heading "Order 7" [level=1]
- link "Home"
- textbox "Name": Beer
- checkbox "Urgent" [checked]
- table
  - row
    - cell "Beer"
    - cell "24.50"
- paragraph: In stock
- paragraph: You pay £10
- paragraph: "Customer: Ann"
- paragraph: "Contract: C-7"
- paragraph: "Visits: 7"
- paragraph: ann@shop.test
- contentinfo: Powered by Shop 1.2.3"""


def step(url: str = f"{HOME}orders/7", title: str = "Orders | Shop", text: str = PAGE) -> Step:
    return Step(
        index=1,
        action=Goto(url=url),
        ok=True,
        url=url,
        title=title,
        state=bytes(16),
        risk=1,
        started_ms=0,
        duration_ms=0,
        snapshot=hashlib.sha256(text.encode()).digest(),
    )


def said(
    *,
    elsewhere: bool,
    url: str = "",
    title: str = "Orders | Shop",
    text: str = PAGE,
    fault: str = "",
    status: int = 403,
    risk: int = 1,
) -> str:
    recorded = msgspec.structs.replace(step(), risk=risk)
    met = Met(
        state=bytes(16),
        url=url or recorded.url,
        title=title,
        extracted="",
        text=text,
        digest=hashlib.sha256(text.encode()).digest(),
        faults=(RequestFault(request=fault, fault="status", status=status),) if fault else (),
    )
    match = compare(recorded, met, snapshot=PAGE.encode(), duration_ms=0)
    assert not match.matched, "only a step that did not match is asked about"
    return forbids(recorded, match, met, PAGE, elsewhere=elsewhere)


@each("elsewhere", [False, True])
def test_a_part_of_the_title_and_an_id_in_the_address_do_not_forbid_to_write(elsewhere: bool) -> None:
    assert said(elsewhere=elsewhere, title="New Orders | Shop") == ""
    assert said(elsewhere=elsewhere, url=f"{HOME}orders/8") == ""


@each("elsewhere", [False, True])
def test_another_title_or_page_forbids_it(elsewhere: bool) -> None:
    assert said(elsewhere=elsewhere, title="Error") == "another title"
    assert said(elsewhere=elsewhere, url=f"{HOME}customers/7") == "another address"
    assert said(elsewhere=elsewhere, fault="POST /save", status=500) == "a request that went wrong"


def test_another_value_in_the_query_is_another_place_and_a_key_more_is_not() -> None:
    recorded = msgspec.structs.replace(step(), url=f"{HOME}orders?state=open&page=2")
    for query, expected in (("state=closed&page=2", "another address"), ("state=open&page=2&tab=1", "")):
        met = Met(
            state=bytes(16), url=f"{HOME}orders?{query}", title="", extracted="", text=PAGE, digest=recorded.snapshot
        )
        match = compare(recorded, met, snapshot=PAGE.encode(), duration_ms=0)
        assert forbids(recorded, match, met, PAGE, elsewhere=True) == (expected or "another title")


def test_more_controls_and_texts_forbid_it_at_the_same_origin_only() -> None:
    newer = f'- link "Skip to content"\n- button "Theme"\n{PAGE}'.replace("1.2.3", "2.0.1")
    assert said(elsewhere=True, text=newer) == ""
    assert said(elsewhere=False, text=newer) == "another text"


def test_data_that_another_version_may_ask_for_and_is_not_given_does_not_forbid_it() -> None:
    assert said(elsewhere=True, fault="GET /rest") == ""
    assert said(elsewhere=True, fault="POST /rest") == ""
    assert said(elsewhere=False, fault="GET /rest") == "a request that went wrong"
    assert said(elsewhere=True, fault="GET /orders/7") == "a request that went wrong"


def test_a_step_that_was_to_write_there_and_was_refused_forbids_it() -> None:
    """Guard: protocol/recording/replays/caution.py, _is_broken."""
    assert said(elsewhere=True, fault="POST /rest", risk=4) == "a request that went wrong"
    assert said(elsewhere=True, fault="GET /rest", risk=4) == ""


@each(
    ("old", "new", "expected"),
    [
        ('heading "Order 7"', 'heading "Order 8"', "no heading “Order 7” any more"),
        ('cell "24.50"', 'cell "29.50"', "no cell “24.50” any more"),
        ('    - cell "Beer"', '    - cell "Cider"', "no cell “Beer” any more"),
        ("£10", "£12", "no amount £10 any more"),
        ('Name": Beer', 'Name": Wine', "another content of textbox “Name”"),
        (" [checked]", "", "another content of checkbox “Urgent”"),
        ("In stock", "Sold out", "“Sold out” in place of “In stock”"),
        ("- link", "- alert: No such order\n- link", "a new alert"),
        (
            "- paragraph: In stock",
            "- paragraph: In stock\n- paragraph: Permission denied",
            "“Permission denied”, which is new",
        ),
        (
            "- paragraph: In stock",
            "- text: Title is required\n- paragraph: In stock",
            "“Title is required”, which is new",
        ),
        ("- paragraph: In stock", "- paragraph: In stock\n- link: Try again", ""),
        ("Customer: Ann", "Customer: Bob", "something else behind “customer”"),
        ("Contract: C-7", "Contract: C-8", "something else behind “contract”"),
        ("Visits: 7", "Visits: 8", ""),
        ("ann@shop.test", "bob@shop.test", "“bob@shop.test” in place of “ann@shop.test”"),
        ("Shop 1.2.3", "Shop 2.0a4", ""),
        ('- link "Home"\n', "", ""),
        ('link "Home"', 'link "Start"', ""),
    ],
)
def test_what_contradicts_the_recorded_page(old: str, new: str, expected: str) -> None:
    text = PAGE.replace(old, new)
    assert text != PAGE
    assert contradiction(PAGE, text) == expected


def test_at_the_same_address_a_heading_without_a_number_may_be_called_otherwise() -> None:
    for old, new, expected in (("Login", "Sign in", ""), ("Order 7", "Order 8", "no heading “Order 7” any more")):
        pages = f'- heading "{old}" [level=1]', f'- heading "{new}" [level=1]'
        assert contradiction(*pages, same_address=True) == expected
        assert contradiction(*pages) == f"no heading “{old}” any more"


def test_an_id_that_changed_is_one_finding_in_all_addresses() -> None:
    known = KnownChanges()
    one, other = f"{HOME}orders/7/items/3", f"{HOME}orders/8/items/3"
    assert not known.covers_address(one, other)
    known.add_address(one, other)
    assert known.covers_address(one, other)
    assert known.covers_address(f"{HOME}orders/7/pay", f"{HOME}orders/8/pay")
    assert not known.covers_address(f"{HOME}orders/7/pay", f"{HOME}orders/9/pay")
    assert not known.covers_address(f"{HOME}orders/7/pay", f"{HOME}orders/8/delete")
    assert not known.covers_address(f"{HOME}orders/9", f"{HOME}orders/8")


NAME = Locator(role="textbox", name="Name")


def form(*more: str, value: str = "") -> Document:
    field = Element(ref="", role="textbox", name="Name", value=value, traits=Traits(tag="input", input_type="text"))
    links = tuple(Control(element=Element(ref="", role="link", name=each)) for each in more)
    return Document(title="Orders", controls=(*links, Control(element=field)))


async def test_a_replay_on_a_newer_version_writes_although_it_has_another_link() -> None:
    bench = Bench()
    bench.site.documents[HOME] = form()
    recorder = await bench.record(actions=(Goto(url=HOME), Fill(target=NAME, value="Wine")))
    bench.site.documents[f"{NEWER}/"] = form("Skip to content")
    done = await bench.replay(recorder, base_url=NEWER)
    assert [(match.performed, match.matched) for match in done.report.steps] == [(True, False), (True, False)]
    assert done.report.verdict == "partial"


async def test_it_does_not_overwrite_what_a_field_holds_there() -> None:
    """Guard: protocol/recording/replays/caution.py, contradiction."""
    bench = Bench()
    bench.site.documents[HOME] = form()
    recorder = await bench.record(actions=(Goto(url=HOME), Fill(target=NAME, value="Wine")))
    bench.site.documents[f"{NEWER}/"] = form(value="Beer of another customer")
    done = await bench.replay(recorder, base_url=NEWER)
    assert [match.error for match in done.report.steps] == ["", "replay.diverged"]
    assert "another content of textbox “Name”" in done.stopped


async def test_a_page_at_the_recorded_origin_is_another_address_when_replayed_at_another_one() -> None:
    """Guard: protocol/recording/replays/replay.py, Rebase.homeward. A test system whose links lead to the one in use."""
    bench = Bench()
    link = Control(
        element=Element(ref="", role="link", name="Form", url=f"{HOME}form"), effect=Effect(go=f"{HOME}form")
    )
    bench.site.documents[HOME] = bench.site.documents[f"{NEWER}/"] = Document(title="Shop", controls=(link,))
    bench.site.documents[f"{HOME}form"] = form()
    enter = Click(target=Locator(role="link", name="Form"))
    recorder = await bench.record(actions=(Goto(url=HOME), enter, Fill(target=NAME, value="Wine")))
    done = await bench.replay(recorder, base_url=NEWER)
    assert (done.report.verdict, done.report.reason) == ("partial", "step 2: other address")
    assert [match.error for match in done.report.steps] == ["", "", "replay.diverged"]


async def test_at_the_same_origin_another_link_still_stops_it() -> None:
    bench = Bench()
    bench.site.documents[HOME] = form()
    recorder = await bench.record(actions=(Goto(url=HOME), Fill(target=NAME, value="Wine")))
    bench.site.documents[HOME] = form("Skip to content")
    done = await bench.replay(recorder)
    assert [match.error for match in done.report.steps] == ["", "replay.diverged"]


async def test_without_evidence_of_the_element_nothing_is_written_after_a_mismatch() -> None:
    """Guard: node/sessions/shared/writes.py, Writes._against."""
    bench = Bench()
    bench.site.documents[HOME] = form()
    recorder = await bench.record(actions=(Goto(url=HOME), Fill(target=NAME, value="Wine")))
    recorder.steps[1] = msgspec.structs.replace(recorder.steps[1], evidence=None)
    bench.site.documents[f"{NEWER}/"] = form("Skip to content")
    done = await bench.replay(recorder, base_url=NEWER)
    assert [match.error for match in done.report.steps] == ["", "replay.diverged"]
    assert "nothing recorded tells the element" in done.stopped


def test_how_long_something_took_is_masked_and_a_limit_is_not() -> None:
    assert [mask.form for mask in find_masks("- paragraph: Queries took 4.27ms")] == ["time"]
    assert [mask.form for mask in find_masks("- paragraph: 12 rows in 0.031 s")] == ["time"]
    assert [mask.form for mask in find_masks("- cell: 2026-11-23.03:33:00 by Ann")] == ["date"]
    assert [mask.form for mask in find_masks('- 17m\n- listitem "Ann": 3h\n- paragraph: 2d')] == ["ago"] * 3
    assert (
        mask_text("At 12:30\n17m\nuntil 13:00")
        == mask_text("At 12:31\n3h\nuntil 14:00")
        == "At ‹time›\n‹ago›\nuntil ‹time›"
    )
    for limit in (
        '- cell "17m"',
        "- paragraph: Length 5m",
        '- textbox "Length": 5m',
        "- button: 5m",
        "- paragraph: 5 m",
    ):
        assert find_masks(limit) == (), limit
    assert find_masks("- paragraph: Ends after 30 s") == ()
    assert find_masks("- paragraph: 1.5 s at most") == ()


def test_a_cell_that_changes_by_itself_is_no_cell_that_is_missing() -> None:
    assert contradiction('- cell "‹ago›"', '- cell "since Monday"') == ""


def test_all_that_a_line_masks_is_masked() -> None:
    post = '- listitem "23 Nov 2026, 12:30": 17m'
    recorded, met = apply_masks(post, find_masks(post), post.replace("17m", "18m"))
    assert recorded == met == '- listitem "‹date›, ‹time›": ‹ago›'


def test_a_long_run_of_digits_does_not_stop_a_replay() -> None:
    """Guard: protocol/recording/replays/caution.py, contradiction. Amounts are looked for once at each number, and not at each
    digit."""
    page = f"- paragraph: {'1' * 15_000}"
    began = time.process_time()
    assert contradiction(page, f"{page}2") == ""
    assert time.process_time() - began < 1
