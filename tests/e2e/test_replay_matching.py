"""What was matched as a whole when it was recorded is matched so in a replay: real Chromium, a release without the record."""

from __future__ import annotations

import pytest

from adapters.ports.browser import Browser
from node.live.acting.driver import Gate
from node.sessions.actions.action_files import parse_actions
from tests.e2e.test_record_replay import Node, fresh_page, recorded_by, replayed_by
from tests.gates import unreported
from tests.sites.pages.server import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="session")]
GATE = Gate(report=unreported, approve=lambda action, risk: True)


def table(*rows: str) -> str:
    cells = "".join(f"<tr><td>{row}</td><td>in stock</td><td><a href=#{row[-1]}>Open</a></td></tr>" for row in rows)
    return f"<table><tr><th>Part</th><th>State</th><th>Go</th></tr>{cells}</table>"


def cards(*names: str) -> str:
    return "<ul>" + "".join(f"<li><b>{name}</b> <a href=#{name}>Open</a></li>" for name in names) + "</ul>"


CELL = "assert: {cell: in stock, row: Pump 2, column: State, timeout_ms: 100}"
CARD = "extract: {as: x, role: link, name: Open, within: {role: listitem, text: Ann}}"


def seen(selector: str) -> str:
    return f"assert: {{selectors: ['{selector}'], visible: yes, timeout_ms: 100}}"


FIELDS = "<label>Street <input></label><input placeholder='Say it'><i title=Tip>t</i>"
OTHERS = "<label>Street two <input></label><input placeholder='Say it again'><i title='Tip two'>t</i>"
DIALOG = """click: {role: button, name: Go}
    expect: {dialog: {kind: confirm, text: Pump 2, accept: yes}}"""
SIZE = "assert: {role: combobox, name: Size, timeout_ms: 100, "
SIZES = "<label>Size <select><option value=2>1</option><option value=1 selected>2</option></select></label>"


def asking(message: str) -> str:
    return f"<button onclick=\"confirm('{message}')\">Go</button>"


"""A step, the page that it is recorded on, a page on which its replay still holds, and one on which it must not."""
ROWS: list[tuple[str, str, str, str]] = [
    (CELL, table("Pump 1", "Pump 2", "Pump 20"), table("Pump 20", "Pump 2"), table("Pump 1", "Pump 20")),
    # By a part: in the same cell again, and in no other that has the part too.
    (CELL, table("Pump 1", "Pump 2 (old)"), table("Pump 2 (old)", "Pump 3"), table("Pump 20", "Pump 1")),
    (CELL, table("Pump 1", "Pump 2 (old)"), table("Pump 3", "Pump 2 (old)"), table("Pump 2 (new)")),
    (CELL, table("Pump 2, 3 minutes ago"), table("Pump 2, 1 hour ago"), table("Pump 2, sold")),
    (CARD, cards("Ann", "Annika"), cards("Annika", "Ann"), cards("Annika")),
    (CARD, cards("Ann"), cards("Ann", "Bo"), cards("Annika")),
    (CARD, cards("Ann Marsh"), cards("Bo", "Ann Marsh"), cards("Ann Lee")),
    (CARD.replace("extract: {as: x,", "click: {"), cards("Ann"), cards("Bo", "Ann"), cards("Annika")),
    (seen("text=Pump 2"), "<p>Pump 2</p>", "<p>x</p><p>Pump 2</p>", "<p>Pump 20</p>"),
    (seen("text=Pump 2"), "<p>The Pump 2 runs</p>", "<p>A Pump 2 runs</p>", "<p>The Pump 20 runs</p>"),
    (seen('role=row[name*="Ann" i]'), "<table><tr><td>Ann</table>", "<table><tr><td>Ann</table>",
     "<table><tr><td>Annika</table>"),
    (seen("css=li:has-text(\"Ann\") >> text=Open"), cards("Ann"), cards("Bo", "Ann"), cards("Annika")),
    (seen("css=li:has-text(\"Ann\") a"), cards("Ann"), cards("Bo", "Ann"), cards("Annika")),
    (seen("css=ul > li:has-text(''Ann 2''):visible a:text(\"Open\")"), cards("Ann 2"), cards("Bo", "Ann 2"), cards("Ann 20")),
    (seen("css=p:text(\"Pump 2\")"), "<p>Pump 2</p>", "<p>x</p><p>Pump 2</p>", "<p>Pump 2 is gone</p>"),
    (seen("css=p:text(\"Pump 2\")"), "<p>The <b>Pump 2</b> runs</p><p>Pump 2 runs</p>".replace("<b>Pump 2</b>", "x"),
     "<p>A Pump 2 runs</p>", "<p>A Pump 20 runs</p>"),
    (seen("label=street"), FIELDS, FIELDS + "x", OTHERS),
    (seen("placeholder=say it"), FIELDS, FIELDS + "x", OTHERS),
    (seen("title=tip"), FIELDS, FIELDS + "x", OTHERS),
    (seen("css=:root >> internal:label=\"street\"i"), FIELDS, FIELDS + "x", OTHERS),
    ("extract: {as: x, role: button, name: Save}", "<button>Save</button><button>SAVE</button>",
     "<button>SAVE</button><button>Save</button>", "<button>SAVE</button>"),
    (DIALOG, asking("Show Pump 2?"), asking("Show Pump 2 now?"), asking("Show Pump 20?")),
    (DIALOG, asking("Pump 2"), asking("Pump  2"), asking("Pump 2 and all others")),
    (SIZE + "sent: '1'}", SIZES, SIZES + "x", SIZES.replace("value=1", "value=3")),
    (SIZE + "sent: '1'}", SIZES, SIZES + "x", SIZES.replace(" selected", "")),
    (SIZE + "value: '2'}", SIZES, SIZES.replace("value=1", "value=3"), SIZES.replace(" selected", "")),
    ("wait: {text: Saved, timeout_ms: 400}", "<p>Saved</p>", "<p>x</p><p>saved</p>", "<p>Unsaved</p>"),
    ("wait: {text: Saved, timeout_ms: 400}", "<p>Saved at noon</p>", "<p>Saved now</p>", "<p>Unsaved now</p>"),
]  # fmt: skip
OPENED = "start: URL/release.html\nsteps:\n  - "


async def test_personal_data_in_what_a_text_stood_in_and_in_notes_is_stored_and_shown_as_tokens(
    browser: Browser, node: Node, site: PageServer
) -> None:
    field = "<label>To <input maxlength=24></label>"
    site.extra["/release.html"] = table("Pump 1", "Pump 2 (ann@site.example)") + field
    steps = CELL + "\n  - fill: {role: textbox, name: To, value: 'ann@site.example, bo@site.example'}"
    walk = parse_actions((OPENED + steps).replace("URL", site.origin).encode())
    recorder = await recorded_by(
        node, browser, walk.actions, url=walk.start_url, expects=walk.expects, gate=GATE, screenshots=False
    )
    cell, fill = recorder.steps[1:]
    assert cell.evidence is not None and "(‹email:" in cell.evidence.fits[0].text
    assert "shows “‹email:" in fill.notes[0]
    again = await replayed_by(node, browser, recorder.session.id, gate=GATE)
    assert [step.held and step.performed for step in again.report.steps] == [True, True, True]
    assert again.noticed.notes == {3: fill.notes}


async def test_a_text_of_a_target_is_matched_as_it_was_recorded(browser: Browser, node: Node, site: PageServer) -> None:
    wrong: list[str] = []
    async with fresh_page(browser) as on:
        for step, recorded, same, other in ROWS:
            site.extra["/release.html"] = f"<title>Release</title>{recorded}"
            walk = parse_actions((OPENED + step).replace("URL", site.origin).encode())
            plain = {"gate": GATE, "screenshots": False}
            recorder = await recorded_by(
                node, browser, walk.actions, url=walk.start_url, expects=walk.expects, on=on, **plain
            )
            for page, holds in ((same, True), (other, False)):
                site.extra["/release.html"] = f"<title>Release</title>{page}"
                replayed = await replayed_by(node, browser, recorder.session.id, on=on, gate=GATE)
                last = replayed.report.steps[-1]
                if (last.index == 2 and last.performed and last.held) is not holds:
                    wrong.append(f"{step}: {page}: {last.error or last}")
    assert wrong == []
