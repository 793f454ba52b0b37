"""Passes over loops whose turns work on single elements, and what they ask about these elements."""
