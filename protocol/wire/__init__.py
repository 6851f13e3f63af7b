"""The form of everything that travels: CBOR, envelopes, frames, addresses, HTTP signatures."""
