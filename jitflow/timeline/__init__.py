"""What devices do when, predicted or recorded: events, and the files that show them.

events    the record, which `jitflow.simulate` and `jitflow.profile` both make
saving    to a file, in the format that its name says
trace     for Perfetto and Chrome
drawing   rows of bars on an axis of time, for both kinds of pictures
svg       the picture for a browser
png       the picture through matplotlib
"""

from jitflow.timeline.drawing import draw
from jitflow.timeline.events import Event
from jitflow.timeline.saving import check_path, save
from jitflow.timeline.svg import svg_text

__all__ = ["Event", "check_path", "draw", "save", "svg_text"]
