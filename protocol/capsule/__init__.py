"""Session capsules: the sealed state of a login, and the policy for its use (docs/protocol/capsule.md)."""
