"""How each tool is called, and what it says. Every word of a call and every byte of an answer is noted in a dialogue."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

CALL_TIMEOUT_S: Final = 120


class Refused(Exception):
    """The tool did not do it."""


class Entry(NamedTuple):
    """A field to fill."""

    ref: str
    kind: str
    """``fill``, ``select`` or ``check``."""
    name: str
    value: str
    secret: str
    """Name of the secret to type instead of ``value``; empty if none."""


class Call(NamedTuple):
    """One call as the agent wrote it, and the answer as the agent reads it."""

    said: str
    printed: str
    seconds: float

    @property
    def size(self) -> int:
        """Bytes of both."""
        return len(self.said.encode()) + len(self.printed.encode())


class Tool(ABC):
    """One tool with a browser of its own. Errors of all calls: ``Refused``."""

    name: str
    lasting = False
    """True if ids are never given to something else and stale ones are refused: what was printed before is never wrong."""
    _ref: re.Pattern[str] = re.compile(r"\[ref=((?:f\d+)?e\d+)\]")
    _page: re.Pattern[str] = re.compile(r"^- Page URL: (\S+)", re.M)

    def __init__(self, folder: Path, secrets: dict[str, Path]) -> None:
        self.folder, self.secrets = folder, secrets
        self.calls: list[Call] = []

    def ref(self, line: str) -> str:
        """The id in a line; empty if it has none."""
        found = self._ref.search(line)
        return found[1] if found else ""

    def address(self, answer: str) -> str:
        """The address of the page, as an answer tells it."""
        found = self._page.search(answer)
        return found[1] if found else ""

    def secret(self, entry: Entry) -> str:
        """The text to type."""
        return self.secrets[entry.secret].read_text(encoding="utf-8") if entry.secret else entry.value

    def preamble(self) -> str:
        """The text that an agent reads before its first call."""
        return ""

    def find(self, words: str) -> str | None:
        """The lines with ``words``; None if the tool cannot search."""
        return None

    def more(self) -> Iterator[str]:
        """Everything else that it can show of the page."""
        yield from ()

    def download(self, ref: str) -> str:
        """Get the file behind a link."""
        return self.click(ref)

    def begin(self, secret: str, origin: str) -> None:  # noqa: B027 - most have nothing to prepare
        """Prepare for a task in which ``secret`` is typed at ``origin``; both are empty if none is."""

    @abstractmethod
    def open(self, url: str) -> str:
        """Show a page."""

    @abstractmethod
    def look(self) -> str:
        """The things that can be done."""

    @abstractmethod
    def fill(self, entries: Sequence[Entry], submit: bool) -> str:
        """Fill fields; submit: press Enter in the last one."""

    @abstractmethod
    def click(self, ref: str) -> str:
        """Click an element."""

    @abstractmethod
    def press(self, key: str) -> str:
        """Press a key."""

    @abstractmethod
    def upload(self, ref: str, file: str) -> str:
        """Give a file to a field."""

    @abstractmethod
    def wait(self, words: str) -> str:
        """Wait until a text is there."""

    @abstractmethod
    def close(self) -> None:
        """End the browser."""


class CommandLine(Tool):
    """A tool that is a command."""

    command: Sequence[str]
    env: dict[str, str] = {}  # noqa: RUF012 - each tool sets its own

    def run(self, *words: str, fails: bool = True, noted: bool = True) -> str:
        """The output of one command."""
        began = time.perf_counter()
        done = subprocess.run(
            [*self.command, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env={**os.environ, **self.env},
            timeout=CALL_TIMEOUT_S,
            check=False,
        )
        printed = done.stdout.decode(errors="replace")
        if noted:
            self.calls.append(Call(shlex.join([self.name, *words]), printed, time.perf_counter() - began))
        if fails and done.returncode:
            raise Refused(printed)
        return printed


class Trailmesh(CommandLine):
    """Ours, by commands, as an agent that uses a shell."""

    name = "trailmesh"
    lasting = True
    _ref = re.compile(r"(?<!\S)(e\d+)(?!\S)")

    def __init__(self, folder: Path, secrets: dict[str, Path], *, command: str, home: Path, token: Path) -> None:
        super().__init__(folder, secrets)
        self.command = (command,)
        self.env = {"TRAILMESH_HOME": str(home), "TRAILMESH_TOKEN_FILE": str(token)}
        self._token = str(token)
        self._opened = False
        self._given: list[str] = []

    def preamble(self) -> str:
        return self.run("skills", "get", "core", noted=False)

    def begin(self, secret: str, origin: str) -> None:
        """A secret is the owner's to give: such a task is done in a session of the owner."""
        if bool(secret) != bool(self._given):
            self.close()
        self._given = []
        self.env["TRAILMESH_TOKEN_FILE"] = "" if secret else self._token
        if secret:
            named = f"{secret}@{origin}=@{self.secrets[secret]}"
            self._given = ["--secret", named, "--allow", f"POST {origin}/**", "--approve-class", "6"]

    def live(self, *words: str, fails: bool = True) -> str:
        """The output of a command of the live session."""
        return self.run("live", *words, *(["--as-owner"] if self._given else []), fails=fails)

    def open(self, url: str) -> str:
        if self._opened:
            return self.live("navigate", url)
        self._opened = True
        return self.live("open", url, *self._given)

    def look(self) -> str:
        return self.live("table")

    def find(self, words: str) -> str | None:
        return self.live("find", words)

    def more(self) -> Iterator[str]:
        yield self.live("snapshot")

    def fill(self, entries: Sequence[Entry], submit: bool) -> str:
        given = [f"{each.ref}={'on' if each.kind == 'check' else each.value}" for each in entries if not each.secret]
        hidden = [word for each in entries if each.secret for word in ("--secret", f"{each.ref}={each.secret}")]
        return self.live("fill", *given, *hidden, *(["--submit"] if submit else []))

    def click(self, ref: str) -> str:
        return self.live("click", ref)

    def press(self, key: str) -> str:
        return self.live("press", key)

    def upload(self, ref: str, file: str) -> str:
        return self.live("upload", ref, str(self.folder / file))

    def wait(self, words: str) -> str:
        return self.live("wait", "--text", words)

    def close(self) -> None:
        if self._opened:
            self.live("close", fails=False)
        self._opened = False


class AgentBrowser(CommandLine):
    """``agent-browser``, by its native program: its launcher wants a newer Node than Debian's."""

    name = "agent-browser"
    _ref = re.compile(r"\bref=(e\d+)\b")
    _page = re.compile(r"^URL: (\S+)", re.M)

    def __init__(self, folder: Path, secrets: dict[str, Path], *, program: Path, chromium: str) -> None:
        super().__init__(folder, secrets)
        self.command = (str(program), "--session", "bench")
        self.env = {
            "AGENT_BROWSER_EXECUTABLE_PATH": chromium,
            "AGENT_BROWSER_ARGS": "--no-sandbox",
            "HOME": str(folder),
        }

    def preamble(self) -> str:
        return self.run("skills", "get", "core", noted=False)

    def open(self, url: str) -> str:
        return self.run("open", url)

    def look(self) -> str:
        return self.run("snapshot", "-i")

    def find(self, words: str) -> str | None:
        return self.run("read", "--filter", words, fails=False)

    def more(self) -> Iterator[str]:
        yield self.run("snapshot")

    def fill(self, entries: Sequence[Entry], submit: bool) -> str:
        commands = [self._entry(each) for each in entries] + ([["press", "Enter"]] if submit else [])
        if len(commands) == 1:
            return self.run(*commands[0])
        return self.run("batch", "--bail", *map(shlex.join, commands))

    def _entry(self, entry: Entry) -> list[str]:
        words = {"fill": ["fill"], "select": ["select"], "check": ["check"]}[entry.kind]
        return [*words, f"@{entry.ref}", *([] if entry.kind == "check" else [self.secret(entry)])]

    def click(self, ref: str) -> str:
        return self.run("click", f"@{ref}")

    def press(self, key: str) -> str:
        return self.run("press", key)

    def upload(self, ref: str, file: str) -> str:
        return self.run("upload", f"@{ref}", str(self.folder / file))

    def download(self, ref: str) -> str:
        return self.run("download", f"@{ref}", str(self.folder / "october.csv"))

    def wait(self, words: str) -> str:
        return self.run("wait", "--text", words)

    def close(self) -> None:
        self.run("close", fails=False)


class PlaywrightCommand(CommandLine):
    """``playwright-cli``. Its answers name files that have the page: an agent reads them."""

    name = "playwright-cli"
    _file = re.compile(r"\(([^()\s]+\.yml)\)")

    def __init__(self, folder: Path, secrets: dict[str, Path], *, program: Path, chromium: str) -> None:
        super().__init__(folder, secrets)
        self.command = ("node", str(program))
        settings = {
            "browser": {
                "isolated": True,
                "launchOptions": {"executablePath": chromium, "args": ["--no-sandbox"], "headless": True},
            }
        }
        (folder / ".playwright").mkdir(exist_ok=True)
        (folder / ".playwright" / "cli.config.json").write_text(json.dumps(settings), encoding="utf-8")
        self._skill = program.parent / "skills" / "playwright-cli" / "SKILL.md"
        self._opened = False
        self._shown = ""

    def preamble(self) -> str:
        return self._skill.read_text(encoding="utf-8")

    def _answer(self, *words: str) -> str:
        printed = self.run(*words)
        if "### Error" in printed:
            raise Refused(printed)
        self._shown = found[1] if (found := self._file.search(printed)) else self._shown
        return printed

    def open(self, url: str) -> str:
        opened, self._opened = self._opened, True
        return self._answer("goto" if opened else "open", url)

    def look(self) -> str:
        return self._answer("snapshot") if not self._shown else self._read()

    def _read(self) -> str:
        file, self._shown = self._shown, ""
        text = (self.folder / file).read_text(encoding="utf-8")
        self.calls.append(Call(f"cat {file}", text, 0.0))
        return text

    def find(self, words: str) -> str | None:
        return self._answer("find", words)

    def more(self) -> Iterator[str]:
        printed = self._answer("snapshot")
        yield self._read() if self._shown else printed

    def fill(self, entries: Sequence[Entry], submit: bool) -> str:
        answer = ""
        for each in entries:
            answer = self._answer(each.kind, each.ref, *([] if each.kind == "check" else [self.secret(each)]))
        return self.press("Enter") if submit else answer

    def click(self, ref: str) -> str:
        return self._answer("click", ref)

    def press(self, key: str) -> str:
        return self._answer("press", key)

    def upload(self, ref: str, file: str) -> str:
        self.click(ref)
        return self._answer("upload", str(self.folder / file))

    def wait(self, words: str) -> str:
        return self._answer("run-code", f"async page => await page.getByText({json.dumps(words)}).first().waitFor()")

    def close(self) -> None:
        self.run("close", fails=False)


class Server(Tool):
    """A server of MCP tools over standard input and output."""

    _count = 0

    def preamble(self) -> str:
        return json.dumps(self._ask("tools/list", {})["tools"])

    def _start(self, command: Sequence[str], env: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder, env={**os.environ, **(env or {})}
        )
        client = {"name": "benchmark", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._count and "method" not in answer:
                return answer["result"]
        raise Refused("the server has ended")

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of one answer."""
        began = time.perf_counter()
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        printed = "\n".join(part.get("text", "") for part in answer["content"])
        said = json.dumps({"name": tool, "arguments": arguments})
        self.calls.append(Call(said, printed, time.perf_counter() - began))
        if answer.get("isError"):
            raise Refused(printed)
        return printed

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)


class OurServer(Server):
    """Ours, by ``trailmesh mcp``."""

    name = "trailmesh-mcp"
    lasting = True
    _ref = Trailmesh._ref
    _session = re.compile(r"liv-[A-Z0-9]+")

    def __init__(self, folder: Path, secrets: dict[str, Path], *, command: str, home: Path, token: Path) -> None:
        super().__init__(folder, secrets)
        self._command, self._home, self._token = command, home, token
        self._opened, self._secret = "", ""
        self._begin_with()

    def _begin_with(self, *options: str) -> None:
        """Start it anew. A secret is the owner's to give."""
        env = {} if options else {"TRAILMESH_TOKEN_FILE": str(self._token)}
        self._start([self._command, "mcp", "--home", str(self._home), *options], env)

    def begin(self, secret: str, origin: str) -> None:
        if secret == self._secret:
            return
        self.close()
        self._secret = secret
        if not secret:
            self._begin_with()
            return
        named = f"{secret}@{origin}=@{self.secrets[secret]}"
        self._begin_with("--as-owner", "--secret", named, "--allow", f"POST {origin}/**", "--approve-class", "6")

    def call(self, tool: str, **arguments: Any) -> str:
        if self._opened:
            arguments = {"session": self._opened, **arguments}
        return super().call(tool, **arguments)

    def open(self, url: str) -> str:
        answer = self.call("browser_navigate", url=url)
        self._opened = self._opened or self._session.findall(answer)[0]
        return answer

    def look(self) -> str:
        return self.call("browser_snapshot", interactive=True)

    def find(self, words: str) -> str | None:
        return self.call("browser_find", text=words)

    def more(self) -> Iterator[str]:
        yield self.call("browser_snapshot")

    def fill(self, entries: Sequence[Entry], submit: bool) -> str:
        fields = [
            {"target": each.ref, **({"secret": each.secret} if each.secret else {"value": each.value or "on"})}
            for each in entries
        ]
        return self.call("browser_fill_form", fields=fields, **({"submit": True} if submit else {}))

    def click(self, ref: str) -> str:
        return self.call("browser_click", target=ref)

    def press(self, key: str) -> str:
        return self.call("browser_press_key", key=key)

    def upload(self, ref: str, file: str) -> str:
        return self.call("browser_act", action=f"upload: {{ref: {ref}, files: [{file}]}}")

    def wait(self, words: str) -> str:
        return self.call("browser_wait_for", text=words)

    def close(self) -> None:
        if self._opened:
            self.call("browser_close")
        self._opened = ""
        self._end()


class PlaywrightServer(Server):
    """``@playwright/mcp``."""

    name = "playwright-mcp"

    def __init__(self, folder: Path, secrets: dict[str, Path], *, program: Path, chromium: str) -> None:
        super().__init__(folder, secrets)
        options = ["--headless", "--no-sandbox", "--isolated", "--executable-path", chromium]
        self._start(["node", str(program), *options])

    def open(self, url: str) -> str:
        return self.call("browser_navigate", url=url)

    def look(self) -> str:
        return self.call("browser_snapshot")

    def find(self, words: str) -> str | None:
        return self.call("browser_find", text=words)

    def fill(self, entries: Sequence[Entry], submit: bool) -> str:
        last = entries[-1]
        if len(entries) == 1 and last.kind == "fill":
            more = {"submit": True} if submit else {}
            return self.call("browser_type", target=last.ref, text=self.secret(last), **more)
        kinds = {"fill": "textbox", "select": "combobox", "check": "checkbox"}
        fields = [
            {
                "target": each.ref,
                "name": each.name,
                "type": kinds[each.kind],
                "value": "true" if each.kind == "check" else self.secret(each),
            }
            for each in entries
        ]
        answer = self.call("browser_fill_form", fields=fields)
        return self.press("Enter") if submit else answer

    def click(self, ref: str) -> str:
        return self.call("browser_click", target=ref)

    def press(self, key: str) -> str:
        return self.call("browser_press_key", key=key)

    def upload(self, ref: str, file: str) -> str:
        self.click(ref)
        return self.call("browser_file_upload", paths=[str(self.folder / file)])

    def wait(self, words: str) -> str:
        return self.call("browser_wait_for", text=words)

    def close(self) -> None:
        try:
            self.call("browser_close")
        finally:
            self._end()


def chromium() -> str:
    """Debian's Chromium, for all tools."""
    found = shutil.which("chromium")
    if found is None:
        raise LookupError("no chromium: apt-get install chromium")
    return found
