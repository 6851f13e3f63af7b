"""Verbs for capsules, the logins that they hold, and passkeys."""
