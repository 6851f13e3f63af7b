"""The capsules of this node: logins that are kept sealed, used under their policy, exported to peers and revoked.

Owns the sealing keys and their files, the capsules and their ledger, and the passkeys that this node has registered. Every use is
judged, counted and signed before the state is opened. Creates capsules from new logins, each proven in fresh browsers.

Never writes state in clear to a disk, a log or a result, except to a file that the owner has named for it (``unsealing``).
"""
