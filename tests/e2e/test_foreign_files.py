"""A Playwright script is recorded; the session is written as a test that runs, and as a recording that is recorded again."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.browser.launch.settings import BrowserSettings, find_executable
from tests.e2e.test_action_files_page import _pages
from tests.mesh_nodes import Node, cli

pytestmark = pytest.mark.browser

_SCRIPT = """\
import os
import re
from playwright.sync_api import Playwright, sync_playwright, expect


def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(headless=False)
    context = browser.new_context(viewport={{"width":900,"height":700}})
    page = context.new_page()
    page.goto("{site}/form.html")
    page.get_by_label("Your name").fill("Ann Marsh")
    page.get_by_role("textbox", name="Password").fill(os.environ["door"])
    page.get_by_role("checkbox", name="i agree").check()
    page.get_by_label("Sort by").select_option("by-price")
    page.get_by_placeholder("First and last").press("End")
    page.locator("form").filter(has_text="Speed").get_by_label("Fast").check()
    page.locator("#count").dblclick()
    expect(page.locator("#number")).to_have_text("2")
    expect(page.get_by_role("textbox", name=re.compile(r"your n", re.IGNORECASE))).to_have_value("Ann Marsh")
    expect(page.get_by_role("radio")).to_have_count(2)
    page.get_by_role("navigation").filter(has_text="Table").get_by_text("Table", exact=True).click()
    expect(page.get_by_role("heading").first).to_be_visible()

    # ---------------------
    context.close()
    browser.close()


with sync_playwright() as playwright:
    run(playwright)
"""
_BESIDE = """\
start: {site}/parts.html
steps:
  - assert: {{cell: "£2.50", row: Item 2, column: Price, role: table, name: Drinks}}
  - assert: {{cell: "£12", row: "12", column: Price, timeout_ms: 2000}}
  - click: {{role: link, name: In a new tab}}
    expect: {{tab: yes}}
  - switch_tab: 1
  - assert: {{visible: yes, role: link, name: In a new tab}}
  - switch_tab: 2
  - close_tab:
  - assert: {{visible: yes, role: link, name: In a new tab}}
"""
_RECORDING = {
    "title": "Two names",
    "steps": [
        {"type": "navigate", "url": "{site}/form.html"},
        {
            "type": "change",
            "value": "Ann",
            "selectors": [["aria/Your name"], ["[name=who]"], ["xpath///input[@name='who']"]],
        },
        {"type": "waitForExpression", "expression": "false"},
        {"type": "keyDown", "key": "Tab"},
        {"type": "keyUp", "key": "Tab"},
        {"type": "hover", "selectors": [["text/Table"]]},
        {"type": "waitForElement", "selectors": [["[name=who]"]], "properties": {"value": "Ann"}},
    ],
}


def run_by_itself(file: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """An exported test, with the Chromium of the tests."""
    found = {"CHROMIUM_PATH": find_executable(BrowserSettings()), "CHROMIUM_ARGS": "--no-sandbox", **variables}
    return subprocess.run(
        [sys.executable, str(file)], env={**os.environ, **found}, capture_output=True, text=True, timeout=60
    )


def test_a_script_is_recorded_and_a_session_becomes_a_test_that_runs(served: Node, tmp_path: Path) -> None:
    word, script, exported = tmp_path / "word.txt", tmp_path / "flow.py", tmp_path / "test_flow.py"
    word.write_text("open sesame")
    with _pages() as site:
        script.write_text(_SCRIPT.format(site=site))
        given = ("--secret", f"door@{site}=@{word}", "--approve-class", "6")
        session = served.run("session", "record", str(script), *given)
        assert (session["verdict"], session["title"], session["profile"]["width_px"]) == ("pass", "flow", 900)
        replayed = served.run("session", "replay", session["id"], *given)
        assert (replayed["report"]["verdict"], replayed["report"]["level"]) == ("pass", "asserted")

        status, out, _ = cli(
            "session", "export", session["id"], "--as", "playwright", "--out", str(exported), home=served.home
        )
        assert (status, "not written" in out) == (0, False)
        text = exported.read_text()
        assert ast.parse(text)
        assert "sesame" not in text
        assert str(Path.home()) not in text
        done = run_by_itself(exported, door="open sesame")
        assert (done.returncode, done.stderr) == (0, "")
        exported.write_text(text.replace('.to_have_text("2"', '.to_have_text("3"'))
        assert "to_have_text" in run_by_itself(exported, door="open sesame").stderr
        exported.write_text(text)
        assert served.run("session", "record", str(exported), *given)["verdict"] == "pass"

        beside = tmp_path / "beside.yaml"
        beside.write_text(_BESIDE.format(site=site))
        tabs = served.run("session", "record", str(beside))
        exported.unlink()
        status, out, _ = cli(
            "session", "export", tabs["id"], "--as", "playwright", "--out", str(exported), home=served.home
        )
        assert (status, "not written" in out) == (0, False)
        done = run_by_itself(exported)
        assert (done.returncode, done.stderr) == (0, "")
        text = exported.read_text()
        exported.write_text(text.replace('to_have_text("£2.50"', 'to_have_text("£1.50"'))
        assert "to_have_text" in run_by_itself(exported).stderr
        exported.write_text(text)
        assert served.run("session", "record", str(exported))["verdict"] == "pass"

        recording = tmp_path / "recording.json"
        recording.write_text(json.dumps(_RECORDING).replace("{site}", site))
        status, out, _ = cli("session", "record", str(recording), "--json", home=served.home)
        assert (status, json.loads(out)["error"]["detail"]["step"]) == (2, 3)
        status, out, _ = cli("session", "record", str(recording), "--lenient", "--json", home=served.home)
        told = json.loads(out)
        assert (status, told["verdict"], [one["place"] for one in told["skipped"]]) == (1, "partial", ["steps[2].type"])
        again = tmp_path / "again.json"
        status, out, _ = cli("session", "export", told["id"], "--as", "recorder", "--out", str(again), home=served.home)
        assert (status, "not written:\n  steps[2].type (waitForExpression): skipped when it was imported" in out) == (
            1,
            True,
        )
        status, out, _ = cli("session", "record", str(again), "--lenient", "--json", home=served.home)
        # An assertion is written as a step that waits for its element too.
        assert (status, json.loads(out)["steps"]) == (1, told["steps"] + 1)
        status, out, _ = cli("session", "replay", told["id"], "--json", home=served.home)
        assert (status, json.loads(out)["report"]["verdict"]) == (1, "partial")
