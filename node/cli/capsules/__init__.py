"""Commands for capsules and passkeys."""
