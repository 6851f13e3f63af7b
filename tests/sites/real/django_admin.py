"""The Django admin over users and groups, for a staff member who may only look.

A journey that reads needs no login flow: the project's middleware makes every visitor the user ``reader``, who has the
view permissions of users and groups and no other. Nobody logs in, so no session and no ``last_login`` is written; the
digest leaves both out all the same, because logging in by hand (the superuser's password lies in ``workdir``) writes
them by itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tests.sites.real.site import HERE, REMEDY, RealSite, digest_of, installed, python_of, started

NAME: Final = "django"
GOAL: Final = 'Show the user "marit.holm"'
PASSWORD_FILE: Final = "superuser-password"
_READY: Final = re.compile(r"ready (http://127\.0\.0\.1:\d+)")
_PREPARED: Final = re.compile(r"prepared (\d+)")
_PROJECT: Final = HERE / "django_project.py"
_PREPARE_TIMEOUT_S: Final = 120.0


@asynccontextmanager
async def serve_django_admin(workdir: Path, *, login: bool = False) -> AsyncIterator[RealSite]:
    """The admin on loopback, its database in ``workdir``. login: it asks for a name and a password, as the real one does."""
    answer = await _prepare(workdir)
    arguments = [str(_PROJECT), "serve", str(workdir), *(["login"] if login else [])]
    async with started(NAME, arguments, ready=_READY, workdir=workdir) as url:
        yield RealSite(
            name=NAME,
            version="5.2",
            url=f"{url}/admin/",
            goal=GOAL,
            condition={"url": f"{url}/admin/auth/user/{answer}/change/*"},
            digest=partial(
                digest_of,
                workdir / "admin.sqlite3",
                tables_left_out=frozenset({"django_session"}),
                columns_left_out=frozenset({"auth_user.last_login"}),
            ),
        )


async def _prepare(workdir: Path) -> int:
    """Make the database; the id of the user the goal names."""
    if not installed(NAME):
        raise RuntimeError(f"{NAME} is not installed: {REMEDY}")
    process = await asyncio.create_subprocess_exec(
        str(python_of(NAME)),
        str(_PROJECT),
        "prepare",
        str(workdir),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(_PREPARE_TIMEOUT_S):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    match = _PREPARED.search(output.decode(errors="replace"))
    if match is None:
        raise RuntimeError(f"the database was not made:\n{output.decode(errors='replace')[-2_000:]}")
    return int(match[1])
