"""``trailmesh demo``: the commands."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from node.base.terminal import json_text
from node.cli.base.common import emit, fail
from protocol.errors import CODES, MeshError
from trailmesh.demo.mesh import CommandFailed

_BROKEN = 1
_OUT = click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where results go; created, or empty.  [default: a new directory for temporary files]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")


@click.group(name="demo", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@_OUT
@_JSON
@click.pass_context
def group(context: click.Context, out: Path | None, as_json: bool) -> None:
    """See trailmesh at work on a small shop that comes with it. Everything stays on this machine.

    Without a command: records a session on the shop, replays it, then replays it on the next release of the shop, where the
    product is sold out. Each command is printed before it runs. It takes about 15 seconds and needs no node.

    \b
    Examples:
      trailmesh demo --out results      record, replay, see the difference
      trailmesh demo mesh               three nodes search the shop together
      trailmesh demo shop --port 8321   only the shop, to try commands on
    """
    if context.invoked_subcommand is None:
        _run(lambda directory: _release(directory, as_json=as_json), out, as_json=as_json)


@group.command(name="mesh")
@click.option(
    "--latency-ms", default=150, show_default=True, type=click.IntRange(0, 5_000), help="Median latency of the shop."
)
@click.option(
    "--seconds", default=180, show_default=True, type=click.IntRange(10, 3_600), help="Time limit of the search."
)
@_OUT
@_JSON
def mesh(latency_ms: int, seconds: int, out: Path | None, as_json: bool) -> None:
    """Three nodes search the shop together, prove what they found, and an auditor replays it. Takes a minute and a half.

    Five nodes start on this machine: three search, one audits, and a stranger is refused. Then one logs in, and another uses the
    login twice, as its policy allows; after that it is refused, revoked, and the work is moved to the login. The directory of the
    results has the session, the signed report of its replay, and a page that shows the search.

    \b
    Examples:
      trailmesh demo mesh
      trailmesh demo mesh --out demo-out --json
    """
    from trailmesh.demo.exploration import explore

    _run(
        lambda directory: explore(directory, latency_ms=latency_ms, seconds=seconds, as_json=as_json),
        out,
        as_json=as_json,
    )


@group.command(name="shop")
@click.option("--port", default=0, type=click.IntRange(0, 65_535), help="Port to listen on.  [default: a free one]")
@click.option("--seed", default=0, show_default=True, help="Version of the markup; 0 is the base version.")
@click.option(
    "--drift", default=0.0, show_default=True, type=click.FloatRange(0, 1), help="Share of the wordings that change."
)
@click.option(
    "--latency-ms", default=0.0, show_default=True, type=click.FloatRange(0, 5_000), help="Median delay of an answer."
)
@click.option(
    "--sold-out", default="", metavar="SLUG", help="A product that is no longer sold: the last part of its address."
)
@click.option(
    "--effects-log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for a JSON line per state change.",
)
@click.option(
    "--ready-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the address, for scripts.",
)
@_JSON
def serve(ready_file: Path | None, as_json: bool, **options: Any) -> None:
    """Serve only the shop, on the loopback interface, until Ctrl-C. Prints its address.

    Two versions of it, with the same products, show what a release changes: start a second one with --seed, --drift or --sold-out.

    \b
    Examples:
      trailmesh demo shop --port 8321
      trailmesh demo shop --port 8322 --seed 5 --drift 0.1
      trailmesh demo shop --port 8323 --sold-out tidewater-mug-blue
    """
    from trailmesh.shop import ShopConfig, serve_until_stopped, write_ready_file

    def ready(url: str) -> None:
        if ready_file is not None:
            write_ready_file(ready_file, url)
        click.echo(json_text({"url": url}, indent=None) if as_json else url)  # one line, for scripts that wait for it

    try:
        asyncio.run(serve_until_stopped(ShopConfig(**options), ready))
    except OSError as error:
        fail(
            MeshError("input.invalid", f"the shop cannot listen on port {options['port']}: {error.strerror}"),
            as_json=as_json,
        )


def _run(demo: Callable[[Path], bool], out: Path | None, *, as_json: bool) -> None:
    """Run a demo in an empty directory, and exit with 1 if a promise did not hold. Ctrl-C ends what it started."""
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    directory = _empty(out, as_json=as_json)
    try:
        held = demo(directory)
    except CommandFailed as error:
        if error.code not in CODES:  # it wrote to the terminal itself, so its error and the remedy stand there
            click.echo(f"the demo ended at this command; its files: {directory}", err=True)
            raise SystemExit(error.status) from None
        fail(MeshError(error.code, f"{error}; the files of the demo: {directory}", **error.detail), as_json=as_json)
    except KeyboardInterrupt:
        if out is None:
            shutil.rmtree(directory, ignore_errors=True)
        fail(
            MeshError("internal.cancelled", "interrupted; the demo's nodes, browsers and sites were stopped"),
            as_json=as_json,
        )
    if not held:
        raise SystemExit(_BROKEN)


def _empty(out: Path | None, *, as_json: bool) -> Path:
    """The directory of the results. A directory with anything in it is refused: a demo never overwrites a file."""
    if out is None:
        return Path(tempfile.mkdtemp(prefix="trailmesh-demo-"))
    directory = out.absolute()
    if directory.exists() and any(directory.iterdir()):
        fail(MeshError("input.invalid", f"{directory} is not empty: name another directory"), as_json=as_json)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _release(directory: Path, *, as_json: bool) -> bool:
    from trailmesh.demo.release import ReleaseCheck

    check = ReleaseCheck(directory, lambda line: None if as_json else click.echo(line), quiet=as_json)
    result = check.run()
    emit(result, as_json=as_json, text=_show)
    return all(result["promises"].values())


def _show(result: dict[str, Any]) -> None:
    click.echo("")
    for promise, held in result["promises"].items():
        click.echo(f"{'✓' if held else '✗ BROKEN:'} {promise}")
    click.echo(f"\nThe pictures of both releases, side by side: {result['report']}")
    click.echo(f"Go on with this node: export TRAILMESH_HOME={result['directory']}/node")
    click.echo("Next: `trailmesh demo mesh` lets three nodes search the shop together.")
