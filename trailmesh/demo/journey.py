"""The journey of the demos: pair, explore together, record, hand over, verify, re-drive, tamper, refuse a stranger."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from node.base.plain import counted
from protocol.recording.replays.replay import text_words
from trailmesh.demo.login import Account, LoginChapter, LoginOutcome
from trailmesh.demo.mesh import CommandFailed, MeshNode, mesh, pair

console = Console(stderr=True)

COORDINATOR, WORKERS, AUDITOR, STRANGER = "harbour", ("quay", "pier"), "notary", "stranger"


_SCHEDULED_S = 8
"""Long enough to see one node explore by itself; whether it finds what three have found is another matter."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The task to explore."""

    title: str
    goal: str
    start_url: str
    until: dict[str, Any]
    seconds: int
    unsafe_effects: Callable[[], int]
    """How many state changes the site itself has noticed."""
    account: Account | None = None
    """Of the site, for the chapter about a login; None to leave it out."""
    far: bool = False
    """True if the goal is so far away that no peer finds it before every other peer has visited a page."""


class JourneySummary(msgspec.Struct, kw_only=True):
    """``summary.json``."""

    nodes: int = 0
    joined: int = 0
    branches: int = 0
    visits_per_peer: dict[str, int] = msgspec.field(default_factory=dict)
    verified: bool = False
    scheduled: bool = False
    unsafe_effects: int = -1
    imported_verified: bool = False
    steps: int = 0
    steps_matched: int = 0
    tamper_named: str = ""
    stranger_refused: bool = False
    login: LoginOutcome | None = None
    seconds: float = 0.0
    broken_promises: list[str] = msgspec.field(default_factory=list)


class Journey:
    """One run on one site."""

    def __init__(self, directory: Path, task: Task) -> None:
        self.directory = directory
        self.task = task
        self.outcome = JourneySummary()
        self.search: dict[str, Any] = {}
        self.text = ""
        """How the text of the steps compared in the re-drive, in words."""
        self._chapter = 0

    def run(self) -> JourneySummary:
        """The whole journey; what did not hold is in ``broken_promises``."""
        began = time.monotonic()
        names = [COORDINATOR, *WORKERS, AUDITOR, STRANGER]
        with mesh(self.directory, names) as (harbour, *workers, notary, stranger):
            try:
                self._pair(harbour, workers, notary)
                self._explore(harbour)
                self._schedule(harbour)
                bundle = self._hand_over(harbour, notary)
                self._tamper(bundle, notary)
                self._refuse(stranger, harbour)
                self._log_in(harbour, workers[0])
                harbour.run("explore", "show", self.search["search"], "--html", str(self.directory / "report.html"))
            except CommandFailed as error:
                self.outcome.broken_promises.append(str(error))
        self.outcome.unsafe_effects = self.task.unsafe_effects()
        self.outcome.seconds = round(time.monotonic() - began, 1)
        self._judge()
        return self.outcome

    def _say(self, text: str) -> None:
        self._chapter += 1
        console.print(f"[bold cyan]{self._chapter}.[/] {text}", highlight=False)

    def _pair(self, harbour: MeshNode, workers: list[MeshNode], notary: MeshNode) -> None:
        self._say(f"three nodes pair by invite: {harbour.name}, {', '.join(node.name for node in workers)}")
        for worker in workers:
            pair(harbour, worker, grant="explore", grant_back="explore")
            self.outcome.joined += 1
        pair(workers[0], workers[1], grant="explore", grant_back="explore")
        console.print(f"   a node that will never see the site while it is explored pairs to audit: {notary.name}")
        pair(harbour, notary, grant="audit", grant_back="")
        self.outcome.nodes = 1 + len(workers)

    def _explore(self, harbour: MeshNode) -> None:
        task = self.task
        self._say(f"they explore {task.title} together: “{task.goal}”")
        arguments = ["--goal", task.goal, "--start", task.start_url, "--until", json.dumps(task.until)]
        peers = [part for name in WORKERS for part in ("--peer", name)]
        self.search = harbour.run("explore", "run", *arguments, *peers, "--seconds", str(task.seconds), progress=True)
        self.outcome.branches = self.search["branches"]
        self.outcome.visits_per_peer = {peer["name"]: peer["visits"] for peer in self.search["spend"]}
        self.outcome.verified = self.search["verified"]
        self._say(
            f"found by {self.search['claimed_by']}; believed only after {harbour.name} replayed it in a fresh context:"
        )
        for step in self.search["path"]:
            console.print(Text(f"   {step}"))

    def _schedule(self, harbour: MeshNode) -> None:
        task = self.task
        self._say("the search is put on a schedule, every morning at six, and run once by hand")
        arguments = ["--goal", task.goal, "--start", task.start_url, "--until", json.dumps(task.until)]
        arguments += ["--cron", "0 6 * * *", "--alone", "--seconds", str(_SCHEDULED_S)]
        made = harbour.run("explore", "schedule", "add", *arguments)
        ran = harbour.run("explore", "schedule", "run-now", made["schedule"], progress=True)
        (kept,) = harbour.run("explore", "schedule", "show", made["schedule"])["runs"]
        self.outcome.scheduled = kept == ran and kept["status"] in ("done", "failed") and bool(kept["spend"])
        reason = f" ({kept['reason']})" if kept["reason"] else ""
        visits = counted(sum(peer["visits"] for peer in kept["spend"]), "visit")
        console.print(f"   it had {_SCHEDULED_S} s, and its record says: {kept['status']}{reason}, {visits}")

    def _hand_over(self, harbour: MeshNode, notary: MeshNode) -> Path:
        session = self.search["session"]
        bundle = self.directory / "session.tmsession"
        report = self.directory / "replay-report.cose"
        self._say(f"the session leaves as a signed bundle; {notary.name} verifies it and drives it again")
        harbour.run("session", "export", session, "--out", str(bundle))
        imported = notary.run("session", "import", str(bundle))
        checked = notary.run("session", "verify", session)
        self.outcome.imported_verified = imported["manifest"] == checked["manifest"]
        replayed = notary.run("session", "replay", session, "--out", str(report), progress=True)
        self.outcome.steps = len(replayed["described"])
        returned = harbour.run("session", "verify", str(report))
        self.outcome.steps_matched = returned["matched"]
        self.text = text_words(returned["text"])
        matched = f"{returned['matched']} of {returned['steps']} steps matched; {self.text}"
        console.print(f"   {harbour.name} verified the report signed by {returned['signer_name']}: {matched}")
        return bundle

    def _tamper(self, bundle: Path, notary: MeshNode) -> None:
        self._say("one byte of the bundle is changed")
        data = bytearray(bundle.read_bytes())
        with zipfile.ZipFile(bundle) as archive:
            entry = archive.getinfo("steps/000002.cbor")
        # Any byte would do; this one lies in the middle of a recorded step: after the local header and the name.
        data[entry.header_offset + 30 + len(entry.filename) + entry.file_size // 2] ^= 1
        tampered = self.directory / "tampered.tmsession"
        tampered.write_bytes(data)
        try:
            notary.run("session", "verify", str(tampered))
        except CommandFailed as error:
            self.outcome.tamper_named = str(error.detail.get("element", ""))
            console.print(Text(f"   refused: {error.code}, {self.outcome.tamper_named}"))

    def _refuse(self, stranger: MeshNode, harbour: MeshNode) -> None:
        self._say("a node nobody paired with tries to send a delta")
        key = harbour.run("node", "status")["public_key"]
        answer = stranger.run("node", "knock", harbour.address, "--key", key)
        self.outcome.stranger_refused = answer["refused"]
        console.print(Text(f"   {answer['code']}: {answer['message']}"))

    def _log_in(self, harbour: MeshNode, worker: MeshNode) -> None:
        if self.task.account is None:
            return
        self._say(f"{harbour.name} logs in once, and {worker.name} uses the login under its policy")
        chapter = LoginChapter(self.directory, self.task.account, lambda line: console.print(line, highlight=False))
        self.outcome.login = chapter.outcome
        chapter.run(harbour, worker)
        self.outcome.broken_promises += [name for name, held in chapter.promises().items() if not held]

    def _judge(self) -> None:
        done = self.outcome
        shares = self.search.get("spend", [])
        visits = done.visits_per_peer.values()
        # A lucky search is over before each has had a turn.
        lucky = sum(visits) < done.nodes
        promises = {
            "two peers joined": done.joined == len(WORKERS),
            "every peer was given a branch": len(shares) == done.nodes and all(peer["leases"] for peer in shares),
            "every peer explored": all(visits) or lucky or not self.task.far,
            "the goal was reached and verified": done.verified,
            "the scheduled search ran and was written down": done.scheduled,
            "nothing unsafe happened on the site": done.unsafe_effects == 0,
            "the imported bundle verified": done.imported_verified,
            "every step matched in the re-drive": done.steps > 0 and done.steps == done.steps_matched,
            "the changed byte was named": done.tamper_named.startswith(("steps/", "blobs/")),
            "the stranger was refused": done.stranger_refused,
        }
        done.broken_promises += [name for name, held in promises.items() if not held]

    def show(self) -> None:
        """The table at the end."""
        done = self.outcome
        table = Table(title=f"{self.task.title}: {done.seconds:.0f} s", title_justify="left")
        for column in ("node", "role", "leases", "visits", "steps", "spent"):
            table.add_column(column)
        for peer in self.search.get("spend", []):
            table.add_row(
                peer["name"],
                peer["role"],
                str(peer["leases"]),
                str(peer["visits"]),
                str(peer["steps"]),
                f"{peer['cost_ms'] / 1000:.1f} s",
            )
        out = Console()
        out.print(table)
        out.print(
            f"verified {done.verified} · unsafe effects {done.unsafe_effects} · steps matched {done.steps_matched}/{done.steps} · "
            f"{self.text or 'no text compared'} · "
            f"tampering named {done.tamper_named or 'no'} · stranger refused {done.stranger_refused}",
            highlight=False,
        )
        if done.login is not None:
            out.print(
                f"login used {done.login.uses} times elsewhere, then {done.login.refused or 'not refused'} · "
                f"revoked: {done.login.revoked or 'not refused'} · work where the login is: {done.login.work or 'none'}",
                highlight=False,
            )
        for promise in done.broken_promises:
            out.print(Text(f"BROKEN: {promise}", style="bold red"))
        out.print(Text(f"report: {self.directory / 'report.html'}   summary: {self.directory / 'summary.json'}"))


def finish(journey: Journey, *, as_json: bool = False) -> bool:
    """Write ``summary.json``, and print it or the table; whether every promise held."""
    summary = json.dumps(msgspec.to_builtins(journey.outcome), indent=2)
    (journey.directory / "summary.json").write_text(summary + "\n")
    if as_json:
        print(summary)
    else:
        journey.show()
    return not journey.outcome.broken_promises
