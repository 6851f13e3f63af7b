"""Errors in received data: encoding, ids, signed envelopes."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _P, _E = Blame.CALLER, Blame.PEER, Blame.ENVIRONMENT

WIRE: Final[dict[str, Code]] = {
    # cbor, ids, envelopes
    "cbor.invalid": Code(
        _P,
        False,
        "The bytes are not deterministic CBOR of the required form.",
        "The sender must encode as docs/protocol/cbor.md specifies. Between two trailmesh nodes: install the same version on both.",
    ),
    "cbor.limit": Code(
        _P,
        False,
        "The CBOR value exceeds the limit on size, depth or number of items.",
        "The sender must split the data or send less. docs/protocol/limits.md lists the limits.",
    ),
    "message.invalid": Code(
        _P,
        False,
        "The decoded record does not have the fields that its type requires.",
        "Install the same version of trailmesh on both machines (`trailmesh --version`), then try again.",
    ),
    "format.newer": Code(
        _E,
        False,
        "What was read has a newer version of its format than this trailmesh knows: this side is the older one.",
        "Upgrade trailmesh on this machine (docs/upgrading.md), then try again.",
    ),
    "format.older": Code(
        _P,
        False,
        "What was read has an older version of its format, which this trailmesh no longer reads: the side that made it is the older one.",
        "Upgrade trailmesh where it was made, and make it again there.",
    ),
    "id.invalid": Code(
        _C, False, "The id is mistyped: its form or its check digit is wrong.", "Copy the whole id again."
    ),
    "envelope.invalid": Code(
        _P,
        False,
        "The bytes are not a signed envelope of the allowed form.",
        "The sender must sign as docs/protocol/envelope.md specifies. Between two trailmesh nodes: install the same version on both.",
    ),
    "envelope.kind": Code(
        _P,
        False,
        "The envelope has a different kind from the one required here.",
        "Send the kind that docs/protocol/messages.md requires for this route. For a file, check that it is the right file.",
    ),
    "envelope.key_unknown": Code(
        _P,
        False,
        "No trusted key matches the issuer, key id and issue time of the envelope.",
        "Pair with the signer first: `trailmesh node invite` on its machine, `trailmesh node join --peer` here.",
    ),
    "trust.invalid": Code(
        _C,
        False,
        "What --trust names is not a key.",
        "Run `trailmesh session trust-key` on the node that recorded, and commit its output as it is.",
    ),
    "trust.not_signed": Code(
        _P,
        False,
        "No key that --trust names has signed the file.",
        "Do not replay it. If its recorder is to be trusted: run `trailmesh session trust-key` there, compare the node id with a person, then name that key.",
    ),
    "envelope.signature": Code(
        _P,
        False,
        "The signature does not verify: the content was changed after signing, or another key signed it.",
        "Do not use it. Ask the signer for a new copy, and compare where the two differ.",
    ),
    "envelope.issuer": Code(
        _P,
        False,
        "The envelope names an issuer that is not the node that sent or should have signed it.",
        "The sender must sign with its own node id and key. If you did not expect this, ask the owner of the sending node.",
    ),
    "envelope.audience": Code(
        _P,
        False,
        "The message is addressed to another node.",
        "The sender must sign a message with this node's id as audience; `trailmesh node id` prints it.",
    ),
    "envelope.time": Code(
        _P,
        True,
        "The message has expired, is too old, or was issued in the future.",
        "Set the clocks of both machines (`timedatectl set-ntp true`); `trailmesh node doctor` compares them.",
    ),
    "envelope.replayed": Code(
        _P,
        False,
        "This message was accepted before (replay protection).",
        "The sender must sign a new message, with a new unique id, for every attempt.",
    ),
    "envelope.replay_window_full": Code(
        _E,
        True,
        "The replay window is full: too many messages arrived within a few minutes.",
        "Wait a few minutes, then send the message again.",
    ),
}
