"""What `make demo` runs: one mechanism through everything cutjoint does, and a page about it.

    python -m cutjoint.examples.demo FOLDER

Every step leaves its files in the folder; a step whose tools are missing says so and is left out.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cutjoint import CutjointError, Simulation, Trajectory, hold, load
from cutjoint.model.base.errors import how_to_install
from cutjoint.model.base.files import write_atomically
from cutjoint.model.compile.kernel import find_compiler
from cutjoint.model.show.linear_plot import draw_linear
from cutjoint.model.show.picture import draw
from cutjoint.model.show.plot import draw_plot
from cutjoint.model.view.film import film
from cutjoint.model.view.player import frame_names

from .demo_page import Chapter, page

MECHANISM = "stewart"
SECONDS, STEP, TORQUE = 2.0, 1e-3, 10.0
RECORD = ["body.platform.position", "joint.motor1.position", "joint.motor2.position", "joint.motor3.position"]
CHECKS = ["energy", "loop.residual", "singularity.distance", "reaction.ball1.force"]
ROS_STEPS = 300
FRAMES = 100  # of the moving picture


class Demo:
    """The steps, in order; each returns a chapter."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.compiler = find_compiler()
        self.mechanism = load(MECHANISM)
        self.simulation = Simulation(self.mechanism)
        self.motion: Trajectory | None = None
        self.motion_part = ""  # of the page: what moves

    def show(self) -> Chapter:
        report = self.simulation.topology().as_dict()
        figure = draw(self.mechanism, self.simulation.body_poses(), report["cuts"])
        rows = [
            ("bodies, joints", f"{len(self.mechanism.bodies)}, {len(self.mechanism.joints)}"),
            ("loops", f"{len(report['cuts'])}, cut at {', '.join(report['cuts'])}"),
            ("constraints", f"{report['rows']} rows, rank {report['rank']}"),
            ("mobility", f"{report['mobility']}"),
            ("smallest singular value", f"{report['singular_value']:.4g}"),
        ]
        about = "A platform on three motor-driven legs. The joints cut in its loops are red."
        picture = self._save(figure, "stewart.svg", "the mechanism as drawn")
        command = f"cutjoint show {MECHANISM} --picture stewart.svg"
        return Chapter("The mechanism", command, about, rows, [picture], ["stewart.svg"])

    def assemble(self) -> Chapter:
        turned = {"motor1": 0.3, "motor2": 0.0, "motor3": -0.1}
        other = Simulation(self.mechanism, compile=False)
        report = other.assemble(turned)
        height = other.outputs()["body.platform.position"][2]
        words = " ".join(f"{name}={value:g}" for name, value in turned.items())
        rows = [
            ("iterations", str(report.iterations)),
            ("loop residual", f"{report.residual:.1e}"),
            ("platform at", f"{height:.4f} m"),
        ]
        about = "Turn the motors; Newton's method closes the loops again."
        command = f"cutjoint assemble {MECHANISM} --set {words}"
        figure = draw(self.mechanism, other.body_poses(), [cut.name for cut in other.tree.cuts])
        picture = self._save(figure, "turned.svg", "with the motors turned")
        return Chapter("Assembly", command, about, rows, [picture], ["turned.svg"])

    def simulate(self) -> Chapter:
        s = self.simulation
        s.reset()
        s.set_inputs([TORQUE] * len(s.inputs))
        start = s.energy()
        s.step(STEP)  # the first step compiles; what is timed below does not
        s.reset()
        s.set_inputs([TORQUE] * len(s.inputs))
        begin = time.perf_counter()
        for _ in range(round(SECONDS / STEP)):
            s.step(STEP)
        alone = time.perf_counter() - begin
        s.reset()
        s.set_inputs([TORQUE] * len(s.inputs))
        self.motion = motion = s.run(SECONDS, STEP, record=[*RECORD, *CHECKS])
        imbalance = abs(s.energy() - start - s.work)
        motion.write_csv(self.folder / "motion.csv")
        units = {n: "m" if "platform" in n else "rad" for n in motion.names if "position" in n} | {
            "energy": "J"
        }
        columns = {n: motion[n] for n in motion.names if not n.startswith("reaction")}
        picture = self._save(draw_plot(motion.time, columns, "", units), "motion.png", "the motion")
        rows = [
            ("code", "compiled C" if self.compiler else "virtual machine"),
            ("a step of 1 ms takes", f"{1e6 * alone / round(SECONDS / STEP):.1f} µs"),
            ("faster than real time", f"{SECONDS / alone:.0f} times"),
            ("largest loop residual", f"{np.max(motion['loop.residual']):.1e} m or rad"),
            ("energy not accounted for", f"{imbalance:.1e} J of {s.work:.1f} J put in"),
            ("smallest singular value on the way", f"{np.min(motion['singularity.distance']):.3g}"),
        ]
        about = f"{SECONDS:g} s from rest with {TORQUE:g} N·m on each motor, under gravity."
        command = (
            f"cutjoint simulate {MECHANISM} --time {SECONDS:g} --torque all={TORQUE:g} "
            "--csv motion.csv --plot motion.png"
        )
        note = (
            ""
            if self.compiler
            else "No C compiler was found: a step takes roughly ten times as long as "
            "compiled; install gcc or clang and run it again."
        )
        return Chapter("Simulation", command, about, rows, [picture], ["motion.csv", "motion.png"], note)

    def linearize(self) -> Chapter:
        simulation = Simulation(self.mechanism)
        rest = hold(simulation)
        model = simulation.linearize(outputs=["body.platform.position"])
        model.save(self.folder / "linear.json")
        picture = self._save(draw_linear(model), "linear.svg", "eigenvalues and frequency response")
        values = ", ".join(f"{x.real:+.4f}{x.imag:+.4f}i" for x in model.eigenvalues())
        rows = [
            ("torques that hold the pose", ", ".join(f"{u:.4g} N·m" for u in rest.inputs.values())),
            ("states", ", ".join(model.states)),
            ("eigenvalues (1/s)", values),
            ("so the pose is", rest.verdict),
        ]
        about = "The exact linear model (A, B, C, D) at rest, in independent coordinates."
        command = f"cutjoint linearize {MECHANISM} --hold --output body.platform.position --save linear.json"
        return Chapter("Linear model", command, about, rows, [picture], ["linear.json", "linear.svg"])

    def fmu(self) -> Chapter:
        from ..fmu import export
        from ..native.c_compile import can_compile

        path = self.folder / f"{MECHANISM}.fmu"
        native = can_compile()
        runtime = "native" if native else "python"
        begin = time.perf_counter()
        export(self.mechanism, path, runtime=runtime, step=STEP, outputs=[*RECORD, "energy", "loop.residual"])
        rows = [
            ("file", f"{path.name}, {path.stat().st_size / 1024:.0f} kB"),
            ("exported in", f"{time.perf_counter() - begin:.1f} s"),
        ]
        note = "" if native else "Without a C compiler the Python runtime is exported; it is slower."
        if importlib.util.find_spec("fmpy"):
            from fmpy import simulate_fmu

            torques = {f"motor.{name}.torque": TORQUE for name in self.mechanism.inputs()}
            names = [f"body.platform.position[{k}]" for k in (1, 2, 3)]
            begin = time.perf_counter()
            result = simulate_fmu(
                str(path), stop_time=SECONDS, output_interval=STEP, start_values=torques, output=names
            )
            seconds = time.perf_counter() - begin
            assert self.motion is not None
            ours = self.motion["body.platform.position"]
            theirs = np.column_stack([result[name] for name in names])
            gap = np.abs(theirs - ours[: len(theirs)]).max()
            rows += [("run in FMPy", f"{seconds:.2f} s"), ("differs from Python by", f"{gap:.1e} m at most")]
        else:
            note += f" FMPy is not installed; {how_to_install('fmu')}."
        about = "The same step as a functional mock-up unit, run by an independent importer."
        command = f"cutjoint export {MECHANISM} -o {path.name}" + ("" if native else " --runtime python")
        return Chapter("FMU", command, about, rows, [], [path.name], note)

    def ros(self) -> Chapter:
        about = "The node in lock-step: one command, one step, one joint state, over real topics."
        chapter = Chapter("ROS 2 node", f"cutjoint node {MECHANISM} --mode lock_step", about)
        if importlib.util.find_spec("rclpy") is None:
            chapter.note = "rclpy is not here (its wheels exist for Linux on x86_64); the rest does without."
            return chapter
        words = [sys.executable, "-m", "cutjoint.examples.demo_ros", MECHANISM, str(ROS_STEPS)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=90)
            found = json.loads(done.stdout.strip().splitlines()[-1])
        except (subprocess.TimeoutExpired, ValueError, IndexError):
            chapter.note = "The node did not answer; 'cutjoint node stewart' shows why."
            return chapter
        chapter.rows = [
            ("steps", f"{found['steps']} of 1 ms"),
            ("command and answer take", f"{1e3 * found['seconds'] / found['steps']:.2f} ms"),
            ("joint positions differ from Python by", f"{found['difference']:.1g} rad at most"),
        ]
        return chapter

    def in_motion(self) -> Chapter:
        about = (
            "The FMU's step as WebAssembly: one file that simulates the platform wherever there is a browser."
        )
        chapter = Chapter("Web page", f"cutjoint export {MECHANISM} --page live.html", about)
        if importlib.util.find_spec("ziglang") is None:
            chapter.note = f"No compiler for web pages ({how_to_install('cross')}): the motion is recorded."
            self.motion_part = self._film()
            return chapter
        from ..fmu.web import web_export as web

        begin = time.perf_counter()
        planned = web.plan_page(self.mechanism, step=STEP)
        part = web.live(planned, dict.fromkeys(self.mechanism.inputs(), TORQUE))
        path = self.folder / "live.html"
        with write_atomically(path) as temporary:
            temporary.write_text(web.page(planned, part), encoding="utf-8")
        self.motion_part = (
            "<p>The platform, simulated in this page. Drive its motors; drag the picture to turn it. "
            f"Arrows are reactions: forces of each joint's parent on its child.</p>{part}"
        )
        chapter.rows = [
            ("file", f"{path.name}, {path.stat().st_size / 1024:.0f} kB"),
            ("exported in", f"{time.perf_counter() - begin:.1f} s"),
        ]
        chapter.files = [path.name]
        return chapter

    def _film(self) -> str:
        """The motion from the same start, recorded."""
        s = self.simulation
        s.reset()
        s.set_inputs([TORQUE] * len(s.inputs))
        motion = s.run(SECONDS, SECONDS / FRAMES, record=[*frame_names(s), "singularity.distance"])
        return film(s, motion) + f"<p>To drive it by hand: <code>cutjoint view {MECHANISM}</code>.</p>"

    def _save(self, figure: Any, name: str, about: str) -> tuple[str, str]:
        kind = name.rpartition(".")[2]
        data = io.BytesIO()
        figure.savefig(data, format=kind, bbox_inches="tight")
        with write_atomically(self.folder / name) as temporary:
            temporary.write_bytes(data.getvalue())
        mime = {"svg": "svg+xml", "png": "png"}[kind]
        return f"data:image/{mime};base64,{base64.b64encode(data.getvalue()).decode()}", about


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cutjoint.examples.demo", description="Run the demo.")
    parser.add_argument("folder", type=Path, help="where the page and its files go; made if missing")
    folder = parser.parse_args(argv).folder
    begin = time.perf_counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        demo = Demo(folder)
        if demo.compiler is None:
            print("   no C compiler found: everything works, steps take about ten times as long")
        steps = [demo.show, demo.assemble, demo.simulate, demo.linearize, demo.fmu, demo.in_motion, demo.ros]
        chapters = _run(steps)
        seconds = time.perf_counter() - begin
        with write_atomically(folder / "index.html") as temporary:
            text = page(chapters, demo.motion_part, folder.resolve(), seconds)
            temporary.write_text(text, encoding="utf-8")
    except (CutjointError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("demo: stopped", file=sys.stderr)
        return 130
    print(f"== done in {seconds:.0f} s: open {folder / 'index.html'} in a browser")
    return 0


def _run(steps: list[Callable[[], Chapter]]) -> list[Chapter]:
    chapters = []
    for k, step in enumerate(steps, 1):
        print(f"== {k}/{len(steps)} {step.__name__}", end="", flush=True)
        begin = time.perf_counter()
        chapters.append(step())
        print(f" ({time.perf_counter() - begin:.1f} s)", flush=True)
        for name, value in chapters[-1].rows:
            print(f"   {name}: {value}")
        if chapters[-1].note:
            print(f"   {chapters[-1].note}")
    return chapters


if __name__ == "__main__":
    sys.exit(main())
