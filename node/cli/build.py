"""Commands made from the declarations of verbs: words, arguments, options, help. What is added here is how a result looks."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click
import msgspec

from node.cli.common import Result, agree, common_options, emit, is_session_id, run_verb, utc_seconds
from node.verbs import Verb
from protocol.errors import MeshError

F = TypeVar("F", bound=Callable[..., Any])


def _plainly(result: Any) -> None:
    """A result as a person reads it where no command says more: one line a field, lists below their name."""
    for name, value in result.items():
        if isinstance(value, list):
            click.echo(f"{name.replace('_', ' ')}:{'' if value else ' none'}")
            for item in value:
                shown = "  ".join(f"{k}={v}" for k, v in item.items() if v) if isinstance(item, dict) else item
                click.echo(f"  {shown}")
        else:
            click.echo(f"{name.replace('_', ' '):<17} {value}")


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a command adds to its verb."""

    text: Callable[[Any], None] = _plainly
    """Prints a result for a person."""
    line: Callable[[Result], str] | None = None
    """One line for an event of progress; empty for none."""
    prepare: Callable[[Result, Result], None] | None = None
    """Completes the parameters (first) by what was typed (second). Errors: ``input.invalid``."""
    status: Callable[[Any], int] = lambda result: 0
    """The exit code of a result."""
    confirm: str = ""
    """A question about what was typed that a person must agree to; ``--yes`` agrees in advance."""


def commands_of(verbs: tuple[Verb, ...], looks: Mapping[str, Look]) -> list[click.Command]:
    """The commands of those of ``verbs`` that have one, in their order. looks: by name of the verb."""
    return [command_of(verb, looks.get(verb.name, Look())) for verb in verbs if verb.command]


def takes(verb: Verb) -> Callable[[Any], Any]:
    """The arguments and options of ``verb``, for its command or one that does more than call it."""

    def decorate(command: Any) -> Any:
        for field in reversed(_fields(verb)):
            if field.shown:
                command = field.decorate(command)
        return command

    return decorate


def given(verb: Verb, typed: Result) -> Result:
    """The parameters of ``verb`` by what was typed; those that no command offers are left out. Errors: ``input.invalid``."""
    return {field.name: field.read(typed[field.name]) for field in _fields(verb) if field.name in typed}


def command_of(verb: Verb, look: Look) -> click.Command:
    """The command that calls ``verb``."""

    def run(home: str | None, as_json: bool, yes: bool = False, **typed: Any) -> None:
        if look.confirm:
            agree(look.confirm.format(**typed), yes=yes)
        params = given(verb, typed)
        if look.prepare is not None:
            look.prepare(params, typed)
        result = run_verb(home, verb.name, params, show=look.line)
        emit(result, as_json=as_json, text=look.text)
        status = look.status(result)
        if status:
            sys.exit(status)

    command = takes(verb)(common_options(run))
    if look.confirm:
        command = click.option("--yes", is_flag=True, help="Do not ask.")(command)
    return click.command(name=verb.command.split()[-1], help=verb.help)(command)


def group_of(verb: Verb, look: Look) -> click.Group:
    """A group that calls ``verb`` when none of its commands is named."""
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
    """One argument or option of ``verb``, for a command that is more than this verb.

    needed: False where the command can do without it. text: its help, where it is not that of the declaration.
    """
    field = next(field for field in _fields(verb) if field.name == name)
    field.required = field.required and needed
    return lambda command: field.decorate(command, text=text)


# --- parameters ------------------------------------------------------------------------------------------------------


class _Field:
    """One parameter of a verb, as the command line offers it."""

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

    def read(self, typed: Any) -> Any:
        """What the verb is given for what was typed. Errors: ``input.invalid``."""
        reads = self._extra.get("reads")
        if reads:
            return READERS[reads](self.name, typed)
        return list(typed) if self._many else typed

    def decorate(self, command: Any, *, text: str = "") -> Any:
        """``command`` with this argument or option."""
        text = text or self._meta.description or ""
        metavar = self._extra.get("metavar") or None
        if self._extra.get("argument"):
            usual = {} if self._many or self.required else {"default": self._default}
            return click.argument(
                self.name,
                metavar=metavar if self.required else f"[{metavar}]",
                required=self.required,
                nargs=-1 if self._many else 1,
                **usual,
            )(command)
        flag = self._extra.get("flag") or f"--{self.name.replace('_', '-')}"
        if self._type is bool:
            on = bool(self._default)  # to give a flag is to say the opposite
            return click.option(
                flag, self.name, is_flag=True, flag_value=not on, default=on, show_default=False, help=text
            )(command)
        kind, reads = self._kind(), self._extra.get("reads")
        shown = self._default not in (None, "", 0, msgspec.NODEFAULT, ()) and not self._many
        # What is read from what was typed has another form than the parameter: an empty default is nothing typed.
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
            help=text,
            **({} if self.required else {"default": default}),  # with a default, None too, nothing is ever missing
        )(command)

    def _kind(self) -> Any:
        if get_origin(self._type) is Literal:
            return click.Choice(get_args(self._type))
        if self._extra.get("reads"):
            return click.STRING
        if self._type is int:
            return click.IntRange(self._meta.ge, self._meta.le)  # type: ignore[arg-type]  # of an int, both are
        return click.FLOAT if self._type is float else click.STRING


def _fields(verb: Verb) -> list[_Field]:
    hints = get_type_hints(verb.takes, include_extras=True)
    return [_Field(item.name, hints[item.name], item) for item in msgspec.structs.fields(verb.takes)]


# --- what is typed, and what is meant --------------------------------------------------------------------------------


def _file(name: str, typed: str) -> str:
    try:
        return Path(typed).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise MeshError("input.invalid", f"{typed} cannot be read") from error


def _path(name: str, typed: str) -> str:
    return str(Path(typed).absolute()) if typed else ""


def _id_or_path(name: str, typed: str) -> str:
    return typed if is_session_id(typed) else str(Path(typed).absolute())


def _secrets(name: str, typed: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Secrets by name: ``NAME[:text][@ORIGIN[,ORIGIN]]=@FILE``. They are read from files, because arguments can be seen by other
    users of the machine.
    """
    secrets: dict[str, dict[str, Any]] = {}
    for text in typed:
        where, equals, source = text.partition("=@")
        given, _, origins = where.partition("@")
        known, colon, kind = given.partition(":")
        if not (known and equals and source) or (colon and kind != "text"):
            raise MeshError(
                "input.invalid",
                "--secret wants NAME@https://shop.example=@FILE: arguments can be seen by others on this machine",
            )
        try:
            value = Path(source).read_text().rstrip("\n")
            secrets[known] = {"value": value, "origins": origins.split(",") if origins else [], "text": bool(colon)}
        except (OSError, UnicodeDecodeError) as error:
            raise MeshError("input.invalid", f"the file of the secret {known} cannot be read") from error
    return secrets


def _duration(name: str, typed: str | None) -> int:
    """``90m``, ``12h``, ``30d`` in seconds; 0 for nothing typed."""
    if not typed:
        return 0
    number, unit = typed[:-1], typed[-1]
    if not (number.isascii() and number.isdigit()) or int(number) == 0 or unit not in _SECONDS or len(number) > 9:
        flag = name.removesuffix("_s").replace("_", "-")
        raise MeshError("input.invalid", f"--{flag} wants a time such as 90m, 12h or 30d, not {typed!r}")
    return int(number) * _SECONDS[unit]


_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _pairs(name: str, typed: tuple[str, ...]) -> dict[str, str]:
    """Values by name."""
    pairs = {}
    for text in typed:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise MeshError("input.invalid", f"--{name} wants KEY=VALUE, not {text[:80]!r}")
        pairs[key] = value
    return pairs


def _words(name: str, typed: tuple[str, ...]) -> list[str]:
    """The words of a command as a shell would part them; no shell ever sees them."""
    try:
        return [word for text in typed for word in shlex.split(text)]
    except ValueError as error:
        raise MeshError("input.invalid", f"--{name.replace('_', '-')}: {error}") from error


READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "file": _file,
    "path": _path,
    "id-or-path": _id_or_path,
    "secrets": _secrets,
    "duration": _duration,
    "pairs": _pairs,
    "words": _words,
    "utc": lambda name, typed: utc_seconds(f"--{name.removesuffix('_s')}", typed),
}
"""By ``reads`` of a parameter: the name of the parameter and what was typed, to what the verb is given."""
