"""What all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.checked import hold_when_loaded

# Wall time says nothing on a busy two-core machine: bounds on work are asserted in the tests that promise them.
settings.register_profile("trailmesh", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("trailmesh")

# Whatever a verb gives in any test is what it declares.
hold_when_loaded()
