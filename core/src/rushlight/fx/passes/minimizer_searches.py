"""Ways to search a run of calls for those on which two ways to run them disagree."""

from __future__ import annotations

from rushlight.fx.passes.tools_common import NodeList, NodeSet


class FxNetMinimizerBadModuleError(Exception):
    """No part could be made of the calls that are looked at."""


class FxNetMinimizerRunFuncError(Exception):
    """A part could not be run in one of the two ways."""


class FxNetMinimizerResultMismatchError(Exception):
    """The results of a part differ."""


_FAILURES = FxNetMinimizerRunFuncError, FxNetMinimizerResultMismatchError


class _Searches:
    """The part of a minimizer that searches; `_try` runs a part in both ways and raises where they
    disagree."""

    reports: list[list[str]]
    iteration: int

    def _step(self, *lines: str) -> list[str]:
        """The report of a new step."""
        self.iteration += 1
        self.reports.append([line.format(self.iteration) for line in lines])
        return self.reports[-1]

    def _end(self, report: list[str], line: str) -> None:
        report.append(line)
        self.print_report(report)

    def _kept(self, nodes: NodeList, start_idx: int = -1, end_idx: int = -1) -> NodeList:
        """The calls that the user does not exclude."""
        nodes = list(nodes)
        if self.exclusion_fn is not None:
            self.exclusion_fn(nodes, start_idx, end_idx)
        return nodes

    def _sequential_traverse(self, nodes: NodeList) -> NodeSet:
        """Look at one call after the other, with the group that it must stay in. Calls that are
        excluded are passed over; PyTorch's search ends at the first one unless it finds all."""
        culprits: NodeSet = set()
        for node in nodes:
            report = self._step("Sequential traverse iteration {}.", f"Visit node: {node.name}")
            if not self._kept([node]):
                self._end(report, f"User exclusion : {node.name}")
                continue
            part = self.fusions.get(node, {node})
            try:
                self._try(part, [node.name])
                self.print_report(report)
                continue
            except FxNetMinimizerResultMismatchError:
                culprits.add(node)
                self._end(report, f"Found culprit from numeric error: {node}")
            except FxNetMinimizerRunFuncError:
                culprits |= part
                self._end(report, f"Found culprit from run error: {node}")
            if not self.settings.find_all:
                break
        return culprits

    def _binary_traverse(self, nodes: NodeList) -> NodeSet:
        """Halve what disagrees until single calls are left."""
        return self._binary_search(nodes, 0, len(nodes))

    def _binary_search(self, all_nodes, start_idx, end_idx):
        nodes = self._kept(all_nodes[start_idx:end_idx], start_idx, end_idx)
        if not nodes:
            self.reports.append(["All nodes are excluded by user"])
            return set()
        report = self._step(
            "Binary search iteration {}",
            f"From node index {start_idx}:{nodes[0].name} to {end_idx - 1}:{nodes[-1].name}. "
            f"Size of the interested node list is {len(nodes)}",
        )
        try:
            self._try(set(nodes), [nodes[-1].name])
        except _FAILURES:
            if len(nodes) == 1:
                self._end(report, f"Found culprit {nodes[0]}")
                return set(nodes)
            self._end(report, "The halves are looked at one by one.")
            culprits = self._halves(all_nodes, start_idx, end_idx)
            if not culprits:
                self._end(report, f"Neither half of {nodes} disagrees alone.")
            return culprits
        self._end(report, "No discrepancy found.")
        return set()

    def _halves(self, all_nodes, start_idx, end_idx):
        middle = start_idx + (end_idx - start_idx) // 2
        culprits = self._binary_search(all_nodes, start_idx, middle)
        if not culprits or self.settings.find_all:
            culprits |= self._binary_search(all_nodes, middle, end_idx)
        return culprits

    def _accumulate_traverse(self, nodes: NodeList) -> NodeSet:
        """Add calls until the results differ; the last one is the culprit."""
        if self.settings.find_all:
            print("'Find All' mode is not supported in accumulate traversal.")
            return set()
        added: NodeSet = set()
        for node in nodes:
            report = self._step("Accumulate traverse iteration {}.", f"Add node: {node.name}")
            added.add(node)
            try:
                self._try(set(added), [node.name])
                self.print_report(report)
            except _FAILURES:
                self._end(report, f"Found culprit {node}")
                return {node}
        return set()

    def _defined_traverse(self, nodes: NodeList) -> NodeSet:
        """Look at all calls at once."""
        nodes = self._kept(nodes)
        if not nodes:
            self.reports.append(["All nodes are excluded by user"])
            return set()
        report = self._step(f"Defined graph from {nodes[0].name} to {nodes[-1].name}")
        try:
            self._try(set(nodes), [nodes[-1].name])
        except _FAILURES:
            self._end(report, f"Found culprit {set(nodes)}")
            return set(nodes)
        self._end(report, "No discrepancy found.")
        return set()

    def _skip_traverse(self, all_nodes: NodeList, skip_nodes: list[str]) -> NodeSet:
        """Look at the runs of calls between those to skip, each as a whole."""
        culprits: NodeSet = set()
        start = 0
        for end in range(len(all_nodes) + 1):
            if end == len(all_nodes) or all_nodes[end].name in skip_nodes:
                if end > start:
                    culprits |= self._look_at_run(all_nodes, start, end)
                start = end + 1
        return culprits

    def _look_at_run(self, all_nodes, start, end):
        nodes = self._kept(all_nodes[start:end], start, end)
        part = set(nodes) if self.exclusion_fn is not None else self._with_groups(nodes)
        report = self._step(
            "Nodes block {}.",
            f"From node index {start} to {end - 1}. "
            f"Size of the interested node list is {len(nodes)}",
        )
        if not part:
            self._end(report, "All nodes are excluded by user")
            return set()
        try:
            self._try(part, [])
        except _FAILURES as error:
            kind = "run" if isinstance(error, FxNetMinimizerRunFuncError) else "numeric"
            self._end(report, f"Found culprit from {kind} error: {part}")
            return part
        self._end(report, "No discrepancy found.")
        return set()

    def _block_traverse(self, nodes: NodeList, find_last_node: bool | None) -> NodeSet:
        """The shortest run of calls that disagrees: the shortest beginning of all that does, and
        its shortest end that does. With `find_last_node` the beginning alone, with False the end
        of all alone."""
        first, last = 0, len(nodes) - 1
        report = [f"Block search from {nodes[0].name} to {nodes[-1].name}"]
        self.reports.append(report)
        if find_last_node is None or find_last_node:
            found = self._border(nodes, last, at_the_end=True)
            if found is None:
                self._end(report, "No culprits found")
                return set()
            last = found
        if not find_last_node:
            found = self._border(nodes[: last + 1], last, at_the_end=False)
            if found is None:
                self._end(report, "No culprits found")
                return set()
            first = found
        self._end(report, f"Found minimum block ({nodes[first]},{nodes[last]})")
        return set(nodes[first : last + 1])

    def _border(self, nodes, last, at_the_end):
        """The position of the last call of the shortest beginning of `nodes` that disagrees, or of
        the first call of its shortest end; None if the whole agrees."""
        low, high, found = 0, last, None
        while low <= high:
            middle = (low + high) // 2
            part = self._kept(nodes[: middle + 1] if at_the_end else nodes[middle:])
            report = self._step("Block search iteration {}", f"Part of {len(part)} nodes")
            differs = bool(part) and self._differs(set(part), part[-1].name)
            self._end(report, "Culprits found" if differs else "No culprits found")
            if differs:
                found = middle
            if differs == at_the_end:
                high = middle - 1
            else:
                low = middle + 1
        return found

    def _differs(self, part, name):
        try:
            self._try(part, [name], len(self.reports) - 1)
        except _FAILURES:
            return True
        return False
