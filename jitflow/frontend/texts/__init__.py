"""Text with traced values in it: f-strings, ``str()``, ``%``, `str.format`, `str.join`; and `print`.

Where all parts are known, a hook gives Python's string. Otherwise the text is a `TracedText`: a template and the values
for it, as they were when the text was made, which the running program fills in as plain Python would
(`jitflow.runtime.objects.texts`). It can be printed, returned, be the message of an exception, and become part of other
text.

::

    structure   takes apart what has traced values in it: lists, dicts, records
    traced      the text itself, and how it is put together
    characters  chr(n) and text[i], whose numbers the running program computes
    hooks       f-strings, and the functions and methods of Python that make text
    printing    print
"""

from jitflow.frontend.texts.hooks import format_, formatted, join, percent, repr_, str_, text
from jitflow.frontend.texts.printing import print_
from jitflow.frontend.texts.traced import TracedText, is_known

__all__ = ["TracedText", "format_", "formatted", "is_known", "join", "percent", "print_", "repr_", "str_", "text"]
