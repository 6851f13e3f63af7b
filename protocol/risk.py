"""What an action or a request could do, before it is done: seven risk classes and the network guard.

| class | what |
| 1 | GET link, tab, expand, search |
| 2 | reading with login state mounted |
| 3 | typing outside search fields, save draft |
| 4 | send, post, publish, book, apply; any submit that is not a GET and not recognised |
| 5 | pay, buy, place order, transfer, card or IBAN fields |
| 6 | password, e-mail, permissions, API key, second factor, authorise |
| 7 | delete, remove, wipe, reset, close account, revoke, bin icon |

First match from 7 down; what is not understood fails closed (class 4). Classes of ``APPROVAL_CLASS`` and above are not performed
without an approval. The network guard is the second wall: it judges each request, whatever caused it.
"""

from __future__ import annotations

import msgspec

APPROVAL_CLASS = 4


class GuardPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which requests a browser context may send."""

    read_only: bool = True
    """Refuse requests that are not GET or HEAD, unless allowed below or a GraphQL query."""
    allow: tuple[str, ...] = ()
    """``METHOD URL-glob`` pairs that are allowed although not GET, for example ``POST https://shop.example/login``."""
    origins: tuple[str, ...] = ()
    """Origins that may be contacted (``https://host:port``); empty allows every origin."""
