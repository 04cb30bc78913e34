"""PolicyShield's tools for agent frameworks."""
