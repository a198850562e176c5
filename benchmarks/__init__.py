"""Measurements of the library under one harness: cells, records, a store, a runner, and generated pages."""
