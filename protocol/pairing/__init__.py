"""The pairing protocols: by invite, or by digits that two people compare."""
