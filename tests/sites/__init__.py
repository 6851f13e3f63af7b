"""Web sites of our own, served on loopback for the demo and the tests."""
