"""The dataflow graph of a function, for reading: data edges, control edges, regions as clusters.

model     the records of a graph, and the graph of a function
placement on which devices ops are computed
control   which ops must follow which, though no value says so
text      one line an op, for a terminal
dot       for Graphviz and whatever else reads DOT
layout    where everything lies in a picture; this is what networkx is for
svg       the picture
png       the same through matplotlib
"""

from jitflow.graph.drawing import FORMATS, draw

__all__ = ["FORMATS", "draw"]
