"""``make bench-risk``: what the product calls dangerous, compared with what controls of real applications change (ADR 46).

Three stages, each goes on where it was: *collect* drives the controls in a disposable copy and notes what they change (the truth; it does
not depend on the product), *judge* asks the checked-out product about the same controls and requests, *figures* counts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from pathlib import Path
from typing import Final

from playwright.async_api import async_playwright
from rich.console import Console

from adapters.browser.settings import BrowserSettings, find_executable
from benchmarks.drift.served import REPOSITORY, programs
from benchmarks.risk.collecting import collect
from benchmarks.risk.copies import Copy
from benchmarks.risk.targets import TARGETS, Target

OUT: Final = Path(os.environ.get("TRAILMESH_RISK_OUT", REPOSITORY / "risk-out")).absolute()
_CONSOLE: Final = Console(soft_wrap=True, highlight=False)


def tell(line: str) -> None:
    """Print it as it is."""
    _CONSOLE.print(line, markup=False)


def chosen(options: argparse.Namespace) -> list[Target]:
    """The targets whose name or part was given, and that are installed."""
    named = [each for each in TARGETS if not options.only or each.name in options.only or each.part in options.only]
    missing = [each.name for each in named if not programs(each.on.environment(each.side)).is_dir()]
    if missing:
        tell(f"not installed: {', '.join(missing)} (`python scripts/drift_apps.py install`)")
    return [each for each in named if each.name not in missing]


async def collected(options: argparse.Namespace) -> None:
    """Stage 1."""
    ends = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    for target in chosen(options):
        if time.monotonic() > ends:
            return
        until = min(ends, time.monotonic() + options.minutes_each * 60) if options.minutes_each else ends
        async with async_playwright() as playwright:
            settings = BrowserSettings()
            browser = await playwright.chromium.launch(
                executable_path=find_executable(settings, playwright.chromium.executable_path),
                args=["--no-sandbox"] if os.geteuid() == 0 else [],
            )
            try:
                async with Copy(target, OUT).serving() as copy:
                    await collect(browser, copy, OUT, tell, lambda until=until: time.monotonic() > until, options.pages)
            except (RuntimeError, OSError) as error:
                tell(f"{target.name}: {error}")
            finally:
                await browser.close()


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_risk", description=__doc__)
    parser.add_argument("stage", nargs="?", default="all", choices=("all", "collect", "judge", "figures"))
    parser.add_argument("--only", action="append", default=[], help="an application, or a part: development, test")
    parser.add_argument("--minutes", type=float, default=0, help="stop collecting after so many")
    parser.add_argument("--minutes-each", type=float, default=0, help="and after so many with one application")
    parser.add_argument("--pages", type=int, default=0, help="only the first pages of each application")
    options = parser.parse_args()
    asyncio.run(collected(options))


if __name__ == "__main__":
    main()
