"""Records sessions: from action files, as forks, anew for masks."""
