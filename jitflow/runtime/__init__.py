"""What exists at call time.

A call goes through `entry/` in this order:

    dispatcher (_native, _layout, _text; binding_text, parameters)   find the specialisation that fits
    specialisation, plan (_results)                        what it is made of, and what it agrees to
    entry_native (_frame, _checks, _results)               the plan as one native function
    entry_constants                                        the objects that it refers to
    entry_python (python_guards, python_results)           the plan carried out step by step

The program that it runs finds the functions that it calls in its context (`linked_symbols`): of `parallel/` (threads
and devices), `calls/` (back into Python), `generators/` (random numbers), and `native/`, on which all stands: LLVM text
and machine code made of it, what native code assumes of Python and NumPy, memory, locks. `objects/` makes Python's
objects of what comes out, and writes back what the caller's have become. Variables outlive the call (`variable`).
"""
