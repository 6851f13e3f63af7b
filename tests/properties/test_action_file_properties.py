"""Action files under arbitrary input: actions or a ``MeshError``."""

from __future__ import annotations

import contextlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
STEPS = st.fixed_dictionaries(
    {"type": st.sampled_from(["navigate", "click", "change", "keyDown", "keyUp", "scroll", "waitForElement", "hover"])},
    optional={
        "url": VALUES,
        "value": VALUES,
        "key": VALUES,
        "y": VALUES,
        "target": st.just("main"),
        "frame": VALUES,
        "selectors": st.lists(st.lists(st.text(max_size=8), max_size=2), max_size=2) | VALUES,
    },
)


@given(st.binary(max_size=200) | st.text(alphabet="steps:- goto click{}[]&*!'\"\n ", max_size=80).map(str.encode))
def test_any_bytes_are_actions_or_an_error(data: bytes) -> None:
    with contextlib.suppress(MeshError):
        parse_actions(data)


@settings(max_examples=200)
@given(st.lists(STEPS, max_size=4))
def test_any_recording_is_actions_or_an_error(steps: list[dict[str, object]]) -> None:
    with contextlib.suppress(MeshError):
        parse_actions(json.dumps({"steps": steps}).encode())
