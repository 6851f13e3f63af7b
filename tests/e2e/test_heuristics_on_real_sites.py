"""The heuristics on two applications nobody here wrote: they reach their goals and their data stay as they were."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from adapters.ports.browser import Browser
from protocol.goal.condition import parse
from tests.e2e.greedy import walk
from tests.sites.real.datasette import serve_datasette
from tests.sites.real.django_admin import PASSWORD_FILE, serve_django_admin
from tests.sites.real.site import REMEDY, RealSite, installed

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(
        not (installed("datasette") and installed("django")) and os.environ.get("CI") != "true", reason=REMEDY
    ),
]

Serve = Callable[[Path], AbstractAsyncContextManager[RealSite]]


@pytest.mark.parametrize("serve", [serve_datasette, serve_django_admin])
async def test_a_real_application_is_read_and_left_as_it_was(browser: Browser, serve: Serve, tmp_path: Path) -> None:
    async with serve(tmp_path) as site:
        before = site.digest()
        await walk(browser, site.url, site.goal, parse(site.condition), steps_max=12)
        assert site.digest() == before


async def test_the_superusers_password_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    async with serve_django_admin(tmp_path):
        assert (tmp_path / PASSWORD_FILE).stat().st_mode & 0o777 == 0o600
