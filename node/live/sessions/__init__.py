"""Live sessions: opened, observed, acted in and closed by separate calls."""
