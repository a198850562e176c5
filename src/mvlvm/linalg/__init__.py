"""Factorisations that either succeed or say why not."""
