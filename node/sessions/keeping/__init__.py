"""Reads, verifies, exports, imports and removes stored sessions."""
