"""NumPy's surface in terms of the tensor ops of the IR.

Everything enters through `dispatch`. A module is an idea: `promotion` and `broadcasting` are NumPy's two rules,
`calling` is how a ufunc is called, `ufuncs` and `composites` what its loop computes; the others hold NumPy's functions
by family. In each, a table ``FUNCTIONS`` is keyed by NumPy's own callable, and a handler has NumPy's own signature.

NumPy is asked, not imitated, where it can answer while tracing: about promotion, axes, conversions, messages.
"""
