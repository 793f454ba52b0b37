"""The plan of buffers: what lies where, from when to when, decided before lowering."""
