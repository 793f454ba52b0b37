"""Functions as a textbook has them, each with its doctest: `tests/test_textbook.py` decorates them one by one."""
