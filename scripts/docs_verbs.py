"""Writes ``docs/verbs.md``, the reference of the control API, from the declarations in ``node/verbs/``."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator

import msgspec
from msgspec import inspect as types

from node.base.control_file import AGENTS_DIRECTORY, AGENTS_SOCKET_FILE, CONTROL_FILE, SOCKET_FILE
from node.verbs import CallerKind, Verb
from node.verbs.caller import SCOPES
from node.verbs.catalogue import CATALOGUE
from node.verbs.verb import ANY_SCOPE
from protocol.feed import ABOUT
from scripts.docs_records import default_of, field_notes, row, sentences, tables, title_of, with_inner, words

_INTRODUCTION = f"""\
# Verbs

Everything that a node can be asked. Commands call these verbs ([commands](cli.md)), and so can any program of the same
user, over the control API of a node that serves.

The control API is HTTP over a Unix socket, `{SOCKET_FILE}` in the data directory. It is no TCP port, because pages in
the browser that the node drives can reach loopback ports. A call is `POST /v1/<verb>` with the parameters as a JSON
object and the token of `{CONTROL_FILE}` as bearer; the socket and the token can be read by the owner of the directory
only. A parameter that is not listed is refused.

```sh
token=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["token"])' "$TRAILMESH_HOME/{CONTROL_FILE}")
curl --no-buffer --unix-socket "$TRAILMESH_HOME/{SOCKET_FILE}" --header "Authorization: Bearer $token" \\
    --data '{{"limit": 1}}' http://node/v1/session.list
```

The answer is a stream of JSON lines: `{{"event": …}}` for each piece of progress, then one `{{"result": …}}` or
`{{"error": …}}` ([errors](errors.md)). A client that goes away cancels its verb. Byte strings in results are hex. A field
of a result may be missing where it has a default. Paths are absolute: they are those of the node, which may have been
started in another directory. Help texts name options as the commands have them.

The token of `{CONTROL_FILE}` is the owner's, who may call every verb. Agents and schedules are callers of their own. An
agent shows a token of `trailmesh agent add`, at the same socket or at `{AGENTS_DIRECTORY}/{AGENTS_SOCKET_FILE}`, which takes
no other token ([agents](agents.md)). Each may call what its scopes allow, and set no parameter that is only the owner's to
set. A verb that is read-only changes nothing, here or on any site. A verb that is audited leaves rows on the audit trail
(`trailmesh audit`): one before it is done, and one that says how it ended.

| scope | allows to |
|---|---|
{{scopes}}
"""

_IDS = {
    "node": "node",
    "ses": "session",
    "liv": "live session",
    "rep": "replay report",
    "sea": "search",
    "lea": "lease",
    "sch": "schedule",
    "que": "question",
    "own": "key of an owner",
    "cap": "capsule",
    "tas": "task",
    "agent": "agent",
}
_OTHERS = {CallerKind.AGENT: "an agent", CallerKind.SCHEDULE: "a schedule"}


def verbs_page(notice: str) -> str:
    """The page, below ``notice``."""
    scopes = "\n".join(f"| `{name}` | {text} |" for name, text in SCOPES.items())
    lines = [notice, _INTRODUCTION.replace("{scopes}", scopes)]
    given: dict[type[msgspec.Struct], str] = {}
    for group, verbs in itertools.groupby(CATALOGUE.values(), lambda verb: verb.name.partition(".")[0]):
        lines += [f"## {group}", ""]
        for verb in verbs:
            lines += [f"### {verb.name}", "", *_help(verb.help), _terms(verb), ""]
            lines += [*_parameters(verb), *_result(verb, given)]
    lines += _kinds()
    inner = [record for record in with_inner(given) if record not in given]
    lines += ["## Records", "", "What the fields above hold.", *tables(inner)]
    page = "\n".join(lines) + "\n"
    return page.replace("](ids.md)", "](protocol/ids.md)")  # the words of fields are written for docs/protocol


def _kinds() -> Iterator[str]:
    """What the feed tells of."""
    yield from ("## Kinds of changes", "", "What `events.list` gives. The ids of a change are in this order.", "")
    yield from ("| kind | ids | |", "|---|---|---|")
    for kind, about in ABOUT.items():
        yield f"| `{kind.value}` | {', '.join(_IDS[form] for form in about.ids)} | {about.meaning} |"
    yield ""


def _help(text: str) -> Iterator[str]:
    """The paragraphs of a help text; those whose lines stay as they are begin with a line of ``\\b``."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield from ("```text", paragraph[2:], "```", "")
        else:
            yield from (paragraph, "")


def _terms(verb: Verb) -> str:
    others = [words for kind, words in _OTHERS.items() if kind in verb.callers]
    scope = "any scope" if verb.scope == ANY_SCOPE else f"the scope `{verb.scope}`"
    who = f"the owner; {' or '.join(others)} with {scope}" if others else "the owner"
    who += "; the [page](page.md)" if CallerKind.PAGE in verb.callers else ""
    command = f"Command: `trailmesh {verb.command}`. " if verb.command else ""
    read_only, audited = "yes" if verb.read_only else "no", "no" if verb.row is None else "yes"
    return f"{command}Callers: {who}. Read-only: {read_only}. Audited: {audited}."


def _parameters(verb: Verb) -> Iterator[str]:
    told = types.type_info(verb.takes)
    assert isinstance(told, types.StructType)
    if not told.fields:
        yield from ("No parameters.", "")
        return
    yield from ("| parameter | content | default | |", "|---|---|---|---|")
    for field in told.fields:
        only = " Only the owner may set it." if field.name in verb.owner_fields and len(verb.callers) > 1 else ""
        about = _described(field.type).replace("|", "\\|").replace("<", "&lt;")
        yield f"| `{field.encode_name}` | {words(field.type)} | {default_of(field)} | {about}{only} |"
    yield ""


def _described(found: types.Type) -> str:
    schema = (found.extra_json_schema or {}) if isinstance(found, types.Metadata) else {}
    return str(schema.get("description", ""))


def _result(verb: Verb, given: dict[type[msgspec.Struct], str]) -> Iterator[str]:
    """The fields of what a verb gives, or the verb above that gives the same."""
    for number, kind in enumerate(verb.kinds):
        before, told = "Or" if number else "Gives", types.type_info(kind)
        if not isinstance(told, types.StructType):
            yield from (f"{before} {words(told)}.", "")
            continue
        record = told.cls
        if record in given:
            where = given[record]
            yield from (f"{before} what [{where}](#{where.replace('.', '')}) gives.", "")
            continue
        given[record] = verb.name
        notes = field_notes(record)
        yield from (f"{before} `{title_of(record).rpartition('.')[2]}`: {sentences(record)}", "")
        if told.fields:
            yield from ("| field | content | default | |", "|---|---|---|---|")
            yield from (*(row(field, notes.get(field.name, "")) for field in told.fields), "")
