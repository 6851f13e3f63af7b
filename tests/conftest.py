"""What all tests share."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.checked import hold_when_loaded
from tests.sim.loop import SimLoop

# Collecting makes millions of objects that all stay: half of its time went into looking for garbage among them.
gc.disable()

# Wall time says nothing on a busy two-core machine: bounds on work are asserted in the tests that promise them.
settings.register_profile("trailmesh", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("trailmesh")

# The tests start Playwright's driver some hundred times: with its code compiled once, each start takes a fifth less.
os.environ.setdefault("NODE_COMPILE_CACHE", str(Path(__file__).parents[1] / ".pytest_cache" / "node"))

# Whatever a verb gives in any test is what it declares.
hold_when_loaded()


def pytest_collection_finish() -> None:
    """From now on garbage is looked for among what the tests make."""
    gc.freeze()
    gc.enable()


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop of a test. With ``pytestmark = pytest.mark.virtual_time`` nothing waits, and a slow machine changes nothing.

    That is for what lies wholly in one process: sockets, threads and other processes need time to pass.
    """
    virtual = item.get_closest_marker("virtual_time") is not None
    return {"virtual": SimLoop} if virtual else {"asyncio": asyncio.new_event_loop}
