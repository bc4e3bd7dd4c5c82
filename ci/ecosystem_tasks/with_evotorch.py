"""evotorch: evolution strategies on functions and networks, with vmap over populations."""

import torch
from common import report
from evotorch import Problem
from evotorch.algorithms import CEM, CMAES, PGPE, SNES, GeneticAlgorithm
from evotorch.decorators import vectorized
from evotorch.operators import GaussianMutation, SimulatedBinaryCrossOver


@vectorized
def rosen(x):
    return (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(-1)


@vectorized
def two(x):
    return torch.stack([x.square().sum(-1), (x - 2).square().sum(-1)], -1)


def main():
    found = {}
    for name, kind, opts in [
        ("snes", SNES, dict(stdev_init=1.0, popsize=20)),
        (
            "pgpe",
            PGPE,
            dict(stdev_init=1.0, popsize=20, center_learning_rate=0.1, stdev_learning_rate=0.1),
        ),
        ("cem", CEM, dict(stdev_init=1.0, popsize=20, parenthood_ratio=0.5)),
        ("cmaes", CMAES, dict(stdev_init=1.0, popsize=10)),
    ]:
        problem = Problem("min", rosen, solution_length=4, initial_bounds=(-2, 2), seed=1)
        searcher = kind(problem, **opts)
        best = []
        for _ in range(5):
            searcher.step()
            best.append(float(searcher.status["pop_best_eval"]))
        found[name] = best
    problem = Problem(["min", "min"], two, solution_length=3, bounds=(-5.0, 5.0), seed=2)
    ga = GeneticAlgorithm(
        problem,
        popsize=16,
        operators=[
            SimulatedBinaryCrossOver(problem, tournament_size=3, eta=8),
            GaussianMutation(problem, stdev=0.1),
        ],
    )
    ga.run(4)
    found["ga"] = ga.population.evals
    from evotorch.algorithms.functional import cem, cem_ask, cem_tell, pgpe, pgpe_ask, pgpe_tell

    torch.manual_seed(0)
    state = cem(
        center_init=torch.randn(3, 4),
        stdev_init=1.0,
        parenthood_ratio=0.5,
        objective_sense="min",
        stdev_max_change=0.2,
    )
    for _ in range(3):
        pop = cem_ask(state, popsize=10)
        state = cem_tell(state, pop, pop.square().sum(-1))
    found["batched"] = state.center
    state = pgpe(
        center_init=torch.ones(4),
        center_learning_rate=0.1,
        stdev_learning_rate=0.1,
        objective_sense="min",
        ranking_method="centered",
        optimizer="clipup",
        stdev_init=1.0,
    )
    for _ in range(3):
        pop = pgpe_ask(state, popsize=10)
        state = pgpe_tell(state, pop, pop.square().sum(-1))
    found["functional"] = state.stdev
    report(**found)


main()
