"""geoopt: tensors on spheres, balls and other manifolds, optimizers and samplers there."""

import geoopt
import torch
from common import report

SPHERE, BALL, STIEFEL = geoopt.Sphere(), geoopt.PoincareBall(c=0.7), geoopt.Stiefel()


def descend(parameter, make, loss_of, steps=4):
    optimizer, losses = make([parameter]), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(parameter)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": losses, "point": parameter.detach(), "state": len(optimizer.state_dict())}


def points():
    torch.manual_seed(3)
    raw = torch.randn(5, 4)
    return {
        "sphere": geoopt.ManifoldParameter(SPHERE.projx(raw), manifold=SPHERE),
        "ball": geoopt.ManifoldParameter(BALL.expmap0(0.3 * raw), manifold=BALL),
        "stiefel": geoopt.ManifoldParameter(STIEFEL.projx(raw), manifold=STIEFEL),
    }


def main():
    found, aim = {}, torch.linspace(-0.5, 0.5, 20).view(5, 4)
    makers = {
        "sgd": lambda p: geoopt.optim.RiemannianSGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3),
        "adam": lambda p: geoopt.optim.RiemannianAdam(p, lr=0.1, amsgrad=True, stabilize=2),
        "line": lambda p: geoopt.optim.RiemannianLineSearch(p),
    }
    for name in ("sphere", "ball", "stiefel"):
        for kind in ("sgd", "adam"):
            found[f"{name} {kind}"] = descend(
                points()[name], makers[kind], lambda p: (p - aim).square().sum()
            )
    x, y = points()["ball"][0].detach(), points()["ball"][1].detach()
    found["ball"] = {
        "distance": BALL.dist(x, y), "log": BALL.logmap(x, y),
        "path": BALL.geodesic(torch.tensor(0.3), x, y), "carried": BALL.transp(x, y, x * 0.1),
        "sum": BALL.mobius_add(x, y),
        "mean": BALL.weighted_midpoint(torch.stack([x, y])),
        "again": BALL.expmap(x, BALL.logmap(x, y)),
    }  # fmt: skip
    found["normal"] = BALL.random_normal(4, 3, std=0.2)
    both = geoopt.ProductManifold((SPHERE, 3), (geoopt.Euclidean(ndim=1), 2))
    point = both.projx(torch.tensor([1.0, 2.0, 2.0, 3.0, 4.0]))
    found["product"] = point, both.inner(point, point)
    lorentz = geoopt.Lorentz(k=torch.tensor(2.0))
    origin = lorentz.origin(4)
    found["lorentz"] = lorentz.dist(origin, lorentz.expmap0(torch.tensor([0.0, 0.1, 0.2, 0.3])))
    definite = geoopt.SymmetricPositiveDefinite()
    a = definite.projx(torch.eye(3) + 0.1 * torch.arange(9.0).view(3, 3))
    found["definite"] = definite.dist(a, torch.eye(3)), definite.logmap(torch.eye(3), a)
    flat = geoopt.ManifoldParameter(torch.ones(5, 4), manifold=geoopt.Euclidean(ndim=1))
    sampler = geoopt.samplers.rsgld.RSGLD([flat], epsilon=1e-2)
    torch.manual_seed(5)
    chain = sampler.param_groups[0]["params"][0]
    for _ in range(3):
        sampler.step(lambda: -(chain - aim).square().sum())
    found["sampled"] = chain.detach()
    found["kept"] = type(points()["ball"]).__name__, str(points()["ball"].manifold)
    report(**found)


torch.manual_seed(0)
main()
