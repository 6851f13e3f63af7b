"""The side of a search that leads it: leases branches, takes results, and has every claim of success replayed here."""
