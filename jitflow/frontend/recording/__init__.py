"""The recording of a program: its regions, its memory, what is known of its sizes, and where in it the tracer is."""
