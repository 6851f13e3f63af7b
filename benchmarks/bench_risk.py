"""``make bench-risk``: what the product calls dangerous, compared with what controls of real applications change (ADR 45).

Each stage goes on where it was. *collect* drives the controls in a disposable copy and notes what they change. That is the truth,
and does not depend on the product: one is kept in ``benchmarks/risk/truth``, so this stage runs only if it is named, and *keep*
puts there what it found. *probe* has the checked-out product try what it leaves open where no write can leave, and checks that
nothing changed. *judge* asks it about the same controls and requests. *figures* counts. Takes an hour, so ``make bench`` does not
run it. *search*, only if it is named, has the product search each application with a capsule of the login.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
from playwright.async_api import Browser, async_playwright
from rich.console import Console

from adapters.browser.settings import BrowserSettings, find_executable
from benchmarks.__main__ import RESULTS, commit, measure
from benchmarks.drift.served import REPOSITORY, programs
from benchmarks.registry import Benchmark
from benchmarks.risk import figures
from benchmarks.risk.collecting import Map, agreement, collect, sample, signed_in
from benchmarks.risk.copies import Copy
from benchmarks.risk.driving import LANGUAGE
from benchmarks.risk.effects import effects
from benchmarks.risk.figures import Rate, RequestVerdict
from benchmarks.risk.judging import judge, languages_of, product_browser, refusal, requests_of
from benchmarks.risk.kept import Collected, Head, read, write
from benchmarks.risk.probing import probe, remembered
from benchmarks.risk.records import Book, Probed, Request, Truth, Verdict
from benchmarks.risk.searching import search
from benchmarks.risk.targets import TARGETS, TRAPS, Target

OUT: Final = Path(os.environ.get("TRAILMESH_RISK_OUT", REPOSITORY / "risk-out")).absolute()
STAGES: Final = ("all", "collect", "sample", "keep", "search", "probe", "judge", "figures")
_CONSOLE: Final = Console(soft_wrap=True, highlight=False)


def tell(line: str) -> None:
    """Print it as it is."""
    _CONSOLE.print(line, markup=False)


def chosen(options: argparse.Namespace) -> list[Target]:
    """The targets whose name or part was given, and that are installed."""
    named = [each for each in TARGETS if not options.only or each.name in options.only or each.part in options.only]
    missing = [
        each.name for each in named if each.name != TRAPS and not programs(each.on.environment(each.side)).is_dir()
    ]
    if missing:
        tell(f"not installed: {', '.join(missing)} (`python scripts/drift_apps.py install`)")
    return [each for each in named if each.name not in missing]


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
    """Stage 1."""
    for target in chosen(options):
        try:
            async with plain_browser() as browser, Copy(target, OUT).serving() as copy:
                if options.stage == "sample":
                    await sample(browser, copy, OUT, tell, languages=options.languages, each=options.each)
                else:
                    await collect(
                        browser, copy, OUT, tell, minutes=options.minutes, pages=options.pages, paths=options.paths
                    )
        except (RuntimeError, OSError) as error:
            tell(f"{target.name}: {error}")


def collected(target: Target) -> Collected | None:
    """What was collected of one application, here or else for the repository; of each action the last run."""
    file = OUT / "maps" / f"{target.name}.json"
    here = [each for each in Book(OUT / "truth.jsonl").read(Truth) if each.application == target.name]
    if not here or not file.is_file():
        return read(target.name, target.origin)
    made = msgspec.json.decode(file.read_bytes(), type=Map)
    head = Head(origin=target.origin, noise=tuple(made.noise), loads=tuple(made.loads))
    # What has become known as noise since then is noise in older runs too.
    cleaned = (msgspec.structs.replace(each, effect=tuple(effects(each.effect, frozenset()))) for each in here)
    return Collected(head=head, truths=tuple({each.key: each for each in cleaned}.values()))


def run_keep(options: argparse.Namespace) -> None:
    """Keep in the repository what was collected here."""
    for target in chosen(options):
        found = collected(target)
        if found is not None:
            tell(f"{target.name}: {len(found.truths)} actions in {write(target.name, found)}")


def verdicts_file(revision: str, kind: str) -> Path:
    """Where the verdicts of a version of the product stand."""
    return OUT / f"{kind}-{revision.replace('+', '-dirty')}.jsonl"


async def run_judge(options: argparse.Namespace, revision: str) -> None:
    """Stage 3. What is there for this version is kept, except of a version with changes that are not committed."""
    controls, asked = Book(verdicts_file(revision, "controls")), Book(verdicts_file(revision, "requests"))
    if options.again or revision.endswith("+"):
        controls.clear()
        asked.clear()
    done = {(each.application, each.language) for each in controls.read(Verdict)}
    for target in chosen(options):
        known = collected(target)
        languages = [
            each
            for each in languages_of(target, options.languages, options.language)
            if (target.name, each) not in done
        ]
        if known is None or not languages:
            continue
        truths = measured(options, known)
        async with Copy(target, OUT).serving() as copy:
            async with plain_browser() as browser:
                state = await signed_in(browser, copy)
            async with product_browser() as product, remembered(found_out(revision, target)) as history:
                for language in languages:
                    for verdict in await judge(product, copy, state, language, truths, history, tell):
                        controls.add(verdict)
        if LANGUAGE in languages:
            for each in judged_requests(target, truths, known.head.loads):
                asked.add(each)


def measured(options: argparse.Namespace, known: Collected) -> list[Truth]:
    """The truth runs of which probes and verdicts are wanted."""
    pattern = re.compile(options.paths)
    listed = [each for each in known.truths if each.language == LANGUAGE and pattern.match(each.place.path)]
    return [each for each in listed if each.effect] if options.dangerous else listed


def found_out(revision: str, target: Target) -> Path:
    """The folder of what probes of a version of the product found out about one application."""
    return OUT / "found-out" / revision.replace("+", "-dirty") / target.name


async def run_probe(options: argparse.Namespace, revision: str) -> None:
    """Stage 2. What is there for this version is kept, except of a version with changes that are not committed."""
    book = Book(verdicts_file(revision, "probes"))
    targets = chosen(options)
    if options.again or revision.endswith("+"):
        book.clear()
        for target in targets:
            shutil.rmtree(found_out(revision, target), ignore_errors=True)
    for target in targets:
        known = collected(target)
        if known is None:
            continue
        truths = measured(options, known)
        noise = frozenset(known.head.noise)
        async with Copy(target, OUT).serving() as copy, remembered(found_out(revision, target)) as history:
            async with plain_browser() as browser:
                state = await signed_in(browser, copy)
            await copy.keep()
            for language in languages_of(target, options.languages, options.language):
                await probe(copy, state, language, truths, history, book, tell, noise=noise, minutes=options.minutes)


async def run_search(options: argparse.Namespace, revision: str) -> None:
    """Searches of a minute, with and without trying what is in doubt, in turn."""
    book = Book(verdicts_file(revision, "searches"))
    for target in chosen(options):
        known = collected(target)
        if known is None:
            continue
        places = {each.place.path: each.place for each in known.truths}.values()
        async with Copy(target, OUT).serving() as copy:
            async with plain_browser() as browser:
                state = await signed_in(browser, copy)
            await copy.keep()
            for probes in (True, False):
                book.add(
                    await search(
                        copy,
                        state,
                        places,
                        tell,
                        noise=frozenset(known.head.noise),
                        seconds=int(60 * (options.minutes or 1)),
                        probes=probes,
                    )
                )


def judged_requests(target: Target, truths: list[Truth], loads: Sequence[Request]) -> Iterator[RequestVerdict]:
    """The guard's verdicts on the requests of the truth runs and of ``loads``, each form once."""
    for request, changes in requests_of(truths, loads).values():
        yield RequestVerdict(
            application=target.name, part=target.part, request=request, changes=changes, refused=refusal(request) or ""
        )


def show(controls: list[Verdict], asked: list[RequestVerdict], probes: list[Probed], *, most: int) -> None:
    """The tables, for both parts, and of the development part what was misjudged."""
    for part in ("development", "test"):
        every = [each for each in controls if each.part == part]
        # In other languages only to compare scripts: it is the same controls once more.
        listed = [each for each in every if each.language == LANGUAGE]
        tell(f"\n--- {part} part: {len(listed)} actions, {len(every) - len(listed)} in other languages")
        first = list(figures.before(listed))
        tell(f"before probing: missed {figures.missed(first)}   overblocked {figures.overblocked(first)}")
        tell(f"after probing:  missed {figures.missed(listed)}   overblocked {figures.overblocked(listed)}")
        why = ", ".join(f"{many} {name}" for name, many in figures.reasons(listed).items())
        tell(f"overblocked by reason: {why}")
        tell(f"effects of probes: {figures.probe_effects([each for each in probes if each.part == part])}")
        tell(f"missed, and not held by the guard either: {figures.escaped(listed)}")
        for line in figures.table(listed, "application", lambda each: each.application):
            tell(line)
        for line in figures.table(every, "script", lambda each: each.script, shown_min=figures.SHOWN_MIN):
            tell(line)
        for line in figures.table(listed, "action", lambda each: each.kind):
            tell(line)
        requests = [each for each in asked if each.part == part]
        tell(
            f"requests missed {figures.requests_missed(requests)}   overblocked {figures.requests_overblocked(requests)}"
        )
        if part == "development":
            for line in figures.worst(listed, most):
                tell(line)
            for line in figures.worst_requests(requests, most):
                tell(line)


def published(
    controls: list[Verdict], asked: list[RequestVerdict], probes: list[Probed]
) -> Iterator[tuple[Benchmark, Rate]]:
    """The figures of the test part."""
    probed = figures.probe_effects([each for each in probes if each.part == "test"])
    yield (
        Benchmark(
            metric="risk.probe_effects", unit="pages", target=0, direction="at most", run=lambda: float(probed.errors)
        ),
        probed,
    )
    every = [each for each in controls if each.part == "test"]
    controls = [each for each in every if each.language == LANGUAGE]
    asked = [each for each in asked if each.part == "test"]
    rates: list[tuple[str, float, Rate]] = [
        ("risk.missed_rate", 0.005, figures.missed(controls)),
        ("risk.overblock_rate", 0.05, figures.overblocked(controls)),
        ("risk.missed_before_probing_rate", 0.005, figures.missed(figures.before(controls))),
        ("risk.overblock_before_probing_rate", 0.05, figures.overblocked(figures.before(controls))),
        ("requests.missed_rate", 0.005, figures.requests_missed(asked)),
        ("requests.overblock_rate", 0.03, figures.requests_overblocked(asked)),
    ]
    for script, listed in figures.by(every, lambda each: each.script).items():
        rate = figures.missed(listed)
        if rate.of >= figures.SHOWN_MIN and script != "none":
            rates.append((f"risk.missed_rate_{script.lower()}", 0.01, rate))
    for metric, aim, rate in rates:
        yield (
            Benchmark(metric=metric, unit="share", target=aim, direction="at most", run=lambda rate=rate: rate.value),  # type: ignore[misc]
            rate,
        )


def run_figures(options: argparse.Namespace, revision: str) -> None:
    """Stage 4."""
    controls = Book(verdicts_file(revision, "controls")).read(Verdict)
    asked = Book(verdicts_file(revision, "requests")).read(RequestVerdict)
    probes = Book(verdicts_file(revision, "probes")).read(Probed)
    if options.only:
        names = {each.name for each in chosen(options)}
        controls = [each for each in controls if each.application in names]
        asked = [each for each in asked if each.application in names]
        probes = [each for each in probes if each.application in names]
    show(controls, asked, probes, most=options.worst)
    same, of = agreement(truth for target in chosen(options) if (known := collected(target)) for truth in known.truths)
    tell(f"\ntruth in other languages: {same} of {of} as in {LANGUAGE}")
    if options.publish:
        for item, rate in published(controls, asked, probes):
            counted = {"errors": rate.errors, "of": rate.of, "bound_95_per_mille": round(rate.bound * 1000)}
            if item.metric == "risk.overblock_rate":
                tested = [each for each in controls if each.part == "test" and each.language == LANGUAGE]
                counted |= figures.reasons(tested)
            counted |= {"applications": len({each.application for each in controls if each.part == "test"})}
            _CONSOLE.print(measure([item], RESULTS, revision=revision, conditions=counted))


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_risk", description=__doc__)
    parser.add_argument("stage", nargs="?", default="all", choices=STAGES)
    parser.add_argument("--only", action="append", default=[], help="an application, or a part: development, test")
    parser.add_argument("--minutes", type=float, default=0, help="collect or probe for so long with each application")
    parser.add_argument("--pages", type=int, default=0, help="only the first pages of each application")
    parser.add_argument("--paths", default="", help="only pages whose path this regular expression fits")
    parser.add_argument("--languages", type=int, default=99, help="how many further languages of each application")
    parser.add_argument("--language", action="append", default=[], help="only this one")
    parser.add_argument("--dangerous", action="store_true", help="only what changes something, for the rates by script")
    parser.add_argument(
        "--revision", default="", help="name of what is measured; the checked-out commit if it is not given"
    )
    parser.add_argument("--each", type=int, default=5, help="truth runs of each kind in each further language (sample)")
    parser.add_argument("--again", action="store_true", help="forget the verdicts of this revision first")
    parser.add_argument("--worst", type=int, default=30, help="how many misjudged forms to list")
    parser.add_argument("--publish", action="store_true", help="append the figures to benchmarks/results.jsonl")
    options = parser.parse_args()
    # Else an application would go on running, and hold its port.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    revision = options.revision or commit()
    if options.stage in ("collect", "sample"):
        asyncio.run(run_collect(options))
    if options.stage == "keep":
        run_keep(options)
    if options.stage == "search":
        asyncio.run(run_search(options, revision))
    if options.stage in ("all", "probe"):
        asyncio.run(run_probe(options, revision))
    if options.stage in ("all", "judge"):
        asyncio.run(run_judge(options, revision))
    if options.stage in ("all", "figures"):
        run_figures(options, revision)


if __name__ == "__main__":
    main()
