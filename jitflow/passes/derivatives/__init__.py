"""Derivatives as a transformation of the IR: `differentiate` writes out what the ops of `ir/ops/derivative.py` ask for.

notation    what rules are written with, and `rules` what they are
partials    the partial derivatives of elementwise ops, for both modes, made of `factors`
reductions  the weights of what is reduced, for both modes
transposes  the forward and reverse rules of everything else; rooms of their own have `accumulations`, `indexing`,
            `complex_numbers`, and library `routines`: `equations`, `decompositions` (both written in `matrices`),
            `ordering` and `signals`
activity    which values and which storage matter
reverse     the reverse sweep over straight code and storage, and `reverse_regions` over branches and loops
shadows     the places that it hands on
rows        the rows of tables that are gathered (`row_stacking`: those of a loop)
cleared     what it stores instead of adding it to zeros, and `overlapping` what it adds to several slices at once (both
            move `sums`)
remember    what the forward sweep keeps for it, and what it computes again (`analyses.mincut`)
forward     forward mode
"""
