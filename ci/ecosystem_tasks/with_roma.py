"""roma: rotations as matrices, quaternions, vectors and Euler angles, their derivatives."""

import roma
import torch
from common import report


def main():
    torch.manual_seed(0)
    q = roma.random_unitquat(6)
    r = roma.unitquat_to_rotmat(q)
    found = {
        "quat": q,
        "rotmat": r,
        "rotvec": roma.rotmat_to_rotvec(r),
        "back": roma.rotmat_to_unitquat(r).abs(),
        "euler": roma.rotmat_to_euler("xyz", r, degrees=True),
        "from euler": roma.euler_to_rotmat("ZYX", [0.1, 0.2, 0.3]),
    }
    found["procrustes"] = roma.special_procrustes(torch.randn(4, 3, 3))
    found["registration"] = roma.rigid_points_registration(
        torch.randn(8, 3), torch.randn(8, 3), compute_scaling=True
    )
    found["slerp"] = roma.rotvec_slerp(
        torch.tensor([0.1, 0.0, 0.2]), torch.tensor([1.0, 0.5, 0.0]), torch.linspace(0, 1, 5)
    )
    found["mean"] = roma.special_procrustes(r.mean(0))
    found["geodesic"] = roma.rotmat_geodesic_distance(r[:3], r[3:])
    v = torch.randn(5, 3, requires_grad=True)
    roma.rotvec_to_rotmat(v).sin().sum().backward()
    found["grad"] = v.grad
    t = roma.RigidUnitQuat(q, torch.randn(6, 3)).normalize()
    found["inverse"] = (t @ t.inverse()).to_homogeneous()
    found["sixd"] = roma.special_gramschmidt(torch.randn(4, 3, 2))
    z = torch.zeros(3, requires_grad=True)
    roma.rotvec_to_unitquat(z).sum().backward()
    found["grad at 0"] = z.grad
    report(**found)


main()
