"""Autoencoders of a single matrix and of several views."""
