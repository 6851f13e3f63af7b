"""Recorded sessions: record, replay, show, verify, export, import, remove.

Owns sessions, their steps, and replay reports. Never opens a browser itself, and never stores the value of a secret.
"""
