"""Helpers for tests that talk to a real server process: see README.md."""
