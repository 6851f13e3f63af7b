"""Replays sessions, compares them with their recordings, and signs the result."""
