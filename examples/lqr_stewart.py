"""Balance the platform upright: an LQR designed on the exact linear model, tried on the mechanism itself.

The platform of `stewart` stands on its three legs like an inverted pendulum: held by its motors the
pose is an equilibrium, but every small error grows. The linear model there has the three motors' angles
and speeds as states and their torques as inputs; its LQR gain, sampled a thousand times a second,
brings the nonlinear mechanism back from an error of 3 degrees, while without it the platform falls:

    python -m cutjoint.examples.lqr_stewart --plot balance.png
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from cutjoint import Equilibrium, Simulation, hold
from scipy.linalg import solve_continuous_are

STEP = 1e-3  # seconds between two samples of the controller
LARGEST_ERROR = math.radians(3)  # an error and a torque that weigh the same
LARGEST_TORQUE = 20.0  # N·m
DAMPING_TIME = 0.2  # seconds: how speeds weigh against angles
FALLEN = math.radians(60)  # where a run ends


@dataclass(frozen=True)
class Run:
    """Motors' angles less those wanted, their torques and the platform's height over time."""

    time: np.ndarray
    error: np.ndarray
    torque: np.ndarray
    height: np.ndarray


def gain(upright: Equilibrium) -> np.ndarray:
    """K of u = u0 − K (x − x0), from the algebraic Riccati equation of the linear model."""
    model = upright.linear
    motors = len(model.inputs)
    angles, speeds = 1 / LARGEST_ERROR**2, (DAMPING_TIME / LARGEST_ERROR) ** 2
    Q = np.diag([angles] * motors + [speeds] * motors)
    R = np.eye(motors) / LARGEST_TORQUE**2
    P = solve_continuous_are(model.A, model.B, Q, R)
    return np.linalg.solve(R, model.B.T @ P)


def run(simulation: Simulation, upright: Equilibrium, K: np.ndarray, error: list[float], time: float) -> Run:
    """Start with errors (radians, one a motor) and simulate with the controller; K = 0 leaves it out."""
    motors = [m.joint for m in simulation.mechanism.motors]
    wanted = np.array([upright.coordinates[name][0] for name in motors])
    held = np.array(list(upright.inputs.values()))
    simulation.reset()
    simulation.assemble(dict(zip(motors, wanted + error, strict=True)))
    where_q = [simulation.tree.q[name].start for name in motors]
    where_v = [simulation.tree.v[name].start for name in motors]
    times, errors, torques, heights = [], [], [], []
    for k in range(round(time / STEP) + 1):
        state = simulation.state
        x = np.concatenate([state.q[where_q] - wanted, state.v[where_v]])
        u = held - K @ x
        times.append(k * STEP)
        errors.append(x[: len(motors)])
        torques.append(u)
        heights.append(simulation.outputs()["height"])
        if np.abs(errors[-1]).max() > FALLEN:
            break
        simulation.set_inputs(u)
        simulation.step(STEP)
    return Run(np.array(times), np.array(errors), np.array(torques), np.array(heights))


def figure(controlled: Run, alone: Run) -> Any:
    """Angles, torques and height with the controller, and without it dashed."""
    from matplotlib.figure import Figure

    result = Figure(figsize=(8, 7), layout="constrained")
    axes = result.subplots(3, 1, sharex=True)
    for k in range(controlled.error.shape[1]):
        axes[0].plot(controlled.time, np.degrees(controlled.error[:, k]), f"C{k}", label=f"motor {k + 1}")
        axes[0].plot(alone.time, np.degrees(alone.error[:, k]), f"C{k}--")
        axes[1].plot(controlled.time, controlled.torque[:, k], f"C{k}")
    axes[2].plot(controlled.time, controlled.height, "k", label="with LQR")
    axes[2].plot(alone.time, alone.height, "k--", label="held torques only")
    axes[0].set(
        ylabel="error, degrees", ylim=(-10, 10), title="stewart, upright: LQR on the exact linear model"
    )
    axes[1].set(ylabel="torque, N·m")
    axes[2].set(ylabel="platform height, m", xlabel="time, s", xlim=(0, controlled.time[-1]))
    axes[0].legend(ncols=3)
    axes[2].legend()
    for a in axes:
        a.grid(alpha=0.3)
    return result


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--error", nargs=3, type=float, default=[3.0, 0.0, 0.0], help="of the motors, degrees"
    )
    parser.add_argument("--time", type=float, default=3.0, help="seconds to simulate")
    parser.add_argument("--plot", metavar="FILE", help="write a picture (png, svg, pdf)")
    parser.add_argument("--no-compiler", action="store_true", help="run in the virtual machine, slower")
    args = parser.parse_args(argv)
    simulation = Simulation("stewart", compile=False if args.no_compiler else None)
    upright = hold(simulation)
    open_loop = ", ".join(f"{z.real:.3g}" for z in upright.eigenvalues)
    print(f"upright pose: {upright.verdict}, eigenvalues {open_loop} 1/s")
    K = gain(upright)
    closed_loop = np.linalg.eigvals(upright.linear.A - upright.linear.B @ K)
    print(f"with LQR: slowest eigenvalue {closed_loop.real.max():.3g} 1/s")
    error = [math.radians(e) for e in args.error]
    controlled = run(simulation, upright, K, error, args.time)
    alone = run(simulation, upright, 0 * K, error, args.time)
    left = math.degrees(np.abs(controlled.error[-1]).max())
    print(f"from {np.abs(args.error).max():g} degrees to {left:.2g} degrees in {controlled.time[-1]:.3g} s")
    print(f"without: {math.degrees(np.abs(alone.error[-1]).max()):.3g} degrees after {alone.time[-1]:.3g} s")
    if args.plot:
        figure(controlled, alone).savefig(args.plot, dpi=120)
        print(f"plot: {args.plot}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
