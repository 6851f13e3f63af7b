"""The declarations of verbs: complete, true of what the rooms give, and the same as the commands."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from node.api.node import Node
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs import Tell, Verb
from node.verbs.catalogue import CATALOGUE, GROUPS
from node.verbs.live.live_params import LiveParams
from node.verbs.nodes import audit as audit_verbs
from node.verbs.searches.explore import Freed, RemovedSearch
from node.verbs.sessions.session_results import ShownSession, WasRemoved
from protocol.errors import MeshError
from scripts.docs import commands
from scripts.docs_verbs import verbs_page
from tests.checked import ROOT, fault_of

HAND_WRITTEN: dict[str, tuple[str, ...]] = {
    "node init": (),
    "node serve": (),
    "node start": (),
    "node stop": (),
    "node logs": (),
    "skills ls": (),
    "skills get": (),
    "skills install": (),
    "node id": (),
    "node restore": (),
    "node join": ("node.join",),
    "owner add": ("owner.change",),
    "owner revoke": (),
    "approve show": ("approve.show",),
    "approve yes": ("approve.answer",),
    "approve no": (),
    "capsule probe": (),
    "capsule consent": ("capsule.terms", "capsule.consent"),
    "node pair": ("node.pair_wait", "node.pair_begin", "node.pair_confirm"),
    "events": ("events.list",),
    "task events": ("task.events",),
    "task follow": (),
    "ui": ("ui.open",),
    "explore run": ("explore.run", "explore.resume"),
    "explore show": ("explore.show", "explore.list"),
    "log audit": ("log.audit", "log.audit_peer"),
    "log verify": (),
    "mcp": (),
    "demo": (),
    "demo mesh": (),
    "demo shop": (),
    "actions check": (),
    "actions schema": (),
    "session run": (),
}
"""Commands that are not one verb each, and the verbs they stand for."""
PART_OF_ANOTHER = ("session.answer", "session.plan", "capsule.keep")
"""Verbs that a command calls while another verb runs, or in its place."""
VERBS = [verb for group in GROUPS for verb in group]
by_name = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)


def words_of_commands() -> list[str]:
    """The words of every command, and of every group that does something by itself."""
    return [
        " ".join(words)
        for words, command in commands()
        if not isinstance(command, click.Group) or command.invoke_without_command
    ]


def test_the_name_of_every_verb_and_of_every_command_is_its_own() -> None:
    assert len({verb.name for verb in VERBS}) == len(VERBS) == len(CATALOGUE)
    words = [verb.command for verb in VERBS if verb.command]
    assert len(set(words)) == len(words)


def test_every_verb_has_a_command_and_every_command_a_verb() -> None:
    declared = {verb.command: verb.name for verb in VERBS if verb.command}
    assert sorted(words_of_commands()) == sorted([*declared, *HAND_WRITTEN])
    called = [name for names in HAND_WRITTEN.values() for name in names]
    assert sorted([*declared.values(), *called, *PART_OF_ANOTHER]) == sorted(CATALOGUE)


@by_name
def test_what_a_verb_takes_has_a_schema_that_describes_every_parameter(verb: Verb) -> None:
    (reference,), schemas = msgspec.json.schema_components([verb.takes])
    schema = schemas[reference["$ref"].rpartition("/")[2]]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {field.encode_name for field in msgspec.structs.fields(verb.takes)}
    assert all(told.get("description", "").strip() for told in schema["properties"].values()), schema


@by_name
def test_what_a_verb_gives_has_a_schema(verb: Verb) -> None:
    references, schemas = msgspec.json.schema_components(verb.kinds)
    for reference in references:
        assert schemas[reference["$ref"].rpartition("/")[2]]["properties"]


@pytest.fixture(scope="module")
def page() -> str:
    """The page of verbs, made once for all of them."""
    return verbs_page("")


@by_name
def test_the_page_of_verbs_says_what_each_takes_and_gives(verb: Verb, page: str) -> None:
    _, _, rest = page.partition(f"\n### {verb.name}\n")
    section = rest.partition("\n## ")[0].partition("\n### ")[0]
    assert " ".join(verb.help.split("\n\n")[0].split()) in " ".join(section.split())
    assert all(f"| `{name}` |" in section for name in verb.takes.__struct_fields__)
    assert "Gives" in section


# --- what they give --------------------------------------------------------------------------------------------------


def made(tmp_path: Path) -> Path:
    """The home of a new node."""
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    return home


def test_a_result_that_is_not_as_declared_is_found() -> None:
    removed = RemovedSearch(search="sea-A", status="done", freed=[Freed(node="N", name="bruno", bytes=5)])
    assert fault_of((RemovedSearch,), removed) == ""
    assert fault_of((RemovedSearch,), msgspec.structs.replace(removed, status=7))
    assert fault_of((RemovedSearch,), msgspec.structs.replace(removed, freed=[{"node": "N", "name": "bruno"}]))
    assert fault_of((RemovedSearch,), {"search": "sea-A", "status": "done", "freed": [], "more": 1})
    assert fault_of((RemovedSearch,), {"search": "sea-A", "status": "done"})
    assert fault_of((ShownSession, WasRemoved), removed)


async def test_every_result_of_a_node_in_a_test_is_held_against_its_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_node(made(tmp_path)) as node:
        listed = await node.dispatch("audit.list", b"{}", lambda event: None)
        assert isinstance(listed, audit_verbs.AuditListing)

        async def other(params: Any, tell: Tell) -> Any:
            return {"rows": []}

        monkeypatch.setitem(node.verbs, "audit.list", (audit_verbs.LIST, other))
        with pytest.raises(MeshError, match="gave what it does not declare") as caught:
            await node.dispatch("audit.list", b"{}", lambda event: None)
        assert caught.value.code == "internal.fault"


def test_nodes_in_processes_of_their_own_are_held_too() -> None:
    program = (
        "import runpy, sys; sys.argv = ['tests/checked.py', '--help']\n"
        "try:\n    runpy.run_path('tests/checked.py', run_name='__main__')\nexcept SystemExit: pass\n"
        "from node.api.node import Node; print(Node.dispatch.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "held"


async def test_every_verb_that_only_looks_answers_a_new_node_as_declared(tmp_path: Path) -> None:
    async with open_node(made(tmp_path)) as node:
        for verb in VERBS:
            asks = [field for field in msgspec.structs.fields(verb.takes) if field.required]
            if verb.read_only and not asks and not issubclass(verb.takes, LiveParams):  # of a live session that is open
                await ask(node, verb)


async def ask(node: Node, verb: Verb) -> None:
    """Ask ``verb`` of ``node``; its result was held when it comes back."""
    result = await asyncio.wait_for(node.dispatch(verb.name, b"{}", lambda event: None), 120)
    assert type(result) in verb.kinds
