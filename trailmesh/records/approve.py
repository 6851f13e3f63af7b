# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``approve.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class AskedList(Record, frozen=True, kw_only=True):
    """Questions, newest first."""

    questions: tuple[Asked, ...]


class ShownQuestion(Record, frozen=True, kw_only=True):
    """A question with everything that is known about it."""

    id: str

    state: str

    kind: str

    does: str
    """The action or request, in words. An approval for a search or a site covers everything of this form."""

    page: str

    site: str

    risk: int
    """The risk class (docs/risk.md)."""

    reason: str

    caller: str

    search: str

    session: str

    step: int

    asked_ms: int

    times: int
    """Number of times it was asked."""

    held: str
    """The fate of the request that waits for the answer. `held`: a yes sends it. `sent`: it left once. `refused`:
    it never left. `withdrawn`: the page gave it up. `unknown`: it was released, but its arrival is not known.
    Empty: no request waits.
    """

    evidence: tuple[str, ...]
    """The evidence for its risk class."""

    requests: tuple[str, ...]
    """The requests that a yes lets through during the action, in words."""

    open_requests: bool
    """True if a yes covers every request of the page to its own origin, because its requests are not known yet."""

    picture: str
    """The file with the picture of the page; empty if no picture is stored or none was requested."""

    has_picture: bool

    answer: GivenAnswer | None

    question: str
    """The encoded question, in hexadecimal. The digest is computed from it."""

    digest: str
    """The digest that an approval signs, in hexadecimal."""


class Stand(Record, frozen=True, kw_only=True):
    """The standing of a question, for its caller. Some of its text was chosen by a page."""

    id: str

    state: str
    """`yes`: repeat the action, and it is let through, unless `held` says that it was sent. `used`: a yes for one
    time has let it through.
    """

    does: str

    requests: tuple[str, ...]
    """The requests that the guard refused. A yes lets them through when the action is repeated."""

    risk: int

    held: str
    """The fate of the request that waits for the answer (docs/approvals.md); empty if no request waits."""


class Asked(Record, frozen=True, kw_only=True):
    """A question to the owner. Some of its text was chosen by a page."""

    id: str

    state: str

    kind: str

    does: str
    """The action or request, in words. An approval for a search or a site covers everything of this form."""

    page: str

    site: str

    risk: int
    """The risk class (docs/risk.md)."""

    reason: str

    caller: str

    search: str

    session: str

    step: int

    asked_ms: int

    times: int
    """Number of times it was asked."""

    held: str
    """The fate of the request that waits for the answer. `held`: a yes sends it. `sent`: it left once. `refused`:
    it never left. `withdrawn`: the page gave it up. `unknown`: it was released, but its arrival is not known.
    Empty: no request waits.
    """


class GivenAnswer(Record, frozen=True, kw_only=True):
    """The answer to a question."""

    yes: bool

    scope: str

    owner: str
    """Name of the owner; the id if the owner's key is revoked."""

    answered_ms: int

    expires_ms: int

    uses: int
    """Number of actions that it has let through."""
