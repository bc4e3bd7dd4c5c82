"""Why a program is no graph."""

from __future__ import annotations

import linecache


class BreakError(BaseException):
    """Why a program cannot be one graph, and where; not an Exception, so that nothing between
    takes it for an error of the program."""

    def __init__(self, why, file=None, line=None, name=None):
        super().__init__(why)
        self.why, self.file, self.line, self.name = why, file, line, name

    def text(self):
        """The reason with the line of the program."""
        if self.file is None:
            return self.why
        source = linecache.getline(self.file, self.line).strip()
        where = f"{self.file}:{self.line}, in {self.name}"
        return f"{self.why} ({where}: {source})" if source else f"{self.why} ({where})"
