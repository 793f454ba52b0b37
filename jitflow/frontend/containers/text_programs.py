"""Methods of texts that are loops over characters, written as Python would be, and traced as the user's functions are.

A character is its number. Whoever calls has brought positions into the text. What holds beyond ASCII only tables know:
where a character would have to be looked up there, `require_ascii` refuses it.
"""

from __future__ import annotations

from typing import Any

from jitflow.frontend.containers.container_programs import program
from jitflow.frontend.containers.letters import is_space, require_ascii

__all__ = [
    "capitalized", "count", "find", "integer", "is_cased", "joined", "keeps", "letters_changed", "matches", "replaced",
    "rfind", "spaces_around", "split_at", "split_at_spaces", "split_lines", "titled",
]  # fmt: skip


@program
def _matches(text: Any, part: Any, place: Any) -> Any:
    length = len(part)
    done = 0
    while done < length and text.number_at(place + done) == part.number_at(done):
        done += 1
    return done == length


@program
def matches(text: Any, part: Any, start: Any, stop: Any) -> Any:
    """Whether a part stands at a position."""
    return start + len(part) <= stop and _matches(text, part, start)


@program
def find(text: Any, part: Any, start: Any, stop: Any) -> Any:
    """``text.find(part, start, stop)``."""
    last = stop - len(part)
    place = start
    while place <= last and not _matches(text, part, place):
        place += 1
    if place > last:
        return -1
    return place


@program
def rfind(text: Any, part: Any, start: Any, stop: Any) -> Any:
    """``text.rfind(part, start, stop)``."""
    place = stop - len(part)
    while place >= start and not _matches(text, part, place):
        place -= 1
    if place < start:
        return -1
    return place


@program
def count(text: Any, part: Any, start: Any, stop: Any) -> Any:
    """``text.count(part, start, stop)``."""
    length = len(part)
    last = stop - length
    found = 0
    place = start
    while place <= last:
        if _matches(text, part, place):
            found += 1
            place += max(length, 1)
        else:
            place += 1
    return found


@program
def replaced(made: Any, text: Any, old: Any, new: Any, most: Any) -> Any:
    """``text.replace(old, new, most)``, where ``most`` is negative for all of them."""
    length = len(old)
    last = len(text) - length
    left = most
    place = 0
    while place < len(text) or (place <= last and left != 0):
        if left != 0 and place <= last and _matches(text, old, place):
            made.put_all(new)
            left -= 1
            place += length
            if length == 0:
                if place < len(text):
                    made.put(text.number_at(place))
                place += 1
        else:
            made.put(text.number_at(place))
            place += 1
    return made


@program
def joined(made: Any, separator: Any, items: Any) -> Any:
    """``separator.join(items)``."""
    for place in range(len(items)):
        if place > 0:
            made.put_all(separator)
        made.put_all(items.item(place))
    return made


@program
def split_at(found: Any, text: Any, separator: Any, most: Any) -> Any:
    """``text.split(separator, most)``."""
    length = len(separator)
    last = len(text) - length
    left = most
    start = 0
    place = 0
    while place <= last and left != 0:
        if _matches(text, separator, place):
            found.append(text.part(start, place))
            place += length
            start = place
            left -= 1
        else:
            place += 1
    found.append(text.part(start, len(text)))
    return found


@program
def split_at_spaces(found: Any, text: Any, most: Any) -> Any:
    """``text.split(None, most)``."""
    length = len(text)
    left = most
    place = 0
    while place < length:
        while place < length and is_space(text.number_at(place)):
            place += 1
        if place < length:
            start = place
            if left == 0:
                place = length
                found.append(text.part(start, length))
            else:
                while place < length and not is_space(text.number_at(place)):
                    place += 1
                found.append(text.part(start, place))
                left -= 1
    return found


def _ends_line(number: Any) -> Any:
    in_ascii = ((number >= 10) & (number <= 13)) | ((number >= 28) & (number <= 30))
    return in_ascii | (number == 0x85) | (number == 0x2028) | (number == 0x2029)


@program
def split_lines(found: Any, text: Any, keeps_ends: Any) -> Any:
    """``text.splitlines(keeps_ends)``."""
    length = len(text)
    start = 0
    place = 0
    while place < length:
        number = text.number_at(place)
        place += 1
        if _ends_line(number):
            end = place - 1
            if number == 13 and place < length and text.number_at(place) == 10:
                place += 1
            found.append(text.part(start, place if keeps_ends else end))
            start = place
    if start < length:
        found.append(text.part(start, length))
    return found


@program
def _is_among(letters: Any, number: Any) -> Any:
    place = 0
    while place < len(letters) and letters.number_at(place) != number:
        place += 1
    return place < len(letters)


@program
def spaces_around(text: Any, letters: Any, left: Any, right: Any) -> Any:
    """What ``strip`` leaves: from where to where. It takes ``letters``, or whitespace if they are None."""
    start = 0
    stop = len(text)
    if left:
        if letters is None:
            while start < stop and is_space(text.number_at(start)):
                start += 1
        else:
            while start < stop and _is_among(letters, text.number_at(start)):
                start += 1
    if right:
        if letters is None:
            while stop > start and is_space(text.number_at(stop - 1)):
                stop -= 1
        else:
            while stop > start and _is_among(letters, text.number_at(stop - 1)):
                stop -= 1
    return start, stop


@program
def keeps(text: Any, holds: Any) -> Any:
    """Whether something holds for all characters, and there is one."""
    place = 0
    while place < len(text) and holds(text.number_at(place)):
        place += 1
    return place == len(text) and place > 0


@program
def is_cased(text: Any, is_wanted: Any, is_other: Any) -> Any:
    """``isupper`` and ``islower``: some letter, and none of the other case."""
    some = False
    none = True
    for place in range(len(text)):
        number = text.number_at(place)
        some = some | is_wanted(number)
        none = none & (not is_other(number))
    return some & none


@program
def letters_changed(made: Any, text: Any, change: Any) -> Any:
    """Each character changed by itself."""
    for place in range(len(text)):
        made.put(change(text.number_at(place)))
    return made


@program
def capitalized(made: Any, text: Any, first: Any, others: Any) -> Any:
    """``text.capitalize()``."""
    for place in range(len(text)):
        number = text.number_at(place)
        if place == 0:
            made.put(first(number))
        else:
            made.put(others(number))
    return made


@program
def titled(made: Any, text: Any, is_letter: Any, first: Any, others: Any) -> Any:
    """``text.title()``."""
    inside = False
    for place in range(len(text)):
        number = text.number_at(place)
        if inside:
            made.put(others(number))
        else:
            made.put(first(number))
        inside = is_letter(number)
    return made


@program
def _digit(number: Any) -> Any:
    """What a character counts as a digit; 36 if it is none."""
    if (number >= 48) & (number <= 57):
        return number - 48
    if (number >= 97) & (number <= 122):
        return number - 87
    if (number >= 65) & (number <= 90):
        return number - 55
    return 36


@program
def integer(text: Any, base: Any, prefix: Any) -> Any:
    """``int(text, base)``. Letters in the ``prefix`` may stand behind a 0."""
    start = 0
    stop = len(text)
    while start < stop and is_space(text.number_at(start)):
        start += 1
    while stop > start and is_space(text.number_at(stop - 1)):
        stop -= 1
    is_negative = False
    if start < stop and (text.number_at(start) == 45 or text.number_at(start) == 43):
        is_negative = text.number_at(start) == 45
        start += 1
    after_digit = False
    if prefix > 0 and start + 1 < stop and text.number_at(start) == 48:
        letter = text.number_at(start + 1)
        if letter == prefix or letter == prefix - 32:
            start += 2
            after_digit = True  # an underscore may follow
    number = 0
    some = False
    right = True
    while start < stop:
        character = text.number_at(start)
        require_ascii(character)
        digit = _digit(character)
        if character == 95:
            right = right and after_digit
            after_digit = False
        elif digit < base:
            number = number * base - digit if is_negative else number * base + digit
            some = True
            after_digit = True
        else:
            right = False
        start += 1
    if not (right and some and after_digit):
        raise ValueError(text.complaint(base))
    return number
