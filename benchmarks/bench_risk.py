"""``make bench-risk``: what controls of real applications change, and whether what they send is held (ADR 45).

*figures*, the usual stage, asks the guard of the checked-out product about each request of the truth in ``benchmarks/risk/truth``,
and counts; it takes a few seconds and needs no application. The others run only if they are named, and go on where they were.
*collect* drives the controls in a disposable copy and notes what they change. That does not depend on the product. *keep* puts
into the repository what it found. *search* has the product search each application with a capsule of the login.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import os
import signal
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
from playwright.async_api import Browser, async_playwright
from rich.console import Console

from adapters.browser.launch.settings import BrowserSettings, find_executable
from benchmarks.__main__ import RESULTS, commit, measure
from benchmarks.drift.served import REPOSITORY, programs
from benchmarks.registry import Benchmark
from benchmarks.risk import figures
from benchmarks.risk.collecting import Map, collect, signed_in
from benchmarks.risk.copies import Copy
from benchmarks.risk.driving import Driver
from benchmarks.risk.effects import effects
from benchmarks.risk.figures import Rate, RequestVerdict
from benchmarks.risk.judging import NOBODY, judged_requests, verdicts
from benchmarks.risk.kept import Collected, Head, read, write
from benchmarks.risk.records import Book, Truth, Verdict
from benchmarks.risk.searching import search
from benchmarks.risk.targets import TARGETS, TRAPS, Target

OUT: Final = Path(os.environ.get("TRAILMESH_RISK_OUT", REPOSITORY / "risk-out")).absolute()
STAGES: Final = ("figures", "collect", "keep", "search")
_CONSOLE: Final = Console(soft_wrap=True, highlight=False)


def tell(line: str) -> None:
    """Print it as it is."""
    _CONSOLE.print(line, markup=False)


def chosen(options: argparse.Namespace) -> list[Target]:
    """The targets whose name or part was given."""
    return [each for each in TARGETS if not options.only or each.name in options.only or each.part in options.only]


def installed(options: argparse.Namespace) -> list[Target]:
    """Those of them that can be served here."""
    found = [
        each for each in chosen(options) if each.name == TRAPS or programs(each.on.environment(each.side)).is_dir()
    ]
    missing = [each.name for each in chosen(options) if each not in found]
    if missing:
        tell(f"not installed: {', '.join(missing)} (`python scripts/drift_apps.py install`)")
    return found


@asynccontextmanager
async def plain_browser() -> AsyncIterator[Browser]:
    """Chromium without anything of the product."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_executable(BrowserSettings(), playwright.chromium.executable_path),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],  # as root Chromium cannot use its sandbox
        )
        try:
            yield browser
        finally:
            await browser.close()


async def run_collect(options: argparse.Namespace) -> None:
    """Collect the truth anew."""
    for target in installed(options):
        try:
            async with plain_browser() as browser, Copy(target, OUT).serving() as copy:
                await collect(
                    browser, copy, OUT, tell, minutes=options.minutes, pages=options.pages, paths=options.paths
                )
        except (RuntimeError, OSError) as error:
            tell(f"{target.name}: {error}")


def found_here(target: Target) -> Collected | None:
    """The runs collected here for one application: for each action, the last one."""
    file = OUT / "maps" / f"{target.name}.json"
    here = [each for each in Book(OUT / "truth.jsonl").read(Truth) if each.application == target.name]
    if not here or not file.is_file():
        return None
    made = msgspec.json.decode(file.read_bytes(), type=Map)
    head = Head(origin=target.origin, noise=tuple(made.noise), loads=tuple(made.loads))
    # What has become known as noise since then is noise in older runs too.
    cleaned = (msgspec.structs.replace(each, effect=tuple(effects(each.effect, frozenset()))) for each in here)
    return Collected(head=head, truths=tuple({each.key: each for each in cleaned}.values()))


def collected(target: Target) -> Collected | None:
    """The truth of one application, collected here or else kept in the repository."""
    return found_here(target) or read(target.name, target.origin)


def run_keep(options: argparse.Namespace) -> None:
    """Keep in the repository what was collected here."""
    for target in chosen(options):
        found = found_here(target)
        if found is not None:
            tell(f"{target.name}: {len(found.truths)} actions in {write(target.name, found)}")


async def run_search(options: argparse.Namespace, revision: str) -> None:
    """A search of each application, of a minute if nothing else is said."""
    book = Book(OUT / f"searches-{revision.replace('+', '-dirty')}.jsonl")
    for target in installed(options):
        known = collected(target)
        if known is None:
            continue
        places = {each.place.path: each.place for each in known.truths}.values()
        async with plain_browser() as browser, Copy(target, OUT).serving() as copy:
            state = await signed_in(browser, copy)
            await copy.keep()
            driver = Driver(browser, copy, state, frozenset(known.head.noise))
            book.add(await search(copy, state, places, driver, tell, seconds=int(60 * (options.minutes or 1))))


def show(listed: Sequence[Verdict], asked: Iterable[RequestVerdict], truths: dict[str, Sequence[Truth]]) -> None:
    """The tables of each part; of all but the test part what was held although it changed nothing. truths: by part."""
    for part in ("development", "test", "traps"):
        here = [each for each in listed if each.part == part]
        requests = [each for each in asked if each.part == part]
        tell(f"\n--- {part} part: {len(here)} actions")
        for line in figures.table(here, truths.get(part, ())):
            tell(line)
        tell(f"requests missed {figures.requests_missed(requests)}   held {figures.requests_overblocked(requests)}")
        for line in figures.misses(here):
            tell(line)
        for line in figures.held_for_nothing(here) if part != "test" else ():
            tell(line)


def show_opened(target: Target, known: Collected) -> None:
    """Print the figures of an application under the policy that its owner needs to open its pages."""
    if target.policy != NOBODY:
        _, line, _ = figures.table(verdicts(target, known, target.policy), known.truths)
        tell(f"with what its owner allows: {line}")


def published(
    listed: Sequence[Verdict], asked: Sequence[RequestVerdict], truths: dict[str, Sequence[Truth]]
) -> Iterator[tuple[str, float, Rate]]:
    """Name, target and value of the figures of the applications."""
    for part, ending in (("test", ""), ("development", "_development")):
        here = [each for each in listed if each.part == part]
        requests = [each for each in asked if each.part == part]
        yield f"risk.missed_rate{ending}", 0.005, figures.missed(here)
        yield f"risk.overblock_rate{ending}", 0.03, figures.overblocked(here)
        yield f"risk.unperformed_rate{ending}", 0.05, figures.unperformed(truths.get(part, ()))
        yield f"requests.missed_rate{ending}", 0.005, figures.requests_missed(requests)
        yield f"requests.overblock_rate{ending}", 0.03, figures.requests_overblocked(requests)


def run_figures(options: argparse.Namespace, revision: str) -> None:
    """Judge and count."""
    listed: list[Verdict] = []
    asked: list[RequestVerdict] = []
    truths: dict[str, Sequence[Truth]] = {}
    found = [(target, known) for target in chosen(options) if (known := collected(target)) is not None]
    for target, known in found:
        listed += verdicts(target, known)
        asked += judged_requests(target, known)
        truths[target.part] = (*truths.get(target.part, ()), *known.truths)
    show(listed, asked, truths)
    for target, known in found:
        show_opened(target, known)
    if options.publish:
        for metric, aim, rate in published(listed, asked, truths):
            item = Benchmark(
                metric=metric, unit="share", target=aim, direction="at most", run=functools.partial(float, rate.value)
            )
            counted = {"errors": rate.errors, "of": rate.of, "bound_95_per_mille": round(rate.bound * 1000)}
            _CONSOLE.print(measure([item], RESULTS, revision=revision, conditions=counted))


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_risk", description=__doc__)
    parser.add_argument("stage", nargs="?", default="figures", choices=STAGES)
    parser.add_argument(
        "--only", action="append", default=[], help="an application, or a part: development, test, traps"
    )
    parser.add_argument("--minutes", type=float, default=0, help="collect or search for so long with each application")
    parser.add_argument("--pages", type=int, default=0, help="collect only the first pages of each application")
    parser.add_argument("--paths", default="", help="collect only pages whose path this regular expression fits")
    parser.add_argument(
        "--revision", default="", help="name of what is measured; the checked-out commit if it is not given"
    )
    parser.add_argument("--publish", action="store_true", help="append the figures to benchmarks/results.jsonl")
    options = parser.parse_args()
    # Else an application would go on running, and hold its port.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    revision = options.revision or commit()
    if options.stage == "figures":
        run_figures(options, revision)
    if options.stage == "collect":
        asyncio.run(run_collect(options))
    if options.stage == "keep":
        run_keep(options)
    if options.stage == "search":
        asyncio.run(run_search(options, revision))


if __name__ == "__main__":
    main()
