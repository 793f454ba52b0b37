"""What exists at call time.

A call goes through these files in this order:

    dispatcher (_native, _layout, _text; binding_text, parameters)   find the specialisation that fits
    specialisation, plan (_results)                        what it is made of, and what it agrees to
    entry_native (_frame, _checks, _results)               the plan as one native function
    entry_constants, entry_support (support_text)          the objects that it refers to, and what it calls
    entry_python (python_guards, python_results)           the plan carried out step by step
    pool (_text)                                           where results and temporaries live

Below them all: `object_layout` and `python_api` (what native code assumes of Python and NumPy), `dtypes`,
`llvm_text` and `native_code` (LLVM text, and machine code made of it).
"""
