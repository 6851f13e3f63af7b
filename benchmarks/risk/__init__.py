"""Measures what controls of real applications send and change, and which of these requests the product holds (``make bench-risk``,
ADR 45).
"""
