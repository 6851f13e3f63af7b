"""``make demo-real``: the demo's journey on Datasette and the Django admin, read-only, each checked against its own database."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from scripts import real_apps
from tests.sites.real.datasette import serve_datasette
from tests.sites.real.django_admin import serve_django_admin
from tests.sites.real.site import RealSite
from trailmesh.demo.journey import Journey, Task, finish

_Serve = Callable[[Path], AbstractAsyncContextManager[RealSite]]
SITES: dict[str, _Serve] = {"datasette": serve_datasette, "django-admin": serve_django_admin}


async def journey_on(name: str, directory: Path, seconds: int) -> bool:
    """One journey; whether every promise held and the application's own data did not change."""
    work = directory / "site"
    work.mkdir(parents=True)
    async with SITES[name](work) as site:
        before = site.digest()
        task = Task(
            title=f"{site.name} {site.version}",
            goal=site.goal,
            start_url=site.url,
            until=site.condition,
            seconds=seconds,
            unsafe_effects=lambda: int(site.digest() != before),
        )
        journey = Journey(directory, task)
        await asyncio.to_thread(journey.run)
        return finish(journey)


def main() -> int:
    """Run both journeys; the exit code says whether both held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-out/real"), help="where results go (emptied first)")
    parser.add_argument("--seconds", type=int, default=180, help="time limit of each search")
    parser.add_argument("--only", choices=sorted(SITES), help="one of the two")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    directory = options.out.absolute()
    shutil.rmtree(directory, ignore_errors=True)
    try:
        real_apps.install()
        names = [options.only] if options.only else list(SITES)
        held = [asyncio.run(journey_on(name, directory / name, options.seconds)) for name in names]
        return 0 if all(held) else 1
    except KeyboardInterrupt:
        print("interrupted: nodes and browsers were stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
