"""Writes the results of a test run of many files: one JUnit XML, one HTML index with links to the page of each file, and one
Markdown summary.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from node.base.files import write_private
from node.sessions.showing.junit import clean
from node.sessions.showing.markdown import plain
from node.sessions.showing.report import page_policy, style
from protocol.wire.line import without_controls

_HEAD: Final = "".join(f'<th scope="col">{name}</th>' for name in ("File", "Result", "What it says", "Took"))
_MARKS: Final = {"pass": "✓", "not run": "–"} | dict.fromkeys(("differs", "refused", "trouble"), "✗")
_TAGS: Final = {"pass": "good", "differs": "bad", "refused": "bad", "trouble": "warn", "not run": "warn"}


def write_suite(folder: Path, title: str, ran: Sequence[Mapping[str, Any]]) -> None:
    """Write ``junit.xml``, ``index.html`` and ``summary.md``. ran: as ``node.process.running.Ran`` in plain data."""
    write_private(folder / "junit.xml", _junit(folder, ran))
    write_private(folder / "index.html", _index(title, ran).encode())
    write_private(folder / "summary.md", _summary(title, ran).encode())


def _junit(folder: Path, ran: Sequence[Mapping[str, Any]]) -> bytes:
    """The steps of each file, as in its own JUnit file. A file that was not begun, or whose hook failed, gets a case that
    says so.
    """
    xml = JUnitXml("trailmesh")
    for one in ran:
        made = _own_suites(folder, one)
        # A file that did not pass is never green, whatever its own JUnit file says: a hook may have failed after it.
        if not made or (one["outcome"] != "pass" and not any(suite.failures + suite.errors for suite in made)):
            made.append(_ended(one))
        for suite in made:
            xml.add_testsuite(suite)
    xml.update_statistics()
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + bytes(xml.tostring()) + b"\n"


def _ended(one: Mapping[str, Any]) -> TestSuite:
    case = TestCase(clean(one["file"]), clean(one["file"]))
    case.time = one["duration_ms"] / 1_000
    kind = {"pass": None, "differs": Failure, "not run": Skipped}.get(one["outcome"], Error)
    case.result = [kind(clean(one["said"]), clean(one["code"] or one["outcome"]))] if kind else []
    suite = TestSuite(clean(one["file"]))
    suite.add_testcase(case)
    return suite


def _own_suites(folder: Path, one: Mapping[str, Any]) -> list[TestSuite]:
    path = folder / one["junit"] if one["junit"] else None
    if path is None or not path.is_file():
        return []
    suites = list(JUnitXml.fromfile(str(path)))
    for suite in suites:
        suite.name = clean(one["file"])
    return suites


def _summary(title: str, ran: Sequence[Mapping[str, Any]]) -> str:
    """A table of the files; those that did not pass come first."""
    passed = sum(one["outcome"] == "pass" for one in ran)
    lines = [f"### {plain(title)}", "", f"**{passed} of {len(ran)} passed**", ""]
    lines += ["| | file | what it says | took |", "|---|---|---|---|"]
    for one in sorted(ran, key=lambda one: one["outcome"] == "pass"):
        tried = f", tried {one['attempts']} times" if one["attempts"] > 1 else ""
        result = f"{one['outcome']}{tried}: {plain(one['said'])}"
        took = f"{one['duration_ms'] / 1_000:.1f} s"
        lines.append(f"| {_MARKS[one['outcome']]} | {plain(one['file'])} | {result} | {took} |")
    return "\n".join(lines) + "\n"


def _index(title: str, ran: Sequence[Mapping[str, Any]]) -> str:
    passed = sum(one["outcome"] == "pass" for one in ran)
    rows = "\n".join(map(_row, ran))
    verdict = ("good", "pass") if passed == len(ran) else ("bad", "not passed")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_said(page_policy())}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{_said(title)} · trailmesh</title>
<style>{style()}</style>
</head>
<body>
<main>
<header>
<h1>{_said(title)}</h1>
<p><span class="tag {verdict[0]}">{verdict[1]}</span> {passed} of {len(ran)} passed</p>
</header>
<section>
<div class="scroll"><table>
<thead><tr>{_HEAD}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
</section>
<footer>A report of trailmesh. This file holds no script and loads nothing.</footer>
</main>
</body>
</html>
"""


def _row(one: Mapping[str, Any]) -> str:
    name = _said(one["file"])
    link = f'<a href="{_said(one["html"])}">{name}</a>' if one["html"] else name
    tried = f", tried {one['attempts']} times" if one["attempts"] > 1 else ""
    tag = f'<span class="tag {_TAGS[one["outcome"]]}">{_said(one["outcome"])}</span>'
    took = f"{one['duration_ms'] / 1_000:.1f} s"
    return f"<tr><td>{link}</td><td>{tag}{tried}</td><td>{_said(one['said'])}</td><td>{took}</td></tr>"


def _said(text: str) -> str:
    return html.escape(str(without_controls(text)))
