"""Peers, pairing, keys, owners and their approvals."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _P, _E, _O = Blame.CALLER, Blame.PEER, Blame.ENVIRONMENT, Blame.OUTCOME

PEERS: Final[dict[str, Code]] = {
    # trust, pairing, channel
    "peer.unknown": Code(
        _P,
        False,
        "The calling node is not a peer of this node.",
        "Pair first: `trailmesh node invite` on one machine, then `trailmesh node join --peer` with the printed invite on the other.",
    ),
    "peer.scope": Code(
        _P,
        False,
        "The peer has not been granted the scope that this operation needs, or not for this site.",
        "The owner of the refusing node can grant it there: `trailmesh node grant PEER SCOPE[=ORIGIN,…]`.",
    ),
    "peer.distrusted": Code(
        _P,
        False,
        "The owner of this node distrusts the peer. The node accepts nothing from it and sends it nothing.",
        "To trust the peer again, run `trailmesh node trust NAME`.",
    ),
    "peer.unreachable": Code(
        _E,
        True,
        "The peer does not answer at any known address.",
        "Check that it runs (`trailmesh node status` on its machine) and that this machine can reach its address."
        " For an invite that has ended, ask for a new one: `trailmesh node invite`.",
    ),
    "peer.failed": Code(
        _P,
        False,
        "The peer answered with an error. `detail.peer` names the peer and `detail.code` gives its error code.",
        "The peer's owner has to fix the cause there. Run `trailmesh node doctor` here to rule out a cause on this side.",
    ),
    "peer.refused_us": Code(
        _P,
        False,
        "The peer closed the connection because it does not know this node's key or no longer trusts it.",
        "Ask the peer's owner what `trailmesh node peers` says there: to trust this node again (`trailmesh node trust`), or, if it is missing there, for a new invite. `trailmesh node doctor` has the commands.",
    ),
    "peer.identity": Code(
        _P,
        False,
        "The node at this address has a different key from the expected one.",
        "Do not continue. Compare the peer's node id with its owner (`trailmesh node id` on its machine) and check the address.",
    ),
    "peer.protocol": Code(
        _P,
        False,
        "The peer's answer does not have the form that the protocol requires.",
        "Install the same version of trailmesh on both machines (`trailmesh --version`), then try again.",
    ),
    "peer.version": Code(
        _P,
        False,
        "The two nodes use different protocol versions. They exchange nothing except `status`.",
        "Install the same version of trailmesh on both machines; `trailmesh node doctor` shows the peer's version.",
    ),
    "peer.quota": Code(
        _P,
        False,
        "The peer has used all the disk space that this node allows it.",
        "Raise `policy.peer_disk_mib` in the configuration, or remove searches with `trailmesh explore rm`; `trailmesh node status` shows the usage.",
    ),
    "peer.limit": Code(
        _P,
        True,
        "The peer exceeded a limit on size, rate, time or number.",
        "Wait, then send fewer or smaller requests. The message names the limit; docs/protocol/limits.md lists all of them.",
    ),
    "peer.clock": Code(
        _E,
        True,
        "The clocks of the two nodes differ by more than messages and certificates tolerate.",
        "Set the clock of the machine that is wrong: `timedatectl set-ntp true`; `trailmesh node doctor` compares them.",
    ),
    "peer.signature": Code(
        _P,
        False,
        "The HTTP message lacks the signature that this address requires, or the signature is wrong.",
        "Use the same kind of address on both nodes: one that starts with `signed+https://` accepts signed HTTP only.",
    ),
    "discovery.unavailable": Code(
        _E,
        True,
        "The local network cannot be searched, because multicast does not work on this interface.",
        "Choose an interface with `discovery.interfaces` in the configuration, or pair by invite (`trailmesh node invite`).",
    ),
    "invite.invalid": Code(
        _C,
        False,
        "The invite cannot be read: it is incomplete or mistyped.",
        "Copy the whole invite again; it starts with `tmi1.`.",
    ),
    "invite.expired": Code(
        _C, False, "The invite has expired.", "Ask the other owner for a new one: `trailmesh node invite`."
    ),
    "invite.refused": Code(
        _P,
        False,
        "The inviting node refused the invite: it was used or withdrawn just now, or the proof is wrong.",
        "Ask the other owner for a new one: `trailmesh node invite`. If that node distrusts this one, no invite helps until its owner runs `trailmesh node trust` there.",
    ),
    "invite.url": Code(
        _C,
        False,
        "The peer address is not an https:// URL with host and port.",
        "Use the invite, or the address that `trailmesh node pair` printed, without changes.",
    ),
    "pairing.refused": Code(
        _P,
        False,
        "The other node refused this pairing: its window is closed, another node joined first, or three attempts failed.",
        "Run `trailmesh node pair` on the other machine, then `trailmesh node join --peer` with the address that it prints.",
    ),
    "pairing.declined": Code(
        _O,
        False,
        "One of the two people declined the pairing; nothing was stored on this side.",
        "If the digits differed, someone may be intercepting the connection: pair by invite instead (`trailmesh node invite`).",
    ),
    "pairing.expired": Code(
        _O,
        True,
        "The pairing window closed before a node joined and both people confirmed; nothing was stored on this side.",
        "Start again: `trailmesh node pair` on the other machine, `trailmesh node join --peer` here.",
    ),
    "pairing.unconfirmed": Code(
        _C,
        False,
        "Nobody can compare the digits, because there is no terminal. An address alone is never trusted.",
        "Pass the other node's id with `--fingerprint` (`trailmesh node id` on its machine prints it), or use an invite.",
    ),
    "keylog.invalid": Code(
        _P,
        False,
        "The key log or key event breaks a rule on form, order or signatures.",
        "Do not accept it. Ask the owner of that node; docs/protocol/keylog.md has the rules.",
    ),
    "keylog.gap": Code(
        _P,
        True,
        "A key event before this one is missing.",
        "The sender must send its whole key log; `trailmesh log audit` asks every peer again.",
    ),
    "keylog.fork": Code(
        _P,
        False,
        "Two signed key events of the node contradict each other, so someone else may hold one of its keys.",
        "Its owner must run `trailmesh node recover` with the recovery key. Until then this node accepts nothing from it.",
    ),
    "keylog.revoked": Code(
        _P,
        False,
        "The node has revoked itself. Nothing that it signed after that is accepted.",
        "Pair with the node that replaces it. If it is this node, `trailmesh node doctor` explains what to do.",
    ),
    "keylog.full": Code(
        _C,
        False,
        "The key log has no room for another rotation.",
        "Create a new node with `trailmesh node init` and pair it again; a key log holds 56 rotations.",
    ),
    "key.locked": Code(
        _C,
        False,
        "The witness key is encrypted with a passphrase, and no passphrase was given.",
        "Run the command in a terminal, set TRAILMESH_PASSPHRASE_FILE, or start `trailmesh node serve --passphrase-file FILE`.",
    ),
    "key.passphrase": Code(
        _C,
        False,
        "The passphrase does not decrypt the witness key.",
        "Repeat the command with the right passphrase. If nobody knows it, `trailmesh node recover` replaces the key; its `--help` says how.",
    ),
    "key.clock": Code(
        _E,
        True,
        "This node has signed artefacts that are dated later than now: its clock was ahead and was set back.",
        "Rotate after the time in the message, so that peers still accept what the present key signed. If the key is stolen, do not wait: run `trailmesh node recover`.",
    ),
    "key.keyring": Code(
        _E,
        False,
        "The keyring of this user is not available.",
        "Unlock the keyring. On a machine without a desktop, create the node without `--keyring`.",
    ),
    "owner.unknown": Code(
        _C,
        False,
        "This node knows no key of an owner under this name.",
        "List the keys with `trailmesh owner ls`. Add the first one with `trailmesh owner add NAME`, in a terminal.",
    ),
    "owner.unenrolled": Code(
        _C,
        False,
        "This node was made on the fly: nothing that changes a site leaves before its owner has enrolled a key.",
        "Enrol a key in a terminal: `trailmesh owner add NAME`. Or set `policy.owner_key: optional` in config.yaml.",
    ),
    "owner.refused": Code(
        _C,
        False,
        "The signature is not of an owner of this node who may sign this.",
        "Sign with an active key (`trailmesh owner ls`) of an owner who may approve this class. Only an owner who may approve every"
        " class adds and revokes keys.",
    ),
    "owner.locked": Code(
        _C,
        False,
        "The owner's key opens only with its passphrase, typed in a terminal.",
        "Run the command in a terminal. No option, file or variable takes this passphrase: programs of this account could read it too."
        " For a key that is kept elsewhere, use `approve show --statement` and `approve yes --signature`.",
    ),
    "owner.passphrase": Code(
        _C,
        False,
        "The passphrase does not open the owner's key.",
        "Repeat the command with the right passphrase. If nobody knows it, add another key with the recovery key of the node:"
        " `trailmesh owner add NAME --words-file FILE`, then revoke the lost one.",
    ),
    "owner.change": Code(
        _C,
        False,
        "The key cannot be added or revoked like this.",
        "Read the message: it names the rule. `trailmesh owner ls` shows the keys; without an owner's key, use the recovery key of the"
        " node (`--key-file` or `--words-file`).",
    ),
    "approval.invalid": Code(
        _C,
        False,
        "The signed answer does not fit the question.",
        "Look at the question again with `trailmesh approve show`, and answer that.",
    ),
    "approval.closed": Code(
        _C,
        False,
        "The question waits for no answer: it was answered, or its time is over.",
        "List what is open with `trailmesh approve ls`. What is still wanted is asked again when it is tried again.",
    ),
    "recovery.invalid": Code(
        _C,
        False,
        "This is not the node's recovery key: the words or the file are mistyped, incomplete or of another node.",
        "Compare them with what `trailmesh node init` printed: 24 words in their order, or the recovery file.",
    ),
}
