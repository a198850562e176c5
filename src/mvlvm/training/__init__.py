"""The loop and what belongs to it; nothing here knows a model."""
