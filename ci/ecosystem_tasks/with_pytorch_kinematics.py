"""pytorch-kinematics: forward kinematics of a robot, its Jacobian, inverse kinematics."""

import pytorch_kinematics as pk
import torch
from common import report

JOINT = """<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/>
<origin xyz="{}" rpy="{}"/><axis xyz="{}"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>"""
JOINTS = (
    ("j1", "revolute", "base", "a", "0 0 0.3", "0 0 0", "0 0 1"),
    ("j2", "revolute", "a", "b", "0.2 0 0.1", "0 0.3 0", "0 1 0"),
    ("j3", "prismatic", "b", "tool", "0.1 0 0.4", "0.1 0 0.2", "1 0 0"),
)
LINKS = "".join(f'<link name="{name}"/>' for name in ("base", "a", "b", "tool"))
URDF = f'<robot name="arm">{LINKS}{"".join(JOINT.format(*joint) for joint in JOINTS)}</robot>'


def main():
    torch.manual_seed(0)
    chain = pk.build_serial_chain_from_urdf(URDF, "tool")
    th = torch.rand(4, 3, requires_grad=True)
    m = chain.forward_kinematics(th).get_matrix()
    m[:, :3, 3].square().sum().backward()
    found = {
        "fk": m,
        "grad": th.grad,
        "jac": chain.jacobian(th.detach()),
        "joints": chain.get_joint_parameter_names(),
    }
    t = pk.Transform3d(pos=torch.tensor([1.0, 2.0, 3.0]), rot=torch.tensor([0.1, 0.2, 0.3]))
    found["t"] = t.compose(t.inverse()).get_matrix()
    found["points"] = t.transform_points(torch.randn(3, 3))
    found["quat"] = pk.matrix_to_quaternion(t.get_matrix()[:, :3, :3])
    ik = pk.PseudoInverseIK(
        chain,
        max_iterations=10,
        retry_configs=torch.zeros(1, 3),
        joint_limits=torch.tensor(chain.get_joint_limits()).T,
        early_stopping_any_converged=True,
        lr=0.2,
    )
    goal = chain.forward_kinematics(torch.full((1, 3), 0.2))
    found["ik"] = ik.solve(goal).solutions
    report(**found)


main()
