"""Puts tests/ on the import path, so that every suite can say `from lib import server`."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
