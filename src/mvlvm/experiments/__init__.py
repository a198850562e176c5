"""Experiments of the paper: data, fits, tables and figures (`mvlvm reproduce`), and the demo."""
