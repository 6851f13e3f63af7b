"""Files of tools that nothing here reads are called by their names, with what can be read in their place."""

from __future__ import annotations

import pytest

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from tests.tables import each

_PYTHON, _RECORDER, _WINDOW, _CAPSULE = "--target python-pytest", "Recorder panel", "--headed", "capsule capture --from"


@each(
    ("text", "named", "instead"),
    [
        ("import { test } from '@playwright/test';\ntest('a', async ({ page }) => {});", "Playwright test", _PYTHON),
        ('const { test } = require("@playwright/test");', "Playwright test", _PYTHON),
        ("const { chromium } = require('playwright');\n(async () => {})();", "Playwright script in Type", _PYTHON),
        ("import com.microsoft.playwright.*;\npublic class A {}", "in Java", _PYTHON),
        ("using Microsoft.Playwright;\nusing var playwright = 1;", "in C#", _PYTHON),
        ("import puppeteer from 'puppeteer';", "Puppeteer", _RECORDER),
        ("describe('form', () => { it('fills', () => { cy.visit('/'); }); });", "Cypress", _PYTHON),
        ("from selenium import webdriver\n", "Selenium script", _PYTHON),
        ("import { Selector } from 'testcafe';", "TestCafe", _PYTHON),
        ("*** Settings ***\nLibrary  Browser\n", "Robot Framework", _PYTHON),
        ("Feature: Form\n  Scenario: It fills\n    Given a form\n", "Gherkin", _WINDOW),
        ("<!DOCTYPE html><title>x</title>", "HTML", _WINDOW),
        ('{"log": {"version": "1.2", "entries": []}}', "HAR", _WINDOW),
        ('{"id": "0", "tests": [], "suites": [], "urls": []}', "Selenium IDE", _RECORDER),
        (
            '{"name": "F", "steps": [{"type": "navigation", "url": "http://a/"}], "input_schema": []}',
            "workflow-use",
            _RECORDER,
        ),
        ('{"name": "F", "steps": [{"type": "input", "xpath": "id(1)"}]}', "workflow-use", _RECORDER),
        ('{"history": [{"model_output": {}, "result": []}]}', "browser-use", _WINDOW),
        ('[{"type": 4, "data": {}, "timestamp": 1}]', "rrweb", _WINDOW),
        ('{"cookies": [], "origins": []}', "storage state", _CAPSULE),
        ('[{"name": "sid", "value": "x", "domain": "a.example"}]', "list of cookies", _CAPSULE),
    ],
)
def test_a_file_of_a_known_tool_is_refused_by_name_with_what_is_read_instead(
    text: str, named: str, instead: str
) -> None:
    for lenient in (False, True):
        with pytest.raises(MeshError) as caught:
            parse_actions(text.encode(), lenient=lenient)
        assert caught.value.code == "input.invalid"
        assert named in caught.value.message and instead in caught.value.message


@each("value", ["from '@playwright/test'", "cy.visit('/')", "Feature: a", "<html>", "require('puppeteer')"])
def test_what_a_step_fills_in_may_look_like_any_program(value: str) -> None:
    file = f'start: http://a.example/\nsteps:\n  - fill: {{role: textbox, name: Code, value: "{value}"}}\n'
    assert len(parse_actions(file.encode()).actions) == 2


def test_a_recording_that_says_no_known_tool_is_refused_as_one_of_the_recorder() -> None:
    with pytest.raises(MeshError, match="a Recorder export has a list of `steps`"):
        parse_actions(b'{"name": "something"}')
