"""Two real applications for read-only journeys, each started on loopback in an environment of its own."""
