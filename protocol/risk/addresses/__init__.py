"""Orders, records and tokens that an address names."""
