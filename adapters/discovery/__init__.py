"""Nodes on the local network: multicast DNS, and its twin in memory."""
