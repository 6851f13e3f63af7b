"""What controls of real applications send and change, and what of it the product holds (``make bench-risk``, ADR 45)."""
