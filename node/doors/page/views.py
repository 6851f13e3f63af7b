"""The table of pages: which verb lists, and which shows one. A new list of the node is one row here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from node.verbs import Verb
from node.verbs.capsules import capsule
from node.verbs.live import live
from node.verbs.nodes import approve, audit, node
from node.verbs.searches import explore, schedule
from node.verbs.sessions import session
from node.verbs.tasks import task
from protocol import limits


@dataclass(frozen=True, kw_only=True)
class View:
    """One page of the navigation."""

    path: str
    title: str
    lead: str
    """One sentence: what is here."""
    verb: Verb
    rows: str
    """The field of its result that holds the list."""
    rows_max: int = limits.LIST_ROWS_MAX
    """How many the verb lists at most."""
    size: int = limits.PAGE_LIST_ROWS
    """How many of them one page shows."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the verb."""
    about: Verb | None = None
    """The verb that shows one of them."""
    named: str = ""
    """The parameter of ``about`` that names it."""
    template: str = "list.html.j2"
    one: str = "one.html.j2"
    """The templates of the list, and of one of them."""


VIEWS: Final[Mapping[str, View]] = {
    view.path: view
    for view in (
        View(
            path="questions",
            title="Questions",
            lead="What was not done, because it needs a person's approval. A yes is signed at a terminal, never here.",
            verb=approve.LIST,
            rows="questions",
            given={"all": True},
            about=approve.SHOW,
            named="question",
            template="questions.html.j2",
            one="question.html.j2",
        ),
        View(
            path="live",
            title="Live",
            lead="Browser sessions that are open now, and those that have ended.",
            verb=live.LIST,
            rows="sessions",
            rows_max=limits.LIVE_LIST_ROWS_MAX,
            given={"all": True},
            about=live.SHOW,
            named="session",
            template="live.html.j2",
            one="live_one.html.j2",
        ),
        View(
            path="sessions",
            title="Sessions",
            lead="Recorded and signed browser runs, newest first.",
            verb=session.LIST,
            rows="sessions",
            about=session.SHOW,
            named="session",
            template="sessions.html.j2",
            one="session.html.j2",
        ),
        View(
            path="searches",
            title="Searches",
            lead="Goals that this node has looked for, alone or with peers.",
            verb=explore.LIST,
            rows="searches",
            about=explore.SHOW,
            named="search",
            one="search.html.j2",
        ),
        View(
            path="tasks",
            title="Tasks",
            lead="Work that takes long: begun by one call, looked at by others.",
            verb=task.LIST,
            rows="tasks",
            about=task.SHOW,
            named="task",
            one="task.html.j2",
        ),
        View(path="mesh", title="Mesh", lead="The nodes that this node is paired with.", verb=node.PEERS, rows="peers"),
        View(
            path="capsules",
            title="Capsules",
            lead="Logins, sealed under a policy. Nothing of their content is shown here.",
            verb=capsule.LIST,
            rows="capsules",
            about=capsule.SHOW,
            named="capsule",
        ),
        View(
            path="schedules",
            title="Schedules",
            lead="Searches that start by themselves.",
            verb=schedule.LIST,
            rows="schedules",
            about=schedule.SHOW,
            named="schedule",
        ),
        View(
            path="audit",
            title="Audit",
            lead="Who used which privileged action, newest first.",
            verb=audit.LIST,
            rows="rows",
            rows_max=limits.AUDIT_LIST_ROWS_MAX,
        ),
        View(
            path="doctor",
            title="Doctor",
            lead="Everything this node needs, checked now. `trailmesh node doctor` also starts a browser.",
            verb=node.DOCTOR,
            rows="checks",
            given={"browser": False},
        ),
    )
}
"""The pages in the order of the navigation."""
