"""How two nodes become peers: by an invite, or by digits that two people compare."""
