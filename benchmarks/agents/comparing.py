"""All tasks with all tools, on the same sites, in turn: bytes of the dialogue, seconds, calls, what was done."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from benchmarks.agents import installing
from benchmarks.agents.chooser import Chooser, NotFound
from benchmarks.agents.sites import FORM, Sites, serving
from benchmarks.agents.tools import (
    AgentBrowser,
    Call,
    OurServer,
    PlaywrightCommand,
    PlaywrightServer,
    Refused,
    Tool,
    Trailmesh,
    chromium,
)

TASKS: Final[list[dict[str, Any]]] = tomllib.loads((Path(__file__).parent / "tasks.toml").read_text())["task"]
OURS: Final = (OurServer.name, Trailmesh.name)
"""As a server of tools, and by commands."""
FILE: Final = "report.txt"


class Done(NamedTuple):
    """One task with one tool."""

    task: str
    tool: str
    done: bool
    said: str
    """Why it was not done; empty if it was."""
    seconds: float
    calls: tuple[Call, ...]

    @property
    def size(self) -> int:
        """Bytes of the dialogue."""
        return sum(call.size for call in self.calls)


def _steps(task: dict[str, Any]) -> list[dict[str, Any]]:
    if not task.get("fields"):
        return list(task["steps"])
    entries = [{"do": field.kind, "words": field.name, "value": field.value} for field in FORM]
    return [*entries, *task["steps"]]


def perform(tool: Tool, task: dict[str, Any], sites: Sites) -> Done:
    """Do ``task`` with ``tool`` and see at the site whether it was done."""
    start = task["start"].format_map(sites.addresses)
    steps = _steps(task)
    secret = next((step["secret"] for step in steps if "secret" in step), "")
    tool.begin(secret, "{0.scheme}://{0.netloc}".format(urlsplit(start)) if secret else "")
    sites.served.clear()
    tool.calls.clear()
    said, began = "", time.perf_counter()
    try:
        Chooser(tool, {FILE: FILE}).do(start, steps)
    except (NotFound, Refused, subprocess.TimeoutExpired) as error:
        said = str(error)
    seconds = time.perf_counter() - began
    proofs = task["done"]
    served = "served" not in proofs or any(proofs["served"] in request for request in sites.served)
    printed = "printed" not in proofs or any(proofs["printed"] in call.printed for call in tool.calls)
    said = said or ("" if served else f"not served: {proofs['served']}") or ("" if printed else "not printed")
    return Done(task["name"], tool.name, not said, said, seconds, tuple(tool.calls))


@contextmanager
def _ours(make: Callable[..., Tool], folder: Path, sites: Sites) -> Iterator[Tool]:
    """A node as its owner has prepared it: the sites may be visited and what the tasks send may leave."""
    command = str(Path(sys.executable).parent / "trailmesh")
    home, config, token = folder / "home", folder / "config.yaml", folder / "agent.token"
    sends = [
        f"{sites.addresses['shop']}/cart/add",
        *(f"{sites.addresses['pages']}/{each}" for each in ("form", "upload")),
    ]
    policy = {"allow_requests": [f"POST {url}" for url in sends]}
    browser = {"sandbox": False, "upload_folders": [str(folder)], "executable": chromium()}
    config.write_text(json.dumps({"browser": browser, "policy": policy}), encoding="utf-8")  # JSON is YAML
    origins = [
        word
        for url in sites.addresses.values()
        for word in ("--origin", "{0.scheme}://{0.netloc}".format(urlsplit(url)))
    ]

    def run(*words: str) -> str:
        return subprocess.run(
            [command, *words, "--home", str(home)], check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    run("node", "init", "--config", str(config))
    node = subprocess.Popen([command, "node", "serve", "--home", str(home), "--json"], stdout=subprocess.PIPE)
    try:
        assert node.stdout is not None
        assert node.stdout.readline(), "the node serves"
        token.touch(mode=0o600)
        token.write_text(json.loads(run("agent", "add", "bench", "--scope", "live", *origins, "--json"))["token"])
        tool = make(folder, sites.secrets, command=command, home=home, token=token)
        try:
            yield tool
        finally:
            tool.close()
    finally:
        node.terminate()
        node.wait(timeout=60)


@contextmanager
def _opened(make: Callable[..., Tool], folder: Path, sites: Sites, program: Path) -> Iterator[Tool]:
    tool = make(folder, sites.secrets, program=program, chromium=chromium())
    try:
        yield tool
    finally:
        tool.close()


TOOLS: Final[dict[str, Callable[[Path, Sites], Any]]] = {
    Trailmesh.name: partial(_ours, Trailmesh),
    OurServer.name: partial(_ours, OurServer),
    PlaywrightServer.name: lambda folder, sites: _opened(PlaywrightServer, folder, sites, installing.SERVER),
    PlaywrightCommand.name: lambda folder, sites: _opened(PlaywrightCommand, folder, sites, installing.COMMAND),
    AgentBrowser.name: lambda folder, sites: _opened(AgentBrowser, folder, sites, installing.NATIVE),
}


def compared(names: Sequence[str], rounds: int = 1, only: str = "") -> tuple[list[Done], dict[str, int]]:
    """Every task with every tool, ``rounds`` times; and the bytes that an agent reads of each tool before its first call."""
    found: list[Done] = []
    read: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="agents-") as given:
        work = Path(given)
        (work / "sites").mkdir()
        with serving(work / "sites") as sites:
            tasks = [
                task
                for task in TASKS
                if only in task["name"] and task["start"].strip("{}/").split("}")[0] in sites.addresses
            ]
            for _ in range(rounds):
                with _all(names, Path(tempfile.mkdtemp(dir=work)), sites) as tools:
                    read |= {tool.name: len(tool.preamble().encode()) for tool in tools}
                    for tool in tools:  # so that no task pays for the start of a browser
                        tool.open(f"{sites.addresses['pages']}/start")
                    found += [perform(tool, task, sites) for task in tasks for tool in tools]
    return found, read


@contextmanager
def _all(names: Sequence[str], work: Path, sites: Sites) -> Iterator[list[Tool]]:
    from contextlib import ExitStack

    with ExitStack() as stack:
        tools = []
        for name in names:
            (work / name).mkdir()
            (work / name / FILE).write_text("a report\n")
            tool = stack.enter_context(TOOLS[name](work / name, sites))
            tools.append(tool)
        yield tools
