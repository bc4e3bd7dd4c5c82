"""Programs that are no single graph, for any library with PyTorch's API.

:func:`of` gives them for one; run as a script, this file records what PyTorch makes of them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
from pathlib import Path

if "torch" not in globals():  # `of` says which library it is
    import rushlight as torch

nn = torch.nn
RECORD = Path(__file__).parent / "recorded" / "graph_breaks.json"


def whole(x):
    return torch.relu(x) + 1


def prints(x):
    y = torch.relu(x) + 1
    print("here")
    return torch.sin(y) * 2


def prints_twice(x):
    y = torch.relu(x)
    print("one")
    y = torch.sin(y)
    print("two")
    return torch.cos(y)


def branch(x):
    y = x * 2
    if torch.sum(y) > 0:
        y = y + 1
    else:
        y = y - 1
    return torch.cos(y)


def branch_with_return(x):
    if torch.sum(x) > 0:
        return torch.relu(x)
    return torch.sin(x)


def item(x):
    n = torch.sum(x).item()
    return torch.relu(x) * n


def break_before_all(x):
    print("first")
    return torch.relu(x)


def break_behind_all(x):
    y = torch.relu(x)
    print("last")
    return y


def no_ops(x):
    print("only")
    return x


def explicit(x):
    y = torch.relu(x)
    torch._dynamo.graph_break()
    return torch.sin(y)


def inner(x):
    y = torch.relu(x)
    print("inner")
    return torch.sin(y)


def called_function(x):
    y = x + 1
    z = inner(y)
    return z * 2


def loop(x):
    for i in range(2):
        x = torch.relu(x)
        print(i)
    return torch.sin(x)


def loop_of_calls(x):
    for _ in range(2):
        x = inner(x)
    return torch.sin(x)


def break_before_loop(x):
    x = torch.relu(x)
    print("loop")
    for _ in range(3):
        x = torch.sin(x)
    return x


def while_loop(x):
    while torch.sum(x) < 10:
        x = x * x + 1
    return torch.sin(x)


def while_loop_prints(x):
    n = 0
    while n < 3:
        x = torch.sin(x) + 1
        print(n)
        n = n + 1
    return torch.cos(x)


def loop_reads(x):
    for _ in range(3):
        y = torch.sin(x)
        if y.sum().item() > 100:
            break
        x = torch.cos(y)
    return torch.sin(x)


def loop_returns(x):
    for _ in range(3):
        x = torch.sin(x)
        if torch.sum(x) > 100:
            return x
        x = x + 1
    return torch.cos(x)


def nested_loops(x):
    for _ in range(2):
        for _ in range(2):
            x = torch.sin(x) + 1
            print("inner")
        x = torch.cos(x)
    return x * 2


def loop_with_else(x):
    for i in range(2):
        x = torch.sin(x)
        print(i)
    else:
        x = torch.cos(x) + 1
    return x * 2


def loop_with_continue(x):
    for i in range(4):
        x = torch.sin(x)
        if i == 1:
            continue
        print("not 1")
        x = x + 1
    return torch.cos(x)


def comprehension(x):
    parts = [inner(x + i) for i in range(3)]
    return torch.cos(sum(parts))


def generator(x):
    return torch.cos(sum(inner(x + i) for i in range(3)))


def in_an_expression(x):
    return torch.relu(x) + float(torch.sum(x)) * torch.sin(x)


def conditional_expression(x):
    y = torch.relu(x)
    z = y * 2 if torch.sum(y) > 0 else y * 3
    return z + 1


def break_in_a_branch(x, flag=True):
    y = torch.relu(x)
    if flag:
        y = y + 1
        print("flag")
        y = y * 2
    return torch.sin(y)


def two_conditions(x):
    y = torch.relu(x)
    if torch.sum(y) > 0 and torch.sum(x) > -5:
        y = y + 1
    return y * 2


def with_statement(x):
    y = torch.relu(x)
    with torch.no_grad():
        z = y + 1
        print("no gradients")
        z = z * 2
    return z + y


def autocast_statement(x):
    y = torch.relu(x)
    with torch.autocast("cpu", torch.bfloat16):
        z = y @ y.T
        print("narrow")
        z = z @ z
    return z.float() + y.sum()


def loop_in_a_with_statement(x):
    with torch.no_grad():
        for i in range(2):
            x = torch.sin(x)
            print(i)
        x = torch.cos(x)
    return x + 1


def finally_statement(x):
    y = torch.relu(x)
    try:
        y = torch.sin(y)
        print("tried")
        y = torch.cos(y)
    finally:
        print("finally")
    return y + 1


def try_statement(x):
    y = torch.relu(x)
    try:
        y = torch.sin(y)
        print("tried")
    except ValueError:
        pass
    return y + 1


@torch._dynamo.disable
def disabled(x):
    return x * 3


def disabled_function(x):
    y = torch.relu(x)
    y = disabled(y)
    return torch.sin(y)


def containers(x):
    y = torch.relu(x)
    held = {"y": y, "k": 3}
    print("containers")
    return {"z": held["y"] + held["k"], "held": [y, held["k"]]}


def read_list(x):
    y = torch.relu(x)
    values = torch.sum(y, 0).tolist()
    return torch.sin(y) + len(values)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x):
        y = nn.functional.relu(self.first(x))
        print("network")
        return self.second(y)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.last = Net(), nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.net(x + 1))


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.count, self.linear = 0, nn.Linear(3, 4)

    def forward(self, x):
        self.count = self.count + 1
        return self.linear(x) * self.count


FUNCTIONS = (
    whole, prints, prints_twice, branch, branch_with_return, item, break_before_all,
    break_behind_all, no_ops, explicit, called_function, loop, loop_of_calls, break_before_loop,
    while_loop, while_loop_prints, loop_reads, loop_returns, nested_loops, loop_with_else,
    loop_with_continue, comprehension, generator, in_an_expression, conditional_expression,
    break_in_a_branch, two_conditions, with_statement, autocast_statement,
    loop_in_a_with_statement, finally_statement, try_statement, disabled_function, containers,
    read_list,
)  # fmt: skip
NETWORKS = {
    "network": Net, "network_in_a_network": Outer, "counting": Counting,
    "sequential": lambda: nn.Sequential(nn.Linear(3, 3), Net()),
}  # fmt: skip


def of(library) -> dict:
    """The name of each program, and a function that makes it, of a library."""
    spec = importlib.util.spec_from_file_location(f"break_programs_{library.__name__}", __file__)
    module = importlib.util.module_from_spec(spec)
    module.torch = library
    sys.modules[spec.name] = module  # where PyTorch looks for globals
    spec.loader.exec_module(module)
    return {f.__name__: lambda f=f: f for f in module.FUNCTIONS} | module.NETWORKS


def figures(library, program) -> dict:
    """What `explain` says of a program: counts, and the calls in each graph."""
    library._dynamo.reset()
    with contextlib.redirect_stdout(io.StringIO()):
        found = library._dynamo.explain(program)(library.ones(2, 3))
    calls = [sum(n.op.startswith("call_") for n in g.graph.nodes) for g in found.graphs]
    return {
        "graphs": found.graph_count, "breaks": found.graph_break_count,
        "ops": found.op_count, "reasons": len(found.break_reasons), "calls": calls,
    }  # fmt: skip


def main():
    """Write down what PyTorch says."""
    library = importlib.import_module("torch")
    found = {name: figures(library, make()) for name, make in of(library).items()}
    lines = [f' "{name}": {json.dumps(row)}' for name, row in found.items()]
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
