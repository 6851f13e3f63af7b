"""What recording and replaying need of whoever signs."""

from __future__ import annotations

from typing import Protocol

import msgspec

from adapters.ports import ArtefactRecord
from node.signing import Feed
from protocol.page.secrets.personal import Tokens


class Signer(Protocol):
    """What recording and replaying need of a node's witness: an artefact is in its log before it is returned."""

    @property
    def node(self) -> str: ...

    @property
    def tokens(self) -> Tokens:
        """What stands for personal data in what this node stores."""

    @property
    def feed(self) -> Feed: ...

    async def artefact(self, kind: str, subject: str, record: msgspec.Struct | bytes) -> ArtefactRecord: ...
