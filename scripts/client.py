"""Writes the generated part of the Python client from the declarations of verbs: ``python -m scripts.client [--check]``.

``trailmesh/records/`` has the records that verbs give, ``trailmesh/calls/`` a method for each verb, both a module for each group of
verbs; ``trailmesh/sync.py`` the classes of ``trailmesh/client`` for programs without an event loop.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import keyword
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import inspect as types

from node.verbs import Verb
from node.verbs.catalogue import CATALOGUE
from scripts.client_blocking import blocking_module
from scripts.docs_records import field_notes, with_inner

ROOT: Final = Path(__file__).resolve().parent.parent
_PACKAGE: Final = ROOT / "trailmesh"
_WIDTH: Final = 116
_NOTICE: Final = "# Written by `make client` from node/verbs/; change the declarations instead."
_PROGRESS: Final = "progress: is told what happens meanwhile."


# --- types -----------------------------------------------------------------------------------------------------------


def hint(found: types.Type, *, given: bool) -> str:
    """The annotation of a value. given: it is a parameter, which may be any sequence or mapping.

    Words of a fixed list are plain text in results, since a node of a later version may know more of them.
    """
    match found:
        case types.Metadata():
            return hint(found.type, given=given)
        case types.StructType():
            return f"{found.cls.__name__} | Mapping[str, Any]" if given else found.cls.__name__
        case types.StrType() | types.BytesType() | types.EnumType():  # bytes are sent as hex
            return "str"
        case types.LiteralType() if given:
            return f"Literal[{', '.join(map(repr, found.values))}]"
        case types.LiteralType():
            return " | ".join(dict.fromkeys(type(value).__name__ for value in found.values))
        case types.IntType() | types.FloatType() | types.BoolType() | types.NoneType() | types.AnyType():
            return _PLAIN[type(found)]
        case types.VarTupleType() | types.ListType():
            inner = hint(found.item_type, given=given)
            return f"Sequence[{inner}]" if given else f"tuple[{inner}, ...]"
        case types.TupleType():
            return f"tuple[{', '.join(hint(each, given=given) for each in found.item_types)}]"
        case types.DictType():
            name = "Mapping" if given else "dict"
            return f"{name}[{hint(found.key_type, given=given)}, {hint(found.value_type, given=given)}]"
        case types.UnionType():
            return " | ".join(dict.fromkeys(hint(each, given=given) for each in found.types))
        case _:
            raise NotImplementedError(f"no annotation for {found}")  # a new kind of field: name it here


_PLAIN: Final[dict[type[types.Type], str]] = {
    types.IntType: "int",
    types.FloatType: "float",
    types.BoolType: "bool",
    types.NoneType: "None",
    types.AnyType: "Any",
}


def default(field: types.Field, *, given: bool) -> str:
    """The source of a default, with its sign; empty for a field that is required."""
    if field.required:
        return ""
    if field.default is not msgspec.NODEFAULT:
        return f" = {_literal(field.default, given=given)}"
    if field.default_factory is msgspec.NODEFAULT:  # ``UNSET``: it may be missing
        return " | None = None"
    value = field.default_factory()
    if given:
        return f" = {_literal(value, given=True)}"
    if isinstance(value, dict):
        return (
            f" = msgspec.field(default_factory=lambda: {value!r})"
            if value
            else " = msgspec.field(default_factory=dict)"
        )
    return f" = {_literal(value, given=False)}"


def _literal(value: Any, *, given: bool) -> str:
    if isinstance(value, msgspec.Struct):
        assert given and value == type(value)(), f"no source for {value!r}"
        return "NOTHING"
    plain = msgspec.to_builtins(value)
    if isinstance(plain, list | tuple):
        plain = tuple(plain)
    if given and plain == {}:
        return "NOTHING"
    assert isinstance(plain, str | int | float | bool | tuple | None.__class__), f"no source for {value!r}"
    return repr(plain)


# --- records ---------------------------------------------------------------------------------------------------------


def records_module(group: str, verbs: Iterable[Verb]) -> str:
    """The module with what the verbs of a group give and take."""
    lines = [
        _NOTICE,
        f'"""Records of the verbs ``{group}.*`` (docs/verbs.md)."""',
        "",
        "from __future__ import annotations",
        "",
    ]
    lines += ["from typing import Any", "", "import msgspec", "", "from trailmesh.client.record import Record", ""]
    for record in _records(verbs):
        lines += ["", *_record(record), ""]
    return "\n".join(lines) + "\n"


def _records(verbs: Iterable[Verb]) -> list[type[msgspec.Struct]]:
    given = [
        kind for verb in verbs for kind in verb.kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    ]
    tops = [verb.takes for verb in verbs]
    inner = [record for record in with_inner(tops) if record not in tops]
    return with_inner(dict.fromkeys([*given, *inner]))


def _record(record: type[msgspec.Struct]) -> Iterator[str]:
    told = types.type_info(record)
    assert isinstance(told, types.StructType)
    options = "frozen=True, kw_only=True"
    if told.tag_field:
        options += f", tag_field={told.tag_field!r}, tag={told.tag!r}"
    if told.array_like:
        options += ", array_like=True"
    yield f"class {record.__name__}(Record, {options}):"
    yield from _docstring(inspect.getdoc(record) or record.__name__, 4)
    notes = field_notes(record)
    for field in told.fields:
        yield ""
        yield f"    {field.encode_name}: {hint(field.type, given=False)}{default(field, given=False)}"
        if note := notes.get(field.name):
            yield from _docstring(note, 4)


def _docstring(text: str, indent: int, more: Iterable[str] = ()) -> Iterator[str]:
    pad = " " * indent
    first, *rest = _wrapped(text.replace("\\", "\\\\"), indent)
    rest += ["", *itertools.chain.from_iterable(_wrapped(each, indent) for each in more)] if more else []
    while rest and not rest[-1]:
        rest.pop()
    if not rest and len(first) + indent + 6 <= _WIDTH + 4:
        yield f'{pad}"""{first}"""'
        return
    yield f'{pad}"""{first}'
    yield from (f"{pad}{line}".rstrip() for line in rest)
    yield f'{pad}"""'


def _wrapped(text: str, indent: int) -> list[str]:
    lines: list[str] = []
    for paragraph in text.replace("\b\n", "").split("\n\n"):
        lines += [*textwrap.wrap(" ".join(paragraph.split()), _WIDTH - indent - 3), ""]
    return lines[:-1]


# --- calls -----------------------------------------------------------------------------------------------------------


def calls_module(group: str, verbs: list[Verb]) -> str:
    """The module with a method for each verb of a group."""
    records = sorted(record.__name__ for record in _records(verbs))
    body = [*_class(group, verbs, blocking=False), "", *_class(group, verbs, blocking=True)]
    used = [name for name in records if any(_names(line, name) for line in body)]
    lines = [
        _NOTICE,
        f'"""The verbs ``{group}.*`` as methods (docs/verbs.md)."""',
        "",
        "from __future__ import annotations",
        "",
    ]
    lines += ["from collections.abc import Mapping, Sequence", "from typing import Any, Literal", ""]
    lines += ["from trailmesh.client.calling import NOTHING, BlockingCalls, Calls, Progress"]
    lines += [f"from trailmesh.records.{group} import {', '.join(used)}", ""] if used else [""]
    return "\n".join([*lines, *body]) + "\n"


def _names(line: str, name: str) -> bool:
    padded = "".join(each if each.isalnum() or each == "_" else " " for each in line).split()
    return name in padded


def class_of(group: str) -> str:
    """The name of the class with the methods of a group."""
    return f"{group.capitalize()}Verbs"


def _class(group: str, verbs: Iterable[Verb], *, blocking: bool) -> Iterator[str]:
    yield ""
    name, base = (f"Blocking{class_of(group)}", "BlockingCalls") if blocking else (class_of(group), "Calls")
    yield f"class {name}({base}):"
    yield f'    """The verbs ``{group}.*``{", each of which waits until it is done" if blocking else ""}."""'
    for verb in verbs:
        yield ""
        yield from _method(verb, blocking=blocking)


def _method(verb: Verb, *, blocking: bool) -> Iterator[str]:
    told = types.type_info(verb.takes)
    assert isinstance(told, types.StructType)
    fields = [(field, field.type if isinstance(field.type, types.Metadata) else None) for field in told.fields]
    placed = [field for field, meta in fields if _is_argument(meta)]
    named = [field for field, meta in fields if not _is_argument(meta)]
    placed.sort(key=lambda field: not field.required)
    named.sort(key=lambda field: not field.required)
    signature = ["self", *map(_parameter, placed), "*", *map(_parameter, named), "progress: Progress | None = None"]
    result = " | ".join(_result(kind) for kind in verb.kinds)
    prefix, wait = ("", "") if blocking else ("async ", "await ")
    yield f"    {prefix}def {_safe(verb.name.partition('.')[2])}({', '.join(signature)}) -> {result}:"
    about = [f"{_safe(field.name)}: {_described(meta)}" for field, meta in fields if _described(meta)]
    yield from _docstring(inspect.cleandoc(verb.help).split("\n\n")[0], 8, [*about, _PROGRESS])
    params = ", ".join(f"{field.encode_name!r}: {_safe(field.name)}" for field in told.fields)
    kinds = ", ".join(_result(kind) for kind in verb.kinds)
    yield f"        found: {result} = {wait}self._call({verb.name!r}, {{{params}}}, progress, {kinds})"
    yield "        return found"


def _is_argument(meta: types.Metadata | None) -> bool:
    return meta is not None and bool((meta.extra or {}).get("argument"))


def _described(meta: types.Metadata | None) -> str:
    text = str((meta.extra_json_schema or {}).get("description", "")) if meta is not None else ""
    return text.replace("<", "").replace(">", "")


def _parameter(field: types.Field) -> str:
    return f"{_safe(field.name)}: {hint(field.type, given=True)}{default(field, given=True)}"


def _result(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else hint(types.type_info(kind), given=False)


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def groups() -> dict[str, list[Verb]]:
    """The verbs of the catalogue by their group."""
    found: dict[str, list[Verb]] = {}
    for verb in CATALOGUE.values():
        found.setdefault(verb.name.partition(".")[0], []).append(verb)
    return found


def index_module() -> str:
    """``trailmesh/calls/__init__.py``: all groups, each imported when it is used first."""
    lines = [_NOTICE, '"""Every verb of a node as a method, by group: ``node.verbs.session.replay(…)``."""', ""]
    lines += ["from __future__ import annotations", "", "from typing import TYPE_CHECKING", ""]
    lines += ["from trailmesh.client.calling import BlockingVerbGroups, VerbGroups", "", "if TYPE_CHECKING:"]
    lines += [f"    from trailmesh.calls.{name} import Blocking{class_of(name)}, {class_of(name)}" for name in groups()]
    for prefix in ("", "Blocking"):
        lines += ["", "", f"class {prefix}Verbs({prefix}VerbGroups):", '    """Every verb, by group."""']
        for name in groups():
            lines += ["", "    @property", f"    def {name}(self) -> {prefix}{class_of(name)}:"]
            lines += [f'        """The verbs ``{name}.*``."""']
            lines += [f"        from trailmesh.calls.{name} import {prefix}{class_of(name)}", ""]
            lines += [f"        return self._group({prefix}{class_of(name)})"]
    return "\n".join(lines) + "\n"


# --- writing ---------------------------------------------------------------------------------------------------------


def modules() -> dict[Path, str]:
    """Every generated module with its text."""
    records = '"""The records that verbs give and take, a module for each group."""'
    made = {
        _PACKAGE / "calls" / "__init__.py": index_module(),
        _PACKAGE / "records" / "__init__.py": f"{_NOTICE}\n{records}\n",
    }
    for group, verbs in groups().items():
        made[_PACKAGE / "calls" / f"{group}.py"] = calls_module(group, verbs)
        made[_PACKAGE / "records" / f"{group}.py"] = records_module(group, verbs)
    made[_PACKAGE / "sync.py"] = blocking_module(_PACKAGE / "client")
    return {path: _formatted(path, text) for path, text in made.items()}


_FIX: Final = [
    *("check", "--quiet", "--fix-only", "--unsafe-fixes", "--select", "F401,I001,UP"),
    # A module that is not written yet would not be known as one of ours.
    *("--config", 'lint.isort.known-first-party=["trailmesh"]'),
]


def _formatted(path: Path, text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for words in (_FIX, ["format"]):
        command = [*ruff, *words, "--stdin-filename", str(path), "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
        assert not done.returncode, f"{path}: {done.stderr}"
        text = done.stdout
    return text


def main() -> None:
    """Write the modules, or with ``--check`` say which are not as they should be."""
    parser = argparse.ArgumentParser(description="Write the generated part of the Python client.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a module is not up to date")
    check = parser.parse_args().check
    made = modules()
    old = {path for part in ("calls", "records") for path in (_PACKAGE / part).glob("*.py")} - set(made)
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if check:
        for path in sorted([*stale, *old]):
            print(f"{path.relative_to(ROOT)} is not up to date: make client")
        sys.exit(1 if stale or old else 0)
    for path in old:
        path.unlink()
    for path in stale:
        path.write_text(made[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
