"""The side of a search that explores: accepts leases of branches, walks pages, and returns signed results."""
