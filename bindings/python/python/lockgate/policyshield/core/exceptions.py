"""PolicyShield's ``policyshield.core.exceptions``."""

from ..exceptions import *  # noqa: F403
