"""Writes the generated pages of docs/ from the code: ``python -m scripts.docs [--check]``.

``docs/errors.md`` comes from ``protocol.errors.CODES``, ``docs/cli.md`` from the help texts of the commands,
``docs/actions.md`` from ``protocol/page/actions/action.py`` and the parser of action files,
``docs/configuration.md`` from ``node/config/settings.py``, ``docs/doors.md`` from ``node/doors/``,
``docs/verbs.md`` from the declarations in ``node/verbs/``,
``docs/protocol/limits.md`` from ``protocol/limits.py``, ``docs/protocol/messages.md`` from ``protocol/messages.py`` and
``protocol/routes.py``, ``docs/unrequested.md`` from ``adapters/browser/base/unrequested.py``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click

from node.base.statuses import exit_code
from node.cli import main as cli
from protocol import limits
from protocol.errors import CODES, Blame
from scripts.docs_actions import actions_page
from scripts.docs_configuration import configuration_page
from scripts.docs_doors import doors_page
from scripts.docs_messages import messages_page
from scripts.docs_unrequested import unrequested_page
from scripts.docs_verbs import verbs_page

ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAM: Final = "trailmesh"
_HELP_COLUMNS: Final = 100
_NOTICE: Final = "<!-- Written by `make docs`; change {source} instead. -->\n"

_EXIT_MEANS: Final = {
    0: "done",
    1: "the answer is no; of `session replay`: a step did not match the recording",
    2: "what was given has to be changed; of `session replay` also: the first step that did not match lacked an approval, "
    "an allowed request or the site of a secret",
    3: "a fault on this machine, the site could not be reached, or a login does not hold",
    4: "a fault of a peer",
    70: "a defect of trailmesh",
    130: "interrupted",
}
_BLAME_MEANS: Final = {
    Blame.CALLER: "change what you gave",
    Blame.PEER: "another node broke the protocol, or may not do what it asked",
    Blame.ENVIRONMENT: "disk, network, browser or clock",
    Blame.OUTCOME: "everything worked and the answer is no",
}

_UNITS: Final = {
    "BYTES": "bytes",
    "CHARS": "characters",
    "DAYS": "days",
    "MINUTES": "minutes",
    "MS": "milliseconds",
    "PX": "pixels",
    "S": "seconds",
}
"""The word of a limit's name that says its unit; a limit without one counts things."""
_WHOLE_NAMES: Final = {"PEER_REQUESTS_PER_S": "requests per second", "PEER_REQUESTS_BURST": "requests"}
_COMMON_OPTIONS: Final = ("home", "as_json", "help")


# --- errors ----------------------------------------------------------------------------------------------------------


def errors_page() -> str:
    """``docs/errors.md``."""
    lines = [
        _NOTICE.format(source="`protocol/errors/`"),
        "# Errors",
        "",
        "Every failure has one code. A code never changes its meaning and is never reused. `--json` prints code,",
        "message, blame, retryable, remedy and detail; without it a person sees code, message and remedy. “exit” is the",
        "exit code of a command that ends with it.",
        "",
        "| exit | means |",
        "|---|---|",
        *(f"| {status} | {meaning} |" for status, meaning in _EXIT_MEANS.items()),
        "",
        "| blame | means |",
        "|---|---|",
        *(f"| {blame.value} | {_BLAME_MEANS[blame]} |" for blame in Blame),
    ]
    family = ""
    for code, known in CODES.items():
        if code.partition(".")[0] != family:
            family = code.partition(".")[0]
            lines += [
                "",
                f"## {family}",
                "",
                "| code | blame | again? | exit | meaning | remedy |",
                "|---|---|---|---|---|---|",
            ]
        again = "yes" if known.retryable else "no"
        row = (f"`{code}`", known.blame.value, again, str(exit_code(code)), _cell(known.meaning), _cell(known.remedy))
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# --- commands --------------------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every group and command with its words, parents first: ``("node", "init")``."""
    yield (), cli
    yield from _below((), cli)


def _below(words: tuple[str, ...], group: click.Group) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group, info_name=PROGRAM)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from _below((*words, name), command)


def help_text(words: tuple[str, ...], command: click.Command) -> str:
    """What ``--help`` prints, always at the same width."""
    context = click.Context(command, info_name=" ".join((PROGRAM, *words)), max_content_width=_HELP_COLUMNS)
    context.terminal_width = _HELP_COLUMNS
    context.help_option_names = ["-h", "--help"]
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def cli_page() -> str:
    """``docs/cli.md``."""
    lines = [
        _NOTICE.format(source="`node/cli/`"),
        "# Commands",
        "",
        "What `--help` prints, for every command. While a node serves, commands talk to it over its private socket;",
        "otherwise they open its data directory themselves.",
    ]
    for words, command in commands():
        title = " ".join((PROGRAM, *words))
        lines += ["", f"{'#' * min(3, 2 + len(words) // 2)} {title}", "", "```text", help_text(words, command), "```"]
    return "\n".join(lines) + "\n"


# --- limits ----------------------------------------------------------------------------------------------------------


def limits_page() -> str:
    """``docs/protocol/limits.md``."""
    assert limits.__file__ is not None
    lines = [
        _NOTICE.format(source="`protocol/limits.py`"),
        "# Limits",
        "",
        "Beyond these, an implementation refuses. Those of the wire (CBOR, envelopes, pairing, bundles, deltas,",
        "messages) are part of the protocol: a node that sends more is refused by every other. The others are this",
        "implementation's own.",
    ]
    for line in Path(limits.__file__).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            lines += ["", f"## {line[2:].partition(' (')[0]}", "", "| limit | value | unit |", "|---|---|---|"]
        elif (found := re.match(r"([A-Z][A-Z0-9_]+): Final", line)) and found[1] not in ("KIB", "MIB"):
            name, unit = found[1], unit_of(found[1])
            lines.append(f"| `{name}` | {_amount(getattr(limits, name), unit)} | {unit} |")
    return "\n".join(lines) + "\n"


def unit_of(name: str) -> str:
    """The unit that a limit's name says."""
    if name in _WHOLE_NAMES:
        return _WHOLE_NAMES[name]
    words = name.removesuffix("_MAX").removesuffix("_MIN").split("_")
    return next((_UNITS[word] for word in reversed(words) if word in _UNITS), "count")


def _amount(value: int, counted: str) -> str:
    if counted != "bytes":
        return f"{value:,}"
    for size, unit in ((limits.MIB, "MiB"), (limits.KIB, "KiB")):
        if value % size == 0 and value < 1024 * size:
            return f"{value:,} ({value // size} {unit})"
    return f"{value:,}"


# --- writing ---------------------------------------------------------------------------------------------------------

PAGES: Final[dict[str, Callable[[], str]]] = {
    "docs/errors.md": errors_page,
    "docs/cli.md": cli_page,
    "docs/actions.md": lambda: actions_page(
        _NOTICE.format(source="`protocol/page/actions/action.py` or the examples of `docs/action-files.md`")
    ),
    "docs/configuration.md": lambda: configuration_page(_NOTICE.format(source="`node/config/settings.py`")),
    "docs/doors.md": lambda: doors_page(_NOTICE.format(source="`node/doors/` or `scripts/docs_doors.py`")),
    "docs/unrequested.md": lambda: unrequested_page(_NOTICE.format(source="`adapters/browser/base/unrequested.py`")),
    "docs/verbs.md": lambda: verbs_page(_NOTICE.format(source="`node/verbs/`")),
    "docs/protocol/limits.md": limits_page,
    "docs/protocol/messages.md": lambda: messages_page(
        _NOTICE.format(source="`protocol/messages.py` or `protocol/routes.py`")
    ),
}
"""Path below the root of the repository, and what writes it."""


def stale(root: Path = ROOT) -> list[str]:
    """The pages that are missing or differ from what the code says."""
    return [
        path
        for path, page in PAGES.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != page()
    ]


def main() -> int:
    """Write the pages, or with ``--check`` say which are stale; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    options = parser.parse_args()
    found = stale()
    for path in found:
        if options.check:
            print(f"stale: {path} (run `make docs`)", file=sys.stderr)
        else:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(PAGES[path](), encoding="utf-8")
            print(f"wrote {path}")
    return 1 if options.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
