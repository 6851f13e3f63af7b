"""Commands ``trailmesh approve``, which answer questions about actions that need an approval. They sign in this process, never in
the running node.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from node.base.plain import moment
from node.cli.base.as_task import on_node
from node.cli.base.build import READERS, CommandPresentation, commands_of
from node.cli.base.common import Result, common_options, emit, home_path, owner_only, run_verb, short_caller
from node.cli.nodes.owner import _now, _owners, chosen
from node.verbs.nodes import approve as verbs
from protocol.errors import MeshError
from protocol.page.seen.names import legible
from protocol.wire.line import one_line

if TYPE_CHECKING:
    from protocol.approval.question import Question

_SCOPES: Final = ("once", "search", "site")
_SCOPE = click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    default="once",
    show_default=True,
    help="How far the answer reaches: this exact action once; this form of it in the search that asked; or at this site, for who"
    " asked.",
)
_EXPIRES = click.option(
    "--expires",
    metavar="TIME",
    default="",
    help="How long it holds: 30m, 12h or 30d, at most 90d.  [default: 1h once, 24h for a search, 30d for a site]",
)
_OWNER = click.option(
    "--owner", metavar="NAME", default="", help="Whose key signs.  [default: the only one that is here]"
)
_QUESTION = click.argument("question", metavar="QUESTION")


@click.group(name="approve", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Answer questions about actions that need a person's approval (docs/approvals.md)."""


@group.command()
@_QUESTION
@click.option(
    "--picture",
    metavar="FILE",
    default="",
    help="Write the picture of the page to this file (WebP), if one was stored.",
)
@click.option(
    "--statement",
    metavar="FILE",
    default="",
    help="Write the exact bytes of an answer to this file, for a key that is kept elsewhere to sign.",
)
@click.option("--no", "no", is_flag=True, help="With --statement: the answer is no.")
@_SCOPE
@_EXPIRES
@_OWNER
@common_options
def show(
    home: str | None,
    question: str,
    picture: str,
    statement: str,
    no: bool,
    scope: str,
    expires: str,
    owner: str,
    as_json: bool,
) -> None:
    """Show a question: the action and its requests, why they need an approval, and who asked.

    \b
    With a key that is kept elsewhere:
      trailmesh approve show QUESTION --scope site --statement answer.bin
      openssl pkeyutl -sign -rawin -inkey owner.pem -in answer.bin -out answer.sig
      trailmesh approve yes QUESTION --statement answer.bin --signature answer.sig
    """
    from protocol.approval.approval import statement as statement_of

    owner_only("approve show")
    path = str(Path(picture).absolute()) if picture else ""
    shown = run_verb(home, verbs.SHOW.name, {"question": question, "picture": path})
    if statement:
        who = chosen(home, owner, _owners(home))
        now = _now()
        answer = _approval(_read(shown), yes=not no, scope=scope, expires=expires, now_s=now["now_s"])
        _write(statement, statement_of(answer, who.key, **now))
    emit({**shown, "statement": statement}, as_json=as_json, text=_show)


def _answering(yes: bool) -> Any:
    @_QUESTION
    @_SCOPE
    @_EXPIRES
    @_OWNER
    @click.option("--statement", metavar="FILE", default="", help="What `approve show --statement` wrote, …")
    @click.option("--signature", metavar="FILE", default="", help="… and the Ed25519 signature over it: 64 bytes.")
    @common_options
    def run(
        home: str | None,
        question: str,
        scope: str,
        expires: str,
        owner: str,
        statement: str,
        signature: str,
        as_json: bool,
    ) -> None:
        owner_only("approve")
        if bool(statement) != bool(signature):
            raise MeshError("input.invalid", "give --statement and --signature together")
        shown = run_verb(home, verbs.SHOW.name, {"question": question})
        asked = _read(shown)
        if statement:
            sealed = _joined(statement, signature, yes)
        else:
            sealed = _signed(home, asked, yes=yes, scope=scope, expires=expires, owner=owner, held=shown["held"])
        result = run_verb(home, verbs.ANSWER.name, {"question": asked.id, "signed": sealed.hex()})
        emit(result, as_json=as_json, text=_show_answer)

    return run


group.command(
    name="yes",
    help="""Say yes to a question: sign it with the owner's key, whose passphrase is asked for on the terminal.

    One yes covers the action and the requests that the question names. What is held it sends. What was refused is not done by it: a
    search goes back there by itself, and an agent tries again.

    \b
    Examples:
      trailmesh approve yes que-ABCDEFGHIJKLMNOPQRSTU
      trailmesh approve yes que-ABCDEFGHIJKLMNOPQRSTU --scope search
    """,
)(_answering(True))
group.command(
    name="no",
    help="""Say no to a question, with the same signature. Until the answer expires, the same is not asked again.

    A no after a yes ends that yes.""",
)(_answering(False))


def _read(shown: Result) -> Question:
    """The question, decoded from its bytes: nothing that is shown or signed here comes from another field.

    Errors: ``approval.invalid``.
    """
    from protocol.approval.question import Question, digest_of
    from protocol.wire import cbor

    question = cbor.decode_as(bytes.fromhex(shown["question"]), Question)
    if question.id != shown["id"] or digest_of(question).hex() != shown["digest"]:
        raise MeshError("approval.invalid", "the node shows another question than it wants an answer to")
    return question


def _approval(question: Question, *, yes: bool, scope: Any, expires: str, now_s: int) -> Any:
    from protocol.approval.approval import USUAL_S, Approval
    from protocol.approval.question import digest_of

    seconds = READERS["duration"]("expires", expires) or USUAL_S[scope]
    return Approval(
        node=question.node,
        question=question.id,
        digest=digest_of(question),
        yes=yes,
        scope=scope,
        expires_ms=(now_s + seconds) * 1000,
    )


def _signed(
    home: str | None, question: Question, *, yes: bool, scope: str, expires: str, owner: str, held: str
) -> bytes:
    from node.process.owner_files import open_key
    from protocol.approval.approval import seal

    now = _now()
    approval = _approval(question, yes=yes, scope=scope, expires=expires, now_s=now["now_s"])
    who = chosen(home, owner, _owners(home))
    for line in _lines(question, held):
        click.echo(line, err=True)
    word = "yes" if yes else "no"
    click.echo(f"answer    {word}, {_REACH[question.kind][scope]}, until {moment(approval.expires_ms)} UTC", err=True)
    return seal(approval, open_key(home_path(home), who.id, who.name), **now)


def _joined(statement: str, signature: str, yes: bool) -> bytes:
    from protocol.approval.approval import Approval
    from protocol.wire import cbor, envelope

    sealed = envelope.from_signed(_bytes(statement), _bytes(signature))
    if cbor.decode_as(envelope.peek(sealed).payload, Approval).yes != yes:
        raise MeshError(
            "input.invalid", f"the statement says {'no' if yes else 'yes'}: use `approve {'no' if yes else 'yes'}`"
        )
    return sealed


_FILE_BYTES_MAX: Final = 16_384


def _bytes(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_FILE_BYTES_MAX)
    except OSError as error:
        raise MeshError("input.no_file", f"{path} cannot be read: {error.strerror}", path=path) from error


def _write(path: str, data: bytes) -> None:
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise MeshError("input.invalid", f"{path} cannot be written: {error.strerror}", path=path) from error


_REACH: Final = {
    "action": {
        "once": "for exactly this, once",
        "search": "for this form of it, as often as this search passes",
        "site": "for this form of it at this site, whenever the same caller tries",
    },
    "request": {
        "once": "for exactly this, once",
        "search": "for requests of this form from this form of control and page, as often as this search passes",
        "site": "for requests of this form from this form of control and page, whenever the same caller causes them",
    },
}


def _lines(question: Question, held: str) -> list[str]:
    """The question in lines. held: the fate of its request, if one waits. Pages have chosen some of its words, so each text stays
    on its line.
    """
    from protocol.approval.forms import action_words, request_words

    evidence = ["it sends what may change something", *question.evidence] if question.requests else question.evidence
    asked = f"class {question.level}" + (f": {evidence[0]}" if evidence else "")
    lines = [
        f"question  {question.id}",
        f"would     {action_words(question.action)}"
        if question.kind == "action"
        else f"did       {action_words(question.action)}",
        f"page      {question.page}",
        f"risk      {asked}",
        *(f"          {each}" for each in evidence[1:] if each not in asked),
    ]
    label = "sends" if question.kind == "action" else "held" if held else "refused"
    lines += [f"{label:<9} {request_words(form)}" for form in question.requests]
    if question.address:
        lines.append(f"exactly   {question.address}, {question.size} bytes")
    if question.open_requests:
        lines.append(
            f"sends     not known yet: a yes lets it send to {question.origin}, no address judged worse than class {question.level}"
        )
    lines.append(f"asked by  {short_caller(question.caller)}, {moment(question.asked_ms)} UTC" + _met_in(question))
    return [legible(line) for line in lines]


def _met_in(question: Question) -> str:
    if question.search:
        return f", in search {question.search}"
    return f", in step {question.step} of {question.session}" if question.session else ""


def _show(r: Result) -> None:
    for line in _lines(_read(r), r["held"]):
        click.echo(line)
    click.echo(f"state     {r['state']}, asked {r['times']} times" if r["times"] > 1 else f"state     {r['state']}")
    if r["answer"]:
        answer = r["answer"]
        word = "yes" if answer["yes"] else "no"
        until = moment(answer["expires_ms"])
        # The count is of actions, not of the requests that were let through during them.
        used = f"used {answer['uses']} times" if r["kind"] == "action" else f"in force during {answer['uses']} actions"
        click.echo(
            f"answer    {word} by {answer['owner']}, {_REACH[r['kind']][answer['scope']]}, until {until} UTC; {used}"
        )
    if r["held"]:
        click.echo(f"request   {verbs.HELD_WORDS[r['held']]}")
    if r["picture"]:
        click.echo(f"picture   {r['picture']}")
    elif r["has_picture"]:
        click.echo("picture   stored: write it with --picture FILE")
    if r["statement"]:
        click.echo(
            f"statement {r['statement']}: sign these bytes, then `trailmesh approve yes` with --statement and --signature"
        )
    elif r["state"] == "open":
        click.echo(f"answer with `trailmesh approve yes {r['id']}` or `no`")
    elif r["state"] == "yes":
        click.echo(f"end it with `trailmesh approve no {r['id']}`")


def _show_answer(r: Result) -> None:
    answer = r["answer"]
    word = "yes" if answer["yes"] else "no"
    if r["held"]:
        click.echo(verbs.HELD_WORDS[r["held"]])
    click.echo(f"{word}: {_REACH[r['kind']][answer['scope']]}, until {moment(answer['expires_ms'])} UTC")


_MORE: Final = "`trailmesh approve show QUESTION` says more; answer with `approve yes` or `approve no`"


def _what_else(result: Result) -> str:
    """The lines below the questions: how to answer them, and which tasks wait for a person too."""
    context = click.get_current_context()
    try:
        tasks = on_node(context.params.get("home"), "task.list", {"open": True})["tasks"]
    except MeshError:  # no node runs, and so no task
        tasks = []
    waiting = [f"{one['task']} waits for you: {one['asks']} (`trailmesh task show`)" for one in tasks if one["asks"]]
    return "\n".join([*([_MORE] if result["questions"] else []), *map(one_line, waiting)])


_LOOKS: Final = {verbs.LIST.name: CommandPresentation(after=_what_else)}
for _command in commands_of((verbs.LIST, verbs.STATE), _LOOKS):
    group.add_command(_command)
