"""A text that is the same as a secret is recorded and replayed as what its author wrote, or refused when it is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.ports.browser import Browser, Page
from node.live.acting.driver import Gate
from node.live.recording.recorder import Recorder
from node.sessions.actions.action_files import parse_actions
from node.sessions.recording.forking import forked
from protocol.errors import MeshError
from protocol.page.actions.action import Fill
from protocol.page.secrets.written import LOST_TEXT
from protocol.recording.records.verdict import Verdict
from protocol.wire import cbor
from tests.e2e.test_record_replay import Node, fresh_page, handed_over, loaded, made_node, recorded_by, replayed_by
from tests.gates import unreported
from tests.given_secrets import given
from tests.sites.pages.server import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="session")]
GATE = Gate(report=unreported, approve=lambda action, risk: True)
PAGE = """<title>Larder</title><h1>larder</h1><p>Welcome, larder!</p>
<form onsubmit="event.preventDefault(); o.textContent = user.value + ' is in'"><label>User <input id=user></label>
<label>Password <input type=password></label><label>Mail <input id=mail></label><button>Sign in</button></form>
<output id=o></output><section aria-label=larder><button>Shut</button></section>
<button onclick="confirm('Close the larder?')">Ask</button><button onclick="prompt('Who?')">Name</button>
<label>Room <select id=room><option>cellar</option><option>larder</option></select></label>
<table><tr><th>Room</th><th>larder</th></tr><tr><td>larder</td><td>cool</td></tr><tr><td>attic</td><td>warm</td></tr></table>
<ul><li>larder <a href='/larder/larder.html'>larder</a></li><li>attic <a href='/attic'>Open</a></li></ul>"""
STEPS = """
start: URL/larder/larder.html
steps:
  - fill: {role: textbox, name: User, value: larder}
  - fill: {role: textbox, name: Password, value: {secret: password}}
  - fill: {role: textbox, name: Mail, value: larder@site.example}
  - fill: {role: textbox, name: User, value: larder}
  - press: {role: textbox, name: User, key: Enter}
  - wait: larder is in
  - assert: {role: textbox, name: User, value: larder}
  - assert: {role: textbox, name: Mail, sent: larder@site.example}
  - select: {role: combobox, name: Room, option: larder}
  - assert: {role: combobox, name: Room, value: larder}
  - extract: {as: head, role: heading, name: larder}
  - assert: {cell: cool, row: larder, column: larder}
  - assert: {text: Welcome, match: contains}
  - extract: {as: link, role: link, name: larder, within: {role: listitem, text: larder}}
  - click: {role: button, name: Ask}
    expect: {dialog: {kind: confirm, text: larder, accept: yes}}
  - extract: {as: shut, role: button, name: Shut, within: {role: region, name: larder}}
  - click: {role: link, name: larder}
  - wait: {address: /larder/}
  - goto: URL/larder/larder.html?q=larder&access_token=0123456789abcdef0123
  - assert: {selectors: ["css=li >> text=larder >> nth=0"], visible: yes}
"""


@pytest_asyncio.fixture(loop_scope="session")
async def nodes(tmp_path: Path) -> AsyncIterator[tuple[Node, Node]]:
    (tmp_path / "anna").mkdir()
    (tmp_path / "bruno").mkdir()
    async with made_node(tmp_path / "anna", 1) as anna, made_node(tmp_path / "bruno", 2) as bruno:
        yield anna, bruno


@pytest_asyncio.fixture(loop_scope="session")
async def site() -> AsyncIterator[PageServer]:
    server = PageServer()
    await server.start()
    server.extra["/larder/larder.html"] = PAGE
    yield server
    await server.stop()


async def recorded(
    node: Node, browser: Browser, site: PageServer, steps: str = STEPS, on: Page | None = None
) -> Recorder:
    walk = parse_actions(steps.replace("URL", site.origin).encode())
    secrets = given(at=site.origin, text=False, password="larder")
    return await recorded_by(
        node,
        browser,
        walk.actions,
        url=walk.start_url,
        expects=walk.expects,
        gate=GATE,
        secrets=secrets,
        screenshots=False,
        on=on,
    )


async def test_every_text_that_equals_a_password_is_replayed_as_it_was_written(
    browser: Browser, nodes: tuple[Node, Node], site: PageServer
) -> None:
    anna, _ = nodes
    recorder = await recorded(anna, browser, site)
    assert recorder.session.verdict is Verdict.PASS
    # Nothing that is stored tells the password, and the author is told what stands in its place.
    assert b"larder" not in cbor.encode(recorder.session) + b"".join(map(cbor.encode, recorder.steps))
    assert "the secret “password”" in recorder.steps[1].notes[-1]
    secrets = given(at=site.origin, text=False, password="larder")
    again = await replayed_by(anna, browser, recorder.session.id, gate=GATE, secrets=secrets, level="text")
    assert [(step.index, step.error) for step in again.report.steps if not step.matched] == []
    assert again.report.verdict is Verdict.PASS
    fork = forked(
        await loaded(anna, recorder.session.id), 2, "", inputs={}, secrets=secrets, tokens=anna.witness.tokens
    )
    assert isinstance(fork.actions[1], Fill) and fork.actions[1].value == "larder"


async def test_what_was_written_is_typed_nowhere_else_and_not_once_the_secret_has_changed(
    browser: Browser, nodes: tuple[Node, Node], site: PageServer
) -> None:
    """Guard: protocol/page/secrets/written.py, again."""
    anna, bruno = nodes
    head = STEPS.split("  - fill: {role: textbox, name: Password")[0]
    whole = await recorded(anna, browser, site, head)
    part = await recorded(anna, browser, site, head.replace("value: larder", "value: at the larder"))
    changed = given(at=site.origin, text=False, password="pantry-key")
    same = given(at=site.origin, text=False, password="larder")
    for recorder in (whole, part):
        await handed_over(anna, bruno, recorder.session.id)
        for node, secrets, code in (
            (anna, changed, "action.secret_changed"),
            (bruno, same, "action.secret_elsewhere"),
            (bruno, changed, "action.secret_elsewhere"),
        ):
            again = await replayed_by(node, browser, recorder.session.id, gate=GATE, secrets=secrets)
            assert again.report.steps[-1].error == code
        with pytest.raises(MeshError, match="needs the secret"):
            await replayed_by(anna, browser, recorder.session.id, gate=GATE)


OTHER_FORMS = (
    "fill: {role: textbox, name: User, value: LARDER}",
    "fill: {role: textbox, name: User, value: redral}",
    "wait: LARDER",
    "click: {role: button, name: Ask}\n    expect: {dialog: {kind: confirm, text: redral, accept: no}}",
    "click: {role: button, name: Name}\n    expect: {dialog: {kind: prompt, accept: yes, reply: larder}}",
)


async def test_a_recording_with_a_secret_in_another_form_of_writing_does_not_pass(
    browser: Browser, nodes: tuple[Node, Node], site: PageServer
) -> None:
    async with fresh_page(browser) as page:
        for step in OTHER_FORMS:
            steps = f"start: URL/larder/larder.html\nsteps:\n  - {step}\n"
            session = (await recorded(nodes[0], browser, site, steps, on=page)).session
            assert (step, session.verdict, session.reason) == (step, Verdict.PARTIAL, f"step 2: {LOST_TEXT}")
