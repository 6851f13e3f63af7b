"""Reads and writes the state of a browser: cookies, storage, passkeys."""
