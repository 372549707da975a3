# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers for tests that talk to a real server process: see README.md."""
