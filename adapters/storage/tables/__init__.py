"""The tables of the store. Each function runs inside a transaction."""
