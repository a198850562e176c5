"""The command-line interface `mvlvm`."""
