"""What a page says reaches us as text that can be written down."""

from __future__ import annotations

from adapters.browser.observing.aria import parse
from adapters.browser.observing.view import FrameFacts, assemble
from protocol.page.seen.observation import encode


def test_lone_surrogates_of_a_page_do_not_reach_an_observation() -> None:
    snapshot = '- button "a\\ud800b" [ref=e1]\n- text: x\ud801'
    view = assemble(parse(snapshot), FrameFacts(), url="http://a/\ud800", title="\ud800", mask=lambda text: text)
    assert encode(view.observation)
    assert view.observation.elements[0].name == "a\ufffdb"


def test_the_main_frame_is_known_where_the_outermost_nodes_have_no_ref() -> None:
    snapshot = """- text: No results
- banner:
  - button "Upload" [ref=f7e3]
  - iframe [ref=f7e4]:
    - button "Inner" [ref=f9e1]
- main:
  - link "Files" [ref=f7e5]
"""
    view = assemble(parse(snapshot), FrameFacts(), url="http://a/", title="", mask=lambda text: text)
    frames = {element.name or element.role: element.frame for element in view.observation.elements}
    assert frames == {"Upload": "", "iframe": "", "Inner": "f1", "Files": ""}
