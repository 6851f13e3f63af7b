"""Verbs for recorded sessions: record, list, show, verify, export, import, replay, diff."""

from __future__ import annotations

from typing import Final

from node.verbs import rows
from node.verbs.sessions.session_params import (
    DiffParams,
    ExportParams,
    ImportParams,
    ListParams,
    RecordParams,
    ReplayParams,
    SessionParams,
    ShowParams,
    TargetParams,
)
from node.verbs.sessions.session_results import (
    ExportedFile,
    Needs,
    RecordedSession,
    ReplayedSession,
    RunDiff,
    SessionDiff,
    SessionList,
    SessionVerification,
    ShownSession,
    TrustKey,
    WasRemoved,
)
from node.verbs.verb import ALL_WHO_WORK, OWNER_AND_AGENTS, OWNER_ONLY, PAGE, AuditedPart, NoParams, Verb

RECORD: Final = Verb(
    name="session.record",
    long=True,
    command="session record",
    takes=RecordParams,
    gives=RecordedSession,
    help="""Perform the actions of a file in a browser and record them as a signed session.

    ACTIONS is YAML (docs/actions.md lists all actions), JSON exported by the Chrome DevTools Recorder (docs/devtools-recorder.md),
    or Python as `playwright codegen` writes it (docs/playwright.md); which one is seen by its content. Requests other than GET are
    refused unless --allow names them; refused requests are shown after their step, here and in `session show`.

    The recording passes if every step was performed and no request for a document or data was refused, failed, was answered with
    400 or more, or was still unanswered when its step ended. `expect:` of a step names what is meant to fail. Exit codes: 0 it
    passed; 1 it did not, and the reason comes first.

    With --headed or --attach ACTIONS is an address: a window opens there, and what a person does in it is written to an action
    file. It is not recorded as a session; the command that does so is printed at the end.

    \b
    Example:
      title: The blue mugs
      start: https://shop.example/
      steps:
        - click: {role: link, name: Mugs}
        - select: {role: combobox, name: Sort by, option: "Price: low to high"}
        - extract: {as: cheapest, role: heading, name: Mugs}
    """,
    callers=ALL_WHO_WORK,
    scope="record",
    owner_fields=frozenset({"allow", "approve_class", "ask", "junit", "html"}),
    row=AuditedPart(
        risk=rows.approved, note=lambda given: {"actions": given.name, **rows.driven(given), **rows.with_login(given)}
    ),
)
LIST: Final = Verb(
    name="session.list",
    command="session ls",
    takes=ListParams,
    gives=SessionList,
    help="List sessions, newest first, without archived ones. With TEXT: only those with this text in title, address or id.",
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="session.show",
    command="session show",
    takes=ShowParams,
    gives=ShownSession | WasRemoved,
    help="Show a session: its steps, signer and replays. For a removed session, show what is still stored.",
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    owner_fields=frozenset({"html"}),
    read_only=True,
    row=None,
)
VERIFY: Final = Verb(
    name="session.verify",
    long=True,
    command="session verify",
    takes=TargetParams,
    gives=SessionVerification,
    help="""Verify signatures and content of a session (id), a bundle or a replay report (file).

    If a file of the given name exists, or the name ends in .tmsession, it is read as a file even if it looks like an id. A fault
    names the element that does not match. A valid replay report is stored with its session.

    With --trust, TARGET is a bundle and no node is needed: only a signature by the named key counts (docs/ci.md).
    """,
    callers=OWNER_ONLY,
    row=None,
)
EXPORT: Final = Verb(
    name="session.export",
    command="session export",
    takes=ExportParams,
    gives=ExportedFile,
    help="""Write a session to one signed file, which another node can verify and replay.

    With --as the steps of the session become a file of another tool, which is not signed and compares no pages: a recording that
    Chrome's DevTools play (docs/devtools-recorder.md), or a Playwright test that runs by itself and under pytest
    (docs/playwright.md). Secrets are looked up in environment variables. What the format cannot say is a comment in the file and
    listed. Exit codes: 0 the file says all; 1 it does not.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.session, note=lambda given: {"out": given.out, "as": given.form}),
)
IMPORT: Final = Verb(
    name="session.import",
    command="session import",
    takes=ImportParams,
    gives=SessionVerification,
    help="Verify a bundle and store it. Its signer must be a peer of this node.",
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"path": given.path}),
)
REPLAY: Final = Verb(
    name="session.replay",
    long=True,
    command="session replay",
    takes=ReplayParams,
    gives=ReplayedSession,
    help="""Replay a session in a new browser context and sign a report of which steps matched.

    The replay passes if the recording passed, every step holds at the level, and no request for a document or data newly went
    wrong. At level text the page must have the recorded text and title, except for what changes by itself (times, dates,
    generated ids, counters; `session show` says how much that is). Differences are shown here and are not part of the report,
    unless --input is given.

    --input gives an input of the session another value. The page is then expected to say the new value wherever it said the
    recorded one; what differs besides is a difference, and stands in the signed report together with the changed inputs. Elements
    are still those of the recording.

    After a step that did not match, steps that only read are still performed; the replay stops before the first step that writes
    (docs/risk.md). With --on-mismatch ask the person at the terminal is asked before each such step: what it would do, what did
    not match, and why. Yes performs this one step; no, no terminal (--json, CI) and no answer within two minutes end the replay.

    SESSION is an id; import a bundle first. With --trust it is a bundle, and no node is needed: only a signature by the named key
    counts, the replay runs in a temporary data directory that is removed afterwards, and a temporary key signs the report
    (docs/ci.md). Exit codes: 0 the replay passed; 1 it did not, and the reason comes first;
    2 the first step that did not match lacked an approval, an allowed request or a secret for its site, and the output says what
    to add; 3 the site could not be reached. A report is signed in all these cases. With 2 and 3 it says nothing about the site.
    If the login of --capsule does not hold, nothing is replayed and no report is signed; that is 3 too.
    """,
    callers=ALL_WHO_WORK,
    scope="replay",
    owner_fields=frozenset(
        {"allow", "approve_class", "writes", "on_mismatch", "out", "junit", "markdown", "html", "inputs"}
    ),
    row=AuditedPart(
        subject=lambda given: given.session,
        risk=rows.approved,
        note=lambda given: {
            "base_url": rows.where(given.base_url) if given.base_url else "",
            "on_mismatch": given.on_mismatch,
            **({"inputs": ", ".join(sorted(given.inputs))} if given.inputs else {}),
            **({"writes": ", ".join(given.writes)} if given.writes else {}),
            **rows.driven(given),
            **rows.with_login(given),
        },
    ),
)
PLAN: Final = Verb(
    name="session.plan",
    takes=SessionParams,
    gives=Needs,
    help="Say what a replay of a session needs: secrets, files, the login, classes to approve, and the writes that it lists.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
TRUST_KEY: Final = Verb(
    name="session.trust_key",
    command="session trust-key",
    takes=NoParams,
    gives=TrustKey,
    help="""Print the key of this node in the form that --trust of `session verify` and `session replay` takes.

    Commit the output beside the exported sessions, so that a CI job can verify and replay them without a node and without peers
    (docs/ci.md). It holds nothing secret. Print it again after the key of this node was rotated or recovered.
    """,
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)
DIFF: Final = Verb(
    name="session.diff",
    command="session diff",
    takes=DiffParams,
    gives=SessionDiff | RunDiff,
    help="""Compare two recordings: steps that only one of them has, and what differs after each step that both have.

    Steps are paired by their actions, in order. Compared are outcome, address, title, extracted text and the lines of the page. If
    the two began at different origins, addresses are compared without them. Exit codes: 0 nothing differs; 1 something does.

    Two replay reports of one session (`session show` lists them), or a report and its session, are compared by what the reports
    say of each step: they contain no page. To compare the pages of two runs, record the second one with `session fork`. With
    --html, pictures and texts of both recordings stand side by side.
    """,
    callers=OWNER_AND_AGENTS,
    scope="read",
    owner_fields=frozenset({"html"}),
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (RECORD, LIST, SHOW, VERIFY, EXPORT, IMPORT, REPLAY, PLAN, DIFF, TRUST_KEY)
