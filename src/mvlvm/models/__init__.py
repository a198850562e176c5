"""Modules that hold parameters, and what they compute together."""
