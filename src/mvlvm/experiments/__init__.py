"""Whole experiments: data, fits, tables and figures."""
