"""Builds commands from the declarations of verbs: names, arguments, options, help.

A ``CommandPresentation`` adds the presentation of a result.
"""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click
import msgspec

from node.cli.base.as_task import task_option
from node.cli.base.common import Result, agree, common_options, emit, is_session_id, run_verb, utc_seconds
from node.cli.base.render import shows
from node.cli.base.secret_sources import only_needed, read_secrets
from node.cli.base.text_files import read_text
from node.verbs import Verb
from protocol.errors import MeshError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class CommandPresentation:
    """The presentation of a verb as a command: output, progress lines, confirmation, exit code."""

    text: Callable[[Any], None] | None = None
    """Prints a result that needs more than its fields, such as a picture; by default the fields are printed as they are
    declared.
    """
    says: str = ""
    """A line to print instead of the fields: ``removed {schedule}``."""
    after: Callable[[Any], str] | None = None
    """A line to print below the fields; empty for none."""

    line: Callable[[Result], str] | None = None
    """One line for a progress event; empty for none."""
    prepare: Callable[[Result, Result], None] | None = None
    """Completes the parameters (first argument) from the parsed options (second). Errors: ``input.invalid``."""
    status: Callable[[Any], int] = lambda result: 0
    """The exit code of a result."""
    more: tuple[Callable[[Any], Any], ...] = ()
    """Options of the command that its verb lacks; ``prepare`` and ``call`` find their values among the parsed options."""
    needs: Callable[[str | None, Result], frozenset[str] | None] | None = None
    """The names of the secrets that the work will use, from home and parsed options, so that nobody is asked for another secret.
    None for all given secrets. Errors: as the verb.
    """
    call: Callable[[str | None, str, Result, Result, Callable[[Result], str] | None], Any] | None = None
    """Called instead of ``run_verb``, with home, verb, parameters, parsed options and ``line``."""
    confirm: str = ""
    """A question that the user must confirm before the call; ``--yes`` confirms it in advance."""

    def printer(self, verb: Verb) -> Callable[[Any], None]:
        """Prints a result of ``verb``."""
        if self.says:
            return lambda result: click.echo(self.says.format_map(result))
        return self.text or functools.partial(self._fields, verb)

    def _fields(self, verb: Verb, result: Any) -> None:
        shows(verb)(result)
        if self.after is not None and (line := self.after(result)):
            click.echo(line)


def commands_of(verbs: tuple[Verb, ...], looks: Mapping[str, CommandPresentation]) -> list[click.Command]:
    """The commands of all ``verbs`` that have one, in the same order. looks: by name of the verb."""
    return [command_of(verb, looks.get(verb.name, CommandPresentation())) for verb in verbs if verb.command]


def takes(verb: Verb) -> Callable[[Any], Any]:
    """Add the arguments and options of ``verb`` to its command, or to a command that does more than call the verb."""

    def decorate(command: Any) -> Any:
        # click shows the option that was added last first, so they are added in reverse order.
        for field in reversed(_fields(verb)):
            if field.shown:
                command = field.decorate(command)
        return command

    return decorate


def given(verb: Verb, typed: Result) -> Result:
    """The parameters of ``verb`` from the command line, without those that the command does not offer. Errors:
    ``input.invalid``.
    """
    return {field.name: field.read(typed[field.name]) for field in _fields(verb) if field.name in typed}


def command_of(verb: Verb, look: CommandPresentation) -> click.Command:
    """The command that calls ``verb``."""

    def run(home: str | None, as_json: bool, yes: bool = False, **typed: Any) -> None:
        if look.confirm:
            agree(look.confirm.format(**typed), yes=yes)
        params = given(verb, _asking(look, home, typed))
        if look.prepare is not None:
            look.prepare(params, typed)
        if look.call is not None:
            result = look.call(home, verb.name, params, typed, look.line)
        else:
            result = run_verb(home, verb.name, params, show=look.line)
        emit(result, as_json=as_json, text=look.printer(verb))
        status = look.status(result)
        if status:
            sys.exit(status)

    command: Any = common_options(run)
    for option in reversed(look.more):  # as in ``takes``, the option added last is shown first
        command = option(command)
    command = takes(verb)(command)
    if look.confirm:
        command = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")(command)
    command = task_option(verb)(command)
    return click.command(name=verb.command.split()[-1], help=verb.help)(command)


def _asking(look: CommandPresentation, home: str | None, typed: Result) -> Result:
    """``typed``, without the secrets that would be asked for but not used."""
    if look.needs is None or not typed.get("secrets"):
        return typed
    return {**typed, "secrets": only_needed(typed["secrets"], lambda: look.needs and look.needs(home, typed))}


def group_of(verb: Verb, look: CommandPresentation) -> click.Group:
    """A group that calls ``verb`` if no subcommand is given."""
    alone = command_of(verb, look)
    assert alone.callback is not None
    call = alone.callback

    @click.pass_context
    def run(context: click.Context, /, **typed: Any) -> None:
        if context.invoked_subcommand is None:
            call(**typed)

    return click.Group(
        name=alone.name,
        help=alone.help,
        params=alone.params,
        callback=run,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def parameter(verb: Verb, name: str, *, needed: bool = True, text: str = "") -> Callable[[F], F]:
    """One argument or option of ``verb``, for a command that does more than call this verb.

    needed: False if it is optional in the command. text: its help, if it differs from the declaration.
    """
    field = next(field for field in _fields(verb) if field.name == name)
    field.required = field.required and needed
    return lambda command: field.decorate(command, text=text)


# --- parameters ------------------------------------------------------------------------------------------------------


class _Field:
    """One parameter of a verb on the command line."""

    def __init__(self, name: str, hint: Any, field: msgspec.structs.FieldInfo) -> None:
        self.name = name
        self._type, metas = hint, [msgspec.Meta()]
        if get_origin(hint) is Annotated:
            self._type, *metas = get_args(hint)
        self._meta = metas[-1]
        self._extra: dict[str, Any] = self._meta.extra or {}
        self._default = None if field.required else field.default
        self.required = field.required
        self.shown = self._extra.get("flag") != "-"
        if get_origin(self._type) in (UnionType, Union):
            self._type = next(kind for kind in get_args(self._type) if kind is not NoneType)
        self._many = get_origin(self._type) in (tuple, list, dict)
        one = get_args(self._type)[0] if self._many else self._type
        self._choices: tuple[str, ...] = get_args(one) if get_origin(one) is Literal else ()

    @property
    def _called(self) -> str:
        """Its name in messages: that of an argument is the word in the help."""
        return str(self._extra["metavar"]) if self._extra.get("argument") else self.name

    def read(self, typed: Any) -> Any:
        """The value for the verb, parsed from the command line. Errors: ``input.invalid``."""
        reads = self._extra.get("reads")
        if typed is None and isinstance(self._default, str):
            return self._default  # an option with a reader was not given, so there is nothing to parse
        if reads:
            return READERS[reads](self._called, typed)
        return list(typed) if self._many else typed

    def decorate(self, command: Any, *, text: str = "") -> Any:
        """Add this argument or option to ``command``."""
        told = text or self._meta.description
        metavar = self._extra.get("metavar") or None
        if self._extra.get("argument"):
            usual: dict[str, Any] = {} if self._many or self.required else {"default": self._default}
            if self._choices:
                metavar, usual = "|".join(self._choices), {**usual, "type": click.Choice(self._choices)}
            return click.argument(
                self.name,
                metavar=metavar if self.required else f"[{metavar}]",
                required=self.required,
                nargs=-1 if self._many else 1,
                **usual,
            )(command)
        flag = self._extra.get("flag") or f"--{self.name.replace('_', '-')}"
        if self._type is bool:
            on = bool(self._default)  # a flag with the default True can only be given in its negated form
            return click.option(
                flag, self.name, is_flag=True, flag_value=not on, default=on, show_default=False, help=told
            )(command)
        if "" in self._choices:  # the empty choice stands for an option that is not given, which nobody types
            metavar = metavar or f"[{'|'.join(filter(None, self._choices))}]"
        kind, reads = self._kind(), self._extra.get("reads")
        shown = self._default not in (None, "", 0, msgspec.NODEFAULT, ()) and not self._many
        # A parsed parameter has another type than its text, so click cannot have its default: empty means not given.
        unset = self._default is msgspec.NODEFAULT or (reads and not self._default)
        default: Any = () if self._many else (None if unset else self._default)
        return click.option(
            flag,
            self.name,
            metavar=metavar,
            type=kind,
            multiple=self._many,
            required=self.required,
            show_default=shown,
            help=told,
            **(
                {} if self.required else {("default"): default}
            ),  # click treats an argument with a default as optional, even if the default is None
        )(command)

    def _kind(self) -> Any:
        if self._choices:
            return click.Choice(self._choices)
        if self._extra.get("reads"):
            return click.STRING
        least, most = self._meta.ge, self._meta.le
        if least is None and most is None:  # a range without limits would be shown as a range
            return {int: click.INT, float: click.FLOAT}.get(self._type, click.STRING)
        if self._type is int:
            return click.IntRange(least, most)  # type: ignore[arg-type]  # of an int, both are
        return click.FloatRange(least, most)


def _fields(verb: Verb) -> list[_Field]:
    hints = get_type_hints(verb.takes, include_extras=True)
    return [_Field(item.name, hints[item.name], item) for item in msgspec.structs.fields(verb.takes)]


# --- readers of option values ----------------------------------------------------------------------------------------


def _file(name: str, typed: str) -> str:
    return read_text(typed)


def _file_or_address(name: str, typed: str) -> str:
    return typed if typed.startswith(("http://", "https://")) else _file(name, typed)


def _path(name: str, typed: str) -> str:
    return str(Path(typed).absolute()) if typed else ""


def _id_or_path(name: str, typed: str) -> str:
    return typed if is_session_id(typed) else str(Path(typed).absolute())


def _duration(name: str, typed: str | None) -> int:
    """The seconds in ``90m``, ``12h``, ``30d``; 0 if the option is not given."""
    if not typed:
        return 0
    number, unit = typed[:-1], typed[-1]
    if not (number.isascii() and number.isdigit()) or int(number) == 0 or unit not in _SECONDS or len(number) > 9:
        flag = name.removesuffix("_s").replace("_", "-")
        raise MeshError("input.invalid", f"--{flag} needs a duration such as 90m, 12h or 30d, not {typed!r}")
    return int(number) * _SECONDS[unit]


_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _pairs(name: str, typed: tuple[str, ...]) -> dict[str, str]:
    """Parse ``KEY=VALUE`` into a mapping. name: that of an option, or of an argument, which says its form itself."""
    pairs = {}
    for text in typed:
        key, equals, value = text.partition("=")
        if not (key and equals):
            needs = f"give {name}" if "=" in name else f"--{name} needs KEY=VALUE"
            raise MeshError("input.invalid", f"{needs}, not {text[:80]!r}")
        pairs[key] = value
    return pairs


def _mapping(name: str, typed: tuple[str, ...]) -> Any:
    """Plain values by name: one text in YAML, ``@FILE`` with it, or ``KEY=VALUE`` with each value in YAML."""
    from node.config import load_yaml

    if len(typed) == 1 and typed[0][:1] in ("{", "@"):
        return load_yaml(read_text(typed[0][1:]) if typed[0][0] == "@" else typed[0]).plain()
    return {key: load_yaml(value).plain() for key, value in _pairs(name, typed).items()}


def _words(name: str, typed: tuple[str, ...]) -> list[str]:
    """Split a command into words by the rules of a shell. No shell runs it."""
    try:
        return [word for text in typed for word in shlex.split(text)]
    except ValueError as error:
        raise MeshError("input.invalid", f"--{name.replace('_', '-')}: {error}") from error


READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "file": _file,
    "file-or-address": _file_or_address,
    "path": _path,
    "id-or-path": _id_or_path,
    "secrets": lambda name, typed: read_secrets(typed),
    "duration": _duration,
    "pairs": _pairs,
    "mapping": _mapping,
    "words": _words,
    "utc": lambda name, typed: utc_seconds(f"--{name.removesuffix('_s')}", typed),
}
"""Readers by ``reads`` of a parameter: ``(name of the parameter, typed value) -> value for the verb``."""
