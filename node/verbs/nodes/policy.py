"""Verbs about the policy of this node."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, Params, Verb, argument, option
from protocol import limits


class ExplainParams(Params, frozen=True, kw_only=True):
    """``policy.explain``"""

    url: Annotated[
        str, argument("The address of a request, or of the page.", metavar="URL", max_length=limits.URL_CHARS_MAX)
    ]
    method: Annotated[str, option("Method of the request.", metavar="METHOD", max_length=20)] = "GET"
    element: Annotated[
        str,
        option(
            "Explain a click on this element of the page instead: its role and name, such as 'button \"Add to cart\"'.",
            metavar="ROLE-AND-NAME",
            max_length=limits.FORM_TEXT_CHARS_MAX,
        ),
    ] = ""


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of this node about a request or an action, and the rule behind it."""

    what: Annotated[str, shown("what")]
    """The request or the action, in words."""
    allowed: Annotated[bool, shown("allowed", empty="no")]
    rule: Annotated[str, shown("rule")]
    """The deciding rule, in words."""
    where: Annotated[str, shown("where")]
    """The place of the rule: a field of `config.yaml`, a question, or a document."""
    why: Annotated[str, shown("why")]
    """The reason that the owner gave; empty if none."""
    risk: Annotated[int, shown("class", words="{} (docs/risk.md)")]
    """The risk class of an action (docs/risk.md); 0 for a request."""


EXPLAIN: Final = Verb(
    name="policy.explain",
    command="policy explain",
    takes=ExplainParams,
    gives=Explained,
    help="""Say whether this node would send a request, or click an element, which rule decides that, and where it stands.

    No browser is started and nothing is sent: host names are not resolved, and of an element only its role and name are known.
    What was found out by trying comes on top of that, and so do requests that you have said yes to (`trailmesh approve ls --all`).

    \b
    Examples:
      trailmesh policy explain https://shop.example/products/7
      trailmesh policy explain https://shop.example/search --method POST
      trailmesh policy explain https://shop.example/products/7 --element 'button "Add to cart"'
    """,
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (EXPLAIN,)
