"""Calls from compiled code to Python, and the routines that it calls so."""
