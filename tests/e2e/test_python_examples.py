"""The examples of docs/python.md and of the README, each run as it stands against a real node and the demo shop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mesh_nodes import ROOT, Node
from tests.tables import each

pytestmark = pytest.mark.browser

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ("docs/python.md", "README.md")
EXAMPLES = [(page, number) for page in PAGES for number in range(len(_BLOCK.findall((ROOT / page).read_text())))]


@pytest.fixture(scope="module")
def token_file(served: Node, shop_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The token of an agent that may visit the shop."""
    scopes = [word for scope in ("read", "record", "replay", "live", "explore") for word in ("--scope", scope)]
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(served.run("agent", "add", "examples", *scopes, "--origin", shop_url)["token"])
    return file


@each(("page", "number"), EXAMPLES)
def test_an_example_runs_as_it_stands(
    page: str,
    number: int,
    served: Node,
    shop_url: str,
    token_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TRAILMESH_HOME", str(served.home))
    monkeypatch.setenv("TRAILMESH_TOKEN_FILE", str(token_file))
    source = _BLOCK.findall((ROOT / page).read_text())[number].replace("https://shop.example", shop_url)
    exec(compile(source, f"{page}, example {number}", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out.strip()
