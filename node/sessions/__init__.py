"""Recorded sessions: record, replay, show, verify, export, import, remove.

Owns sessions, their steps, and replay reports. Opens no browser itself, and never stores values of secrets.
"""
