"""Replays sessions and signs what matched."""
