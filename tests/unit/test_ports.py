"""Ports stay small: whoever implements or fakes one can hold it in the head."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import Any

import pytest

from adapters import ports

METHODS_MAX = 15
MODULES = [import_module(f"adapters.ports.{found.name}") for found in pkgutil.iter_modules(ports.__path__)]
PORTS = [
    found
    for module in MODULES
    for found in vars(module).values()
    if inspect.isclass(found) and getattr(found, "_is_protocol", False) and found.__module__ == module.__name__
]


def own_methods(port: Any) -> set[str]:
    """What the port itself asks for, without the ports it is the sum of."""
    return {name for name, value in vars(port).items() if callable(value) or isinstance(value, property)} - {
        name for name in vars(port) if name.startswith("_")
    }


@pytest.mark.parametrize("port", PORTS, ids=lambda port: port.__name__)
def test_a_port_has_few_methods_and_says_what_it_is(port: Any) -> None:
    assert 0 < len(own_methods(port)) <= METHODS_MAX, sorted(own_methods(port))
    assert inspect.getdoc(port)


def test_the_ports_are_found() -> None:
    assert {"Browser", "Store", "SearchStore", "PeerClient", "Clock"} <= {port.__name__ for port in PORTS}
