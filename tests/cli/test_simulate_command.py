"""`cutjoint simulate` with inputs over time, units, results, animations and reports; and what it refuses."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from cutjoint import load
from cutjoint.model.cli import main as command

Capture = pytest.CaptureFixture[str]
QUICK = ("--no-compile", "--step", "10 ms", "--time", "0.2")


def simulate(capsys: Capture, *words: str) -> tuple[int, str, str]:
    code = command.main(["simulate", *words])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


def columns(path: Path) -> dict[str, np.ndarray]:
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows, float).T, strict=True))


def test_laws_tables_and_units_of_a_command_line(tmp_path: Path, capsys: Capture) -> None:
    table, out = tmp_path / "t.csv", tmp_path / "m.csv"
    table.write_text("time,torque2 (N.mm)\n0,0\n0.1,2000\n0.2,0\n")
    words = ["--input", "motor1=sine(amplitude=5, frequency=2)", f"motor2={table}:torque2"]
    words += ["--input", "motor3=step(at=0.05, to=300 N.mm)", "--csv", str(out), "--unit", "deg", "mm"]
    words += ["--output", "input.*", "joint.motor1.*", "body.platform.position[3]", "--set", "motor1=10 deg"]
    code, said, _ = simulate(capsys, "stewart", *QUICK, *words)
    found = columns(out)
    assert code == 0 and "of what was exchanged" in said
    t = found["time"]
    np.testing.assert_allclose(found["input.motor1"], 5 * np.sin(4 * np.pi * t), atol=1e-12)
    np.testing.assert_allclose(found["input.motor2"], np.interp(t, [0, 0.1, 0.2], [0, 2, 0]), atol=1e-12)
    assert found["input.motor3"][[4, 5]].tolist() == [0, 0.3]
    assert found["joint.motor1.position (deg)"][0] == pytest.approx(10, abs=1e-9)
    assert found["body.platform.position[3] (mm)"][0] > 100 and "joint.motor1.velocity (deg/s)" in found


def test_a_pd_loop_holds_or_leads_its_joint(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "m.csv"
    words = ("arm", "--no-compile", "--time", "1", "--step", "5e-3", "--csv", str(out), "--gravity", "0")
    loop = "motor1=pd(kp=800 N.m/rad, kd=80, target=step(to=10 deg, rise=0.3))"
    code, _, err = simulate(capsys, *words, "--output", "joint.*.position", "--controller", loop)
    assert (code, err) == (0, "")
    joint = load("arm").motors[0].joint
    led = columns(out)[f"joint.{joint}.position"]
    assert len(led) == 201 and led[-1] == pytest.approx(np.radians(10), abs=0.02)


def test_a_motion_is_led_by_a_law_and_by_no_controller(tmp_path: Path, capsys: Capture) -> None:
    path, out = tmp_path / "led.yaml", tmp_path / "m.csv"
    path.write_text(HOSTILE.replace("limit: 3", "drive: position"))
    words = (str(path), *QUICK, "--output", "joint.rail.position", "--csv", str(out))
    assert simulate(capsys, *words, "--input", "push=sine(amplitude=20 mm, frequency=2)")[0] == 0
    found = columns(out)
    expected = 0.02 * np.sin(4 * np.pi * found["time"])
    np.testing.assert_allclose(found["joint.rail.position"], expected, atol=1e-12)
    code, _, err = simulate(capsys, *words, "--controller", "pd(kp=1)")
    assert code == 2 and "the input of 'push' is no torque or force but a motion" in err


def test_wrenches_of_frames_are_inputs_by_their_numbers(tmp_path: Path, capsys: Capture) -> None:
    path, out = tmp_path / "free.yaml", tmp_path / "m.csv"
    path.write_text(
        "gravity: 0\nbodies: {a: {mass: 2, com: [0, 0, 0], inertia: [1, 1, 1]}}\n"
        "joints: {f: {type: free, parent: ground, child: a, at: [0, 0, 0]}}\n"
        "frames: {tool: {body: a, at: [0, 0, 0], port: force}}\n"
    )
    words = (str(path), *QUICK, "--csv", str(out), "--output", "input.*")
    given = ("--input", "tool.force[1]=ramp(2)", "--torque", "tool.torque[3]=500 N.mm")
    assert simulate(capsys, *words, *given)[0] == 0
    found = columns(out)
    assert found["input.tool.force[1]"][-1] == pytest.approx(0.4)
    assert found["input.tool.torque[3]"].tolist() == [0.5] * 21
    code, _, err = simulate(capsys, *words, "--input", "tool.force=1")
    assert code == 2 and "there is no input 'tool.force'; did you mean 'tool.force[" in err


def test_parameters_and_states_to_start_from(tmp_path: Path, capsys: Capture) -> None:
    pose = tmp_path / "pose.json"
    assert command.main(["assemble", "stewart", "--set", "motor1=12 deg", "--json"]) == 0
    pose.write_text(capsys.readouterr().out)
    out = tmp_path / "m.csv"
    words = ("--output", "joint.motor1.position", "--csv", str(out))
    assert simulate(capsys, "stewart", *QUICK, "--at", str(pose), *words)[0] == 0
    assert columns(out)["joint.motor1.position"][0] == pytest.approx(np.radians(12), abs=1e-9)
    energies = []
    for mass in ("1 kg", "2500 g"):
        code, text, _ = simulate(capsys, "delta", *QUICK, "--parameter", f"payload={mass}", "--json")
        assert code == 0
        energies.append(json.loads(text)["energy_start"])
    assert energies[0] != energies[1]


REFUSED = {
    "--input motor1=sin(1)": "input 'motor1': there is no law 'sin'; did you mean 'sine'?",
    "--input motor1=sine(1,2,what=3)": "sine: there is no argument 'what'",
    "--input motor9=5": "--input: there is no input 'motor9'; did you mean 'motor",
    "--input motor1": "--input takes NAME=LAW, not 'motor1'",
    "--input motor1=1 motor1=2": "'motor1' is given twice; add laws by sum(…)",
    "--input motor1=none.csv:a": "can't read 'none.csv'",
    "--input motor1=t.csv:b": "'t.csv' has no column 'b'",
    "--input motor1=t.csv:nan": "line 3: column 'nan' must be finite, not nan",
    "--input motor1=back.csv:a": "line 3: times must increase",
    "--input motor1=t.csv:long": "column 'long (mm)' can't be in 'mm'",
    "--input motor1=short.csv:a": "goes from 0 to 0.1 s, but the run from 0 to 0.2 s",
    "--input motor1=5mm": "a law can't be in 'mm'",
    "--torque motor1=5mm": "--torque motor1 can't be in 'mm'",
    "--torque motor1=5parsec": "--torque motor1 has the unknown unit 'parsec'",
    "--set motor1=5kg": "--set motor1 can't be in 'kg'",
    "--parameter mass=5": "--parameter: there is no parameter 'mass'",
    "--parameter mass": "--parameter takes NAME=VALUE",
    "--time 5m": "--time can't be in 'm'",
    "--unit furlong": "--unit: there is no unit 'furlong'",
    "--controller pid(kp=1)": "there is no such controller; write pd(kp=…",
    "--controller pd(kd=1)": "the argument 'kp' is missing",
    "--controller pd(kp=1mm)": "pd: kp can't be in 'mm'",
    "--controller motor9=pd(kp=1)": "there is no motor 'motor9'",
    "--controller pd(kp=1) motor1=pd(kp=1)": "motor 'motor1' has two controllers",
    "--controller pd(kp=1) --input motor1=1": "'motor1' has a law and a controller",
    "--save m.xlsx": "must end in one of .csv, .parquet",
    "--animate m.avi": "must end in .gif, .mp4, .html",
    "--report m.pdf": "the name must end in .html",
    "--view 1": "--view takes azimuth and elevation in degrees",
    "--view 0,100": "an elevation is between -90 and 90 degrees",
    "--at p.json --set motor1=1": "--at and --set both say where to start",
}


@pytest.mark.parametrize("words", REFUSED)
def test_wrong_words_are_refused_in_one_sentence_before_anything_is_written(
    words: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("time,a,nan,long (mm)\n0,1,1,1\n1,2,nan,2\n")
    Path("back.csv").write_text("time,a\n1,1\n0,2\n")
    Path("short.csv").write_text("time,a\n0,1\n0.1,2\n")
    before = set(tmp_path.iterdir())
    code, out, err = simulate(capsys, "stewart", *QUICK, *words.split())
    assert (code, out) == (2, "") and err.count("\n") == 1 and REFUSED[words] in err
    assert set(tmp_path.iterdir()) == before


def test_motions_to_watch(tmp_path: Path, capsys: Capture) -> None:
    from PIL import Image

    gif, page = tmp_path / "m.gif", tmp_path / "m.html"
    words = ("--step", "0.02", "--no-compile", "--time", "0.2")
    assert simulate(capsys, "slider_crank", *words, "--animate", str(gif), "--view=20,30")[0] == 0
    with Image.open(gif) as image:
        frames, shown = [], 0
        for k in range(image.n_frames):
            image.seek(k)
            frames.append(np.asarray(image.convert("RGB"), int))
            shown += image.info["duration"]
    assert shown == pytest.approx(240, abs=10)  # ms: as long as it took, and the last one
    assert len(frames) == 6 and frames[0].shape[1] == 640 and frames[0].shape[0] % 2 == 0
    assert np.abs(frames[0] - frames[-1]).max() > 100  # it moves
    assert simulate(capsys, "slider_crank", *words, "--animate", str(page))[0] == 0
    text = page.read_text()
    assert not re.search(r"https?://|src=['\"](?!data:)|<link|@import", text)


def test_a_video_or_the_sentence_that_ffmpeg_is_missing(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutjoint.model.view import film

    words = ("slider_crank", "--step", "0.02", "--no-compile", "--time", "0.2")
    path = tmp_path / "m.mp4"
    if film._ffmpeg() is not None:
        assert simulate(capsys, *words, "--animate", str(path))[0] == 0
        assert path.read_bytes()[4:8] == b"ftyp"
        path.unlink()
    monkeypatch.setattr(film, "_ffmpeg", lambda: None)
    code, _, err = simulate(capsys, *words, "--animate", str(path))
    assert code == 2 and "needs ffmpeg, which is not installed: pip install imageio-ffmpeg" in err
    assert not list(tmp_path.iterdir())


HOSTILE = """
description: "<script>alert(1)</script> & 'quotes'"
gravity: 0
bodies: {cart: {mass: 2, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {rail: {type: prismatic, parent: ground, child: cart, at: [0, 0, 0], axis: x}}
motors: {push: {joint: rail, limit: 3}}
"""


def test_a_report_is_one_page_with_everything_escaped(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "cart.yaml").write_text(HOSTILE)
    page = tmp_path / "run.html"
    words = [str(tmp_path / "cart.yaml"), *QUICK, "--input", "push=sum(5, sine(1, <2))"]
    assert simulate(capsys, *words, "--report", str(page))[0] == 2
    words[-1] = "push=sum(5, sine(1, 2))"
    code, _, err = simulate(capsys, *words, "--report", str(page), "--unit", "mm")
    assert code == 0 and "gave no more than its limit, 3" in err
    text = page.read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
    assert not re.search(r"https?://|src=['\"](?!data:)|<link|@import", text)
    for title in ("Run", "Motion", "Outputs", "Inputs", "Energy", "Loops", "Reactions", "Settings"):
        assert f"<h2>{title}</h2>" in text
    assert "This run can be trusted" in text and "gave no more than its limit" in text
    assert "push=sum(5, sine(1, 2))" in text


@pytest.mark.browser
def test_nothing_of_a_report_leaves_the_page(tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "run.html"
    words = ("stewart", *QUICK, "--input", "motor1=sine(amplitude=5, frequency=2)")
    assert simulate(capsys, *words, "--output", "body.*.angular_velocity", "--report", str(page))[0] == 0
    with Browser(tmp_path / "profile", 1280, 800) as browser:
        browser.open(page.as_uri())
        nothing_outside(browser)
        size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        browser.call("Emulation.setDeviceMetricsOverride", **size)
        browser.until("window.innerWidth === 400")
        nothing_outside(browser)
        browser.click("Play")
        browser.until("+document.getElementById('when').value > 0")


def nothing_outside(browser: Browser) -> None:
    assert browser.script("document.documentElement.scrollWidth <= window.innerWidth")
    parts = "'h1,h2,p,figure,canvas,button,label,.wide'"
    beyond = "e => e.getBoundingClientRect().right > window.innerWidth + 1"
    assert browser.script(f"[...document.querySelectorAll({parts})].filter({beyond}).length") == 0


def test_a_doubtful_run_with_inputs_over_time_ends_with_four(tmp_path: Path, capsys: Capture) -> None:
    stiff = tmp_path / "stiff.yaml"
    stiff.write_text(HOSTILE.replace("axis: x", "axis: x, stiffness: 1e8"))
    page = tmp_path / "run.html"
    words = ["--stepper", "single", "--step", "1e-3", "--time", "0.01", "--no-compile"]
    code, _, err = simulate(capsys, str(stiff), *words, "--input", "push=sine(1, 5)", "--report", str(page))
    assert code == 4 and "do not trust this run" in err
    assert "Do not trust this run:" in page.read_text()
