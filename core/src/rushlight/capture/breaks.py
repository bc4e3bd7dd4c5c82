"""Why a program is no graph."""

from __future__ import annotations

import linecache


class Leaving:
    """Something raised that notes the expressions and statements of the outermost function of a
    program which it leaves, `nodes`, the innermost first."""

    function = None

    def passes(self, node, frames):
        """Note a node, if it is one of the outermost function."""
        if len(frames) == 1:
            self.function = frames[0].function
            self.nodes.append(node)


class BreakError(BaseException, Leaving):
    """Why a program cannot be one graph, and where; not an Exception, so that nothing between
    takes it for an error of the program."""

    def __init__(self, why, file=None, line=None, name=None):
        super().__init__(why)
        self.why, self.file, self.line, self.name = why, file, line, name
        self.nodes = []

    def text(self):
        """The reason with the line of the program."""
        if self.file is None:
            return self.why
        source = linecache.getline(self.file, self.line).strip()
        where = f"{self.file}:{self.line}, in {self.name}"
        return f"{self.why} ({where}: {source})" if source else f"{self.why} ({where})"
