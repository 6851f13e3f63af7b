"""The Python client: each verb as a method, what its twin for programs without an event loop has, and whom it trusts."""

from __future__ import annotations

import importlib
import inspect
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

import trailmesh
from node.process.client import control_info
from node.verbs.catalogue import CATALOGUE
from scripts.client import groups
from trailmesh import sync
from trailmesh.calls import BlockingVerbs, Verbs
from trailmesh.client import address, node, page
from trailmesh.client.calling import Calls
from trailmesh.client.wire import Progress, Wire


class Told(Wire):
    """A wire that answers every call with the same value."""

    def __init__(self, value: Any) -> None:
        super().__init__(lambda: address.Address(Path("/nowhere"), ""))
        self.value = value
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def call(self, verb: str, params: dict[str, Any], progress: Progress | None) -> Any:
        """See ``Wire.call``."""
        self.calls.append((verb, params))
        return self.value


def test_every_verb_is_a_method_with_its_parameters_in_both_clients() -> None:
    for group, verbs in groups().items():
        for every, prefix in ((Verbs, ""), (BlockingVerbs, "Blocking")):
            made = importlib.import_module(f"trailmesh.calls.{group}")
            methods = getattr(made, f"{prefix}{group.capitalize()}Verbs")
            assert isinstance(inspect.getattr_static(every, group), property)
            for verb in verbs:
                name = verb.name.partition(".")[2]
                method = inspect.signature(getattr(methods, name, None) or getattr(methods, f"{name}_"))
                taken = [each.rstrip("_") for each in method.parameters if each not in ("self", "progress")]
                assert sorted(taken) == sorted(verb.takes.__struct_fields__), verb.name


async def test_a_call_sends_what_the_declaration_takes_and_decodes_what_it_gives() -> None:
    wire = Told({"session": "liv-x", "bytes": 3, "png": "", "new in a later version": 1})
    found = await Verbs(wire).live.screenshot(session="liv-x")
    assert (found.session, found.bytes, found.out) == ("liv-x", 3, "")
    for verb, params in wire.calls:
        msgspec.convert(params, CATALOGUE[verb].takes)
    wire = Told({"nothing": "of it"})
    with pytest.raises(trailmesh.MeshError) as caught:
        await Verbs(wire).session.record("", name="a.yaml")
    assert (caught.value.code, "session.record" in caught.value.message) == ("internal.fault", True)
    msgspec.convert(wire.calls[0][1], CATALOGUE["session.record"].takes)  # with the defaults of its mappings


def test_the_twin_without_an_event_loop_has_the_same_names() -> None:
    def names(kind: type[Any]) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert names(sync.Page) == names(page.Page)
    assert names(sync.Node) == names(node.Node)
    assert inspect.signature(sync.connect).parameters.keys() == inspect.signature(trailmesh.connect).parameters.keys()
    assert not any(inspect.iscoroutinefunction(each) for each in vars(sync.Page).values())


def test_a_data_directory_that_another_account_can_change_is_told_no_token(tmp_path: Path) -> None:
    (tmp_path / "control.json").write_bytes(msgspec.json.encode({"pid": os.getpid(), "token": "t"}))
    assert address.of_owner(tmp_path).token == "t"
    assert "t)" not in repr(address.of_owner(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.raises(trailmesh.MeshError) as caught:
        address.of_owner(tmp_path)
    assert caught.value.code == "node.exposed"
    tmp_path.chmod(0o700)
    (tmp_path / "control.json").write_bytes(msgspec.json.encode({"pid": 2**22 + 1, "token": "t"}))
    with pytest.raises(trailmesh.MeshError) as caught:
        address.of_owner(tmp_path)
    assert caught.value.code == "node.not_serving"
    assert control_info(tmp_path) is None


async def test_work_that_has_begun_gives_its_progress_and_then_its_result() -> None:
    async def work(progress: Progress) -> int:
        for number in range(3):
            progress({"at": number})
        return 7

    running = trailmesh.Running(work)
    assert [event["at"] async for event in running] == [0, 1, 2]
    assert (await running, await running.result()) == (7, 7)
    assert [event async for event in running] == []
    assert issubclass(type(Verbs(Told({})).node), Calls)
