"""What the product calls dangerous, compared with what controls of real applications change (``make bench-risk``, ADR 45)."""
