"""The installed package: the command ``trailmesh``, and with it everything that an installation puts on disk.

The source tree has the packages ``node``, ``protocol`` and ``adapters`` at its top. A wheel carries them in ``_source`` of this
package, so that an installation adds one name to site-packages and nothing of it replaces a file of another package
(docs/adr/0036-one-installed-package.md).

For Python programs it is the client of a running node: ``async with trailmesh.connect() as node``, and ``trailmesh.sync`` for
those without an event loop (docs/python.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trailmesh import sync
    from trailmesh.client.calling import Running
    from trailmesh.client.errors import MeshError
    from trailmesh.client.node import Node, connect
    from trailmesh.client.page import Page

__all__ = ["MeshError", "Node", "Page", "Running", "connect", "sync"]

_OF: dict[str, str] = {
    "MeshError": "errors",
    "Node": "node",
    "Page": "page",
    "Running": "calling",
    "connect": "node",
}
"""Module of the client by name. They are imported when they are used first: every command imports this package."""


def __getattr__(name: str) -> Any:
    import importlib

    if name == "sync":
        return importlib.import_module("trailmesh.sync")
    if name not in _OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.client.{_OF[name]}"), name)
