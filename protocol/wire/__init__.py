"""The wire formats: CBOR, envelopes, frames, addresses, HTTP signatures."""
