"""Runs a command on a terminal of its own (a pty) and plays the terminal.

usage: pty_live.py COLUMNS ROWS [--signal NAME SECONDS]... [--resize C R SECONDS]  -- COMMAND...

Prints what a test asks about as JSON: exit status or signal, whether the alternate screen was
entered and left, whether the cursor is visible at the end, the last full screen, the widest line
and the lowest row that was ever written, and the text on the ordinary screen.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = {}
        self.x = self.y = 0
        self.alternate = self.entered = self.left = False
        self.cursor = True
        self.widest = self.lowest = 0
        self.last, self.plain, self.unknown = [], "", []

    def text(self):
        lines = [""] * self.rows
        for (y, x), c in sorted(self.cells.items()):
            lines[y] = lines[y].ljust(x) + c
        return lines

    def sequence(self, private, args, kind):
        if private and args == "1049":
            if kind == "h":
                self.entered = self.alternate = True
            else:
                self.left, self.alternate = True, False
            self.cells = {}
        elif private and args == "25":
            self.cursor = kind == "h"
        elif kind == "H":
            if self.cells:
                self.last = self.text()
            self.x = self.y = 0
        elif kind == "K":
            self.cells = {k: c for k, c in self.cells.items() if k[0] != self.y or k[1] < self.x}
        elif kind == "J":
            first = (0, 0) if args == "2" else (self.y, self.x)
            self.cells = {k: c for k, c in self.cells.items() if k < first}
        elif kind != "m":  # colours are a sanitizer's
            self.unknown.append(private + args + kind)

    def char(self, c):
        if not self.alternate:
            self.plain += c
            return
        if c == "\r":
            self.x = 0
        elif c == "\n":
            self.y += 1
        else:
            self.cells[(min(self.y, self.rows - 1), self.x)] = c
            self.widest = max(self.widest, self.x + 1)
            self.lowest = max(self.lowest, self.y)
            self.x += 1

    def feed(self, data):
        while data:
            m = SEQUENCE.match(data)
            if m:
                self.sequence(m[1].decode(), m[2].decode(), m[3].decode())
                data = data[m.end():]
            elif data[0] == 0x1B and len(data) < 16:
                return data  # the rest of it is on its way
            else:
                self.char(chr(data[0]))
                data = data[1:]
        return b""


def set_size(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main():
    args, command = sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
    screen = Screen(int(args[0]), int(args[1]))
    events, rest = [], args[2:]
    while rest:
        if rest[0] == "--signal":
            events.append((float(rest[2]), "signal", rest[1]))
            rest = rest[3:]
        else:
            events.append((float(rest[3]), "resize", (int(rest[1]), int(rest[2]))))
            rest = rest[4:]
    pid, master = pty.fork()
    if pid == 0:
        while struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))[0] == 0:
            time.sleep(0.01)
        os.execvp(command[0], command)
    set_size(master, screen.columns, screen.rows)
    modes = termios.tcgetattr(master)
    began, entered, pending, status = time.monotonic(), None, b"", None
    while True:
        now = time.monotonic()
        if now - began > 60:
            os.kill(pid, signal.SIGKILL)
        # Times count from the view's beginning, however slow the machine.
        if screen.entered and entered is None:
            entered = now
        while entered and events and now - entered >= events[0][0]:
            _, what, value = events.pop(0)
            if what == "signal":
                os.kill(pid, getattr(signal, value))
            else:
                set_size(master, *value)
                screen.columns, screen.rows = value
                screen.cells, screen.widest, screen.lowest = {}, 0, 0
        if select.select([master], [], [], 0.05)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            pending = screen.feed(pending + data)
        elif status is None:
            got, code = os.waitpid(pid, os.WNOHANG)
            status = code if got else None
    if status is None:
        status = os.waitpid(pid, 0)[1]
    print(json.dumps({
        "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "entered": screen.entered, "left": screen.left and not screen.alternate,
        "cursor": screen.cursor, "last": screen.last, "widest": screen.widest,
        "lowest": screen.lowest, "columns": screen.columns, "rows": screen.rows,
        "plain": screen.plain, "unknown": screen.unknown,
        "seconds": time.monotonic() - began,
    }))


main()
