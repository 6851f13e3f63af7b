"""The port of recording and replaying to the signer of artefacts."""

from __future__ import annotations

from typing import Protocol

import msgspec

from adapters.ports.records import ArtefactRecord
from node.signing import Feed
from protocol.page.secrets.personal import Tokens


class Signer(Protocol):
    """Signs for recording and replaying. An artefact is in the node's log before it is returned."""

    @property
    def node(self) -> str: ...

    @property
    def tokens(self) -> Tokens:
        """The tokens that replace personal data in everything that this node stores."""

    @property
    def feed(self) -> Feed: ...

    async def artefact(self, kind: str, subject: str, record: msgspec.Struct | bytes) -> ArtefactRecord: ...
