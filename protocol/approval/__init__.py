"""The owner's key, questions to the owner, and the approvals that answer them (docs/protocol/approval.md)."""
