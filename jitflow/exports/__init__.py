"""Programs that run without Python and without jitflow: what writes them, and what calls them from Python again."""
