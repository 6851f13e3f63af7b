"""TLS listeners and their limits."""
