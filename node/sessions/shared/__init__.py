"""Shared by recording, replaying and keeping: plans, consents, questions."""
