"""Results held against the declarations of their verbs, in every node that a test runs.

``hold()`` does it in this process. Run as a program, this file is ``trailmesh`` with every result held: tests start their nodes and
commands so. A result that is not what its verb says it gives becomes ``internal.fault``, which no test expects.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
_NODE = "node.api.node"


def fault_of(kinds: tuple[Any, ...], result: Any) -> str:
    """Why ``result`` is none of ``kinds``; empty if it is one of them: it decodes as it, and nothing of it is lost or added."""
    import msgspec

    said = msgspec.json.encode(result)
    faults = []
    for kind in kinds:
        try:
            understood = msgspec.json.encode(msgspec.json.decode(said, type=kind))
        except msgspec.DecodeError as error:
            faults.append(str(error))
            continue
        if msgspec.json.decode(understood) == msgspec.json.decode(said):
            return ""
        faults.append(f"{kind.__name__} has other fields than {said[:200]!r}")
    return "; ".join(faults)


def hold(node: type[Any]) -> None:
    """Hold every result that leaves ``dispatch`` of ``node`` from now on."""
    from protocol.errors import MeshError

    dispatch = node.dispatch

    async def held(self: Any, name: str, *more: Any, **named: Any) -> Any:
        result = await dispatch(self, name, *more, **named)
        verb, _ = self.verbs[name]
        if fault := fault_of(verb.kinds, result):
            raise MeshError("internal.fault", f"{name} gave what it does not declare: {fault}")
        return result

    node.dispatch = held


class _WhenLoaded(MetaPathFinder):
    """Holds the results of nodes as soon as there can be one: most commands ask another process, and load no node."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _NODE:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None and spec.loader is not None
        spec.loader = _Held(spec.loader)
        return spec


class _Held(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        hold(module.Node)


def hold_when_loaded() -> None:
    """Hold the results of every node of this process."""
    if _NODE in sys.modules:
        hold(sys.modules[_NODE].Node)
    else:
        sys.meta_path.insert(0, _WhenLoaded())


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    hold_when_loaded()
    from node.cli import main

    main(prog_name="trailmesh")
