"""What a page says reaches us as text that can be written down."""

from __future__ import annotations

from adapters.browser.aria import parse
from adapters.browser.view import Facts, assemble
from protocol.page.observation import encode


def test_lone_surrogates_of_a_page_do_not_reach_an_observation() -> None:
    snapshot = '- button "a\\ud800b" [ref=e1]\n- text: x\ud801'
    view = assemble(parse(snapshot), Facts(), url="http://a/\ud800", title="\ud800", mask=lambda text: text)
    assert encode(view.observation)
    assert view.observation.elements[0].name == "a?b"
