"""A terminal for tests: it understands what the live views write, and refuses everything else.

Like most terminals, it folds lines that are too long, and folds them anew when its window changes.
"""

import re

#: What is written: text, a control character, or an escape sequence.
PIECE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|([\r\n])|([^\x00-\x1f\x7f]+)|(.)", re.DOTALL)


class Terminal:
    def __init__(self, width=80, height=24):
        self.width, self.height = width, height
        self._rows, self._folded = [[]], [False]  # whether a row goes on in the next
        self._row = self._column = 0
        self.cursor = True
        self.colours = 0

    def feed(self, text):
        for arguments, command, control, words, other in PIECE.findall(text):
            assert not other, f"{other!r} in {text!r}"
            if words:
                for character in words:
                    self._put(character)
            elif control == "\r":
                self._column = 0
            elif control == "\n":
                self._down()
                self._column = 0
            else:
                self._command(command, arguments)

    def resize(self, width, height):
        """Fold all lines anew; the cursor stays where it is in its line."""
        lines, place = [[]], None
        for number, (row, folded) in enumerate(zip(self._rows, self._folded, strict=True)):
            if number == self._row:
                place = (len(lines) - 1, len(lines[-1]) + self._column)
            lines[-1] += row
            if not folded:
                lines.append([])
        self.width, self.height = width, height
        self._rows, self._folded = [], []
        for number, line in enumerate(lines[:-1]):
            if number == place[0]:
                self._row, self._column = len(self._rows) + place[1] // width, place[1] % width
            parts = [line[i : i + width] for i in range(0, max(1, len(line)), width)]
            self._rows += parts
            self._folded += [True] * (len(parts) - 1) + [False]

    @property
    def lines(self):
        """All that was ever shown and is still there, without what was scrolled out of sight."""
        return ["".join(row).rstrip() for row in self._rows[self._top :]]

    @property
    def history(self):
        return ["".join(row).rstrip() for row in self._rows]

    @property
    def _top(self):
        return max(0, len(self._rows) - self.height)

    def _put(self, character):
        if self._column == self.width:
            self._folded[self._row] = True
            self._down()
            self._column = 0
        row = self._rows[self._row]
        row += [" "] * (self._column + 1 - len(row))
        row[self._column] = character
        self._column += 1

    def _down(self):
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append([])
            self._folded.append(False)

    def _command(self, command, arguments):
        match command, arguments:
            case "A", _:
                self._row = max(self._top, self._row - int(arguments or 1))
            case "B", _:
                self._row = min(len(self._rows) - 1, self._row + int(arguments or 1))
            case "K", "2":
                self._rows[self._row].clear()
                self._folded[self._row] = False
            case "m", _:
                self.colours += 1
            case "l", "?25":
                self.cursor = False
            case "h", "?25":
                self.cursor = True
            case _:
                raise AssertionError(f"ESC [ {arguments} {command} is new to this terminal")
