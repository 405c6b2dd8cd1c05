"""Xacro files expand to what the xacro package makes of them, and nothing in them is run."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cutjoint.model.base.errors import CutjointError, DescriptionError
from cutjoint.model.cli.main import add_arguments, commands, main
from cutjoint.model.cli.parser import Parser
from cutjoint.model.loading import load
from cutjoint.model.robots.expand_xacro import expand_xacro
from cutjoint.model.robots.load_robot import load_robot
from cutjoint.model.robots.translate import ImportOptions
from cutjoint.model.robots.xml_nodes import Node, parse_xml

XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="{}"/><xacro:property name="mass" value="${{2 * 0.5}}"/>
<link name="base"/><xacro:bar name="arm" m="${{mass}}"/><joint name="pin" type="continuous">
<parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
MACRO = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="bar" params="name m"><link name="${name}">
<inertial><origin xyz="0.5 0 0"/><mass value="${m}"/><inertia ixx="0.01" iyy="${m / 12}" izz="${m / 12}"
ixy="0" ixz="0" iyz="0"/></inertial></link></xacro:macro></robot>"""


def arm(folder: Path, include: str = "bar.xacro", old: str = "", new: str = "") -> Path:
    """A robot of two files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bar.xacro").write_text(MACRO)
    path = folder / "robot.xacro"
    path.write_text(XACRO.format(include).replace(old, new) if old else XACRO.format(include))
    return path


def document(folder: Path, body: str) -> Path:
    path = folder / "it.xacro"
    path.write_text(f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{body}</robot>')
    return path


def refused(path: Path, sentence: str, **options: Any) -> str:
    with pytest.raises(DescriptionError, match=sentence) as caught:
        expand_xacro(path, **options)
    assert str(path.parent) in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


def plain(node: Node) -> Any:
    """A tree as tuples, without blanks and names of namespaces."""
    text = " ".join("".join(part for part in node.content if isinstance(part, str)).split())
    attributes = sorted((key, value) for key, value in node.attributes.items() if key[:5] != "xmlns")
    return node.tag, attributes, text, [plain(child) for child in node.children]


def by_xacro(path: Path, **arguments: str) -> Any:
    """What the xacro package makes of a file, in a process of its own since it keeps state."""
    code = (
        "import json, sys, xacro; "
        "sys.stdout.write(xacro.process_file(sys.argv[1], mappings=json.loads(sys.argv[2])).toxml())"
    )
    words = [sys.executable, "-c", code, str(path), json.dumps(arguments)]
    return plain(parse_xml(subprocess.run(words, check=True, capture_output=True).stdout, "xacro"))


def test_a_robot_of_two_files(tmp_path: Path) -> None:
    mechanism = load(arm(tmp_path))
    assert mechanism.body("arm").mass == 1.0 and mechanism.body("arm").inertia[1] == pytest.approx(1 / 12)


FEATURES = """
<xacro:arg name="size" default="0.3"/><xacro:arg name="kind" default="left"/>
<xacro:arg name="flag" default="true"/><xacro:arg name="count" default="3"/>
<xacro:property name="a" value="2"/><xacro:property name="b" value="${a * 1.5}"/>
<xacro:property name="c" value="${b + a}"/><xacro:property name="a" value="4"/>
<xacro:property name="greedy" value="${a}" lazy_eval="false"/><xacro:property name="a" value="5"/>
<one b="${b}" c="${c}" greedy="${greedy}" a="${a}"/>
<xacro:property name="unset" default="7"/><xacro:property name="a" default="8"/>
<defaults unset="${unset}" a="${a}"/><xacro:property name="unset" remove="true"/>
<xacro:property name="unset" default="9"/><again unset="${unset}"/>
<numbers x="${1/3}" y="${7//2}" z="${7 % 4}" p="${2**10}" e="${1e-9}" n="${-a}" i="${3}" t="${True}"/>
<text>${a} and $(arg size), $${escaped} and $$(too) 5$ ${'quoted'}</text>
<maths s="${sin(pi/6)}" r="${radians(30)}" m="${math.sqrt(2)}" h="${hypot(3,4)}" d="${degrees(pi)}"/>
<words u="${'abc'.upper()}" s="${'a b'.split()[1]}" w="${'abc'.startswith('a')}" f="${'%.3f %s' % (pi, a)}"
  j="${'-'.join(['a', 'b'])}" r="${'abc'.replace('b', 'x')}" t="${'abc'[-2:]}" l="${len('abc')}"/>
<lists i="${[1, 2, 3][1]}" m="${max([1, 5, 2])}" s="${python.sum([1, 2])}" x="${(1, 2)}"
  l="${list(map(float, '1 2'.split()))}" r="${list(python.range(3))}" in="${2 in [1, 2]}"
  z="${python.sorted([3, 1])}" t="${python.isinstance(a, int)}"/>
<xacro:property name="box" value="${dict(x=1, y=dict(z=2.5))}"/>
<xacro:property name="dots" value="${xacro.dotify(box)}"/>
<dictionary x="${box['x']}" z="${dots.y.z}" k="${'x' in box}" g="${box.get('no', 4)}"/>
<xacro:if value="${a &gt; 3 and not (a == 4)}"><kept/></xacro:if>
<xacro:unless value="$(arg flag)"><dropped/></xacro:unless><xacro:if value="1">text<kept2/></xacro:if>
<choice x="${'l' if '$(arg kind)' == 'left' else 'r'}" y="${1 &lt; a &lt;= 5}"/>
<launch x="$(eval size * 2)" y="$(eval count + 1)" o="$(optenv NO_SUCH_VARIABLE a b)"/>
<xacro:property name="block"><in a="${a}"/><in2/></xacro:property><xacro:insert_block name="block"/>
<xacro:macro name="m" params="x y:=3 z:=^ w:=^|${a + 1} q:='a b' *one **two">
  <made x="${x}" y="${y}" z="${z}" w="${w}" q="${q}"><xacro:insert_block name="one"/></made>
  <xacro:insert_block name="two"/><xacro:property name="local" value="${x}"/><local x="${local}"/>
  <xacro:property name="up" value="${x}" scope="parent"/>
  <xacro:property name="all" value="${y}" scope="global"/>
</xacro:macro>
<xacro:property name="z" value="zed"/>
<xacro:m x="${a}"><first at="${a}"><deep/></first><second><s1/><s2 b="${b}"/></second></xacro:m>
<scopes up="${up}" all="${all}"/>
<xacro:macro name="count" params="n"><n v="${n}"/>
  <xacro:if value="${n &gt; 0}"><xacro:count n="${n - 1}"/></xacro:if></xacro:macro><xacro:count n="20"/>
<xacro:call macro="count" n="0"/>
<xacro:macro name="outer" params="p"><xacro:macro name="inner" params="q"><o p="${p}" q="${q}"/></xacro:macro>
  <xacro:inner q="1"/></xacro:macro><xacro:outer p="2"/>
<parent><xacro:attribute name="late" value="v${a}"/><xacro:element xacro:name="made_${a}" k="1"/></parent>
<xacro:property name="sum_of_x" value="1_000"/><xacro:property name="word" value="'12'"/>
<literals s="${sum_of_x}" w="${word + 3}"/>
<xacro:include filename="part.xacro" ns="ns"/><named v="${ns.inside}"/><xacro:ns.shape size="2"/>
<xacro:include filename="no_such_file.xacro" optional="true"/><xacro:include filename="glob_*.xacro"/>
<xacro:property name="yaml" value="${xacro.load_yaml('data.yaml')}"/>
<yaml a="${yaml.list[1].k}" f="${yaml['float']}" i="${yaml.int + 1}" y="${yaml.truth}" n="${yaml.none}"
  o="${yaml.oct}" d="${yaml.angle}" mm="${yaml.length}" s="${yaml.text}" e="${yaml.exp}"
  x="${yaml.hex}" w="${yaml.word}"/>
"""
DATA = """
list: [1, {k: deep}]
float: 2.50
int: 41
truth: yes
none: ~
oct: 010
angle: !degrees 90
length: !millimeters 2*3
text: "007"
exp: 1e-3
hex: 0x1F
word: off_road
int: 42
"""
PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="inside" value="${a}"/>
<xacro:macro name="shape" params="size"><shape s="${size * inside}"/></xacro:macro><part/></robot>"""


def test_every_feature_gives_what_the_xacro_package_gives(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    (tmp_path / "data.yaml").write_text(DATA)
    (tmp_path / "part.xacro").write_text(PART)
    for name in "ab":
        (tmp_path / f"glob_{name}.xacro").write_text(f"<robot><{name}/></robot>")
    path = document(tmp_path, FEATURES)
    assert plain(expand_xacro(path)) == by_xacro(path)
    arguments = {"size": "0.5", "kind": "right", "flag": "false"}
    assert plain(expand_xacro(path, arguments)) == by_xacro(path, **arguments)


HOSTILE = {
    "lambda": "(lambda: 1)()",
    "hidden lambda": "list(map(lambda x: x.__class__, [1]))",
    "dunder attribute": "''.__class__",
    "dunder name": "__import__('os')",
    "dunder of a function": "sin.__self__",
    "subclasses": "().__class__.__base__.__subclasses__()",
    "list comprehension": "[x for x in [1]]",
    "generator": "max(x for x in [1])",
    "formatted text": "f'a'",
    "format": "'{0.real'.format(pi)",
    "format by %": "'%999999999d' % 1",
    "format by star": "'%*d' % (999999999, 1)",
    "walrus": "(x := 1)",
    "vars": "python.vars(math)",
    "type": "python.type('a', (), dict())",
    "power": "9**9**9**9",
    "power of powers": "(((10**300)**100)**100)",
    "shift": "1 << 10**9",
    "text bomb": "'a' * 10**9",
    "list bomb": "[0] * 10**9",
    "range": "list(python.range(10**9))",
    "ranges of ranges": "list(map(list, [python.range(9999)] * 9999))",
    "factorial": "math.factorial(10**6)",
    "rounding": "round(1, -10**9)",
    "padding": "'a'.center(10**9)",
    "replacing": "('a' * 90000).replace('a', 'a' * 90000)",
    "joining": "('a' * 90000).join(['a'] * 90000)",
    "unpacking": "max(*[1, 2])",
    "keywords": "dict(**dict(a=1))",
    "deep": "(" * 90 + "1" + ")" * 90 + "+1" * 300,
    "long": "1" + "+1" * 3000,
    "nested list": "[" * 70 + "]" * 70,
    "key function": "python.sorted(['a'], key=str)",
    "method of a type": "str.mro()",
    "complex": "(-8)**0.5",
    "bytes": "b'a'.hex()",
    "a function itself": "sin",
    "a namespace itself": "python",
    "a namespace in a list": "[math]",
    "a function in a dictionary": "dict(a=sin)",
    "await": "(await x)",
    "yield": "(yield 1)",
    "ellipsis": "...",
    "matrix product": "1 @ 2",
    "format by a dictionary": "'%(a)s' % dict(a=1)",
    "format_map": "'a'.format_map(dict(a=1))",
    "encode": "'a'.encode()",
    "translate": "'a'.translate(dict())",
    "maketrans": "str.maketrans('a', 'b')",
    "from bytes": "int.from_bytes('a', 'big')",
    "getattr": "python.getattr('a', 'upper')",
    "globals": "python.globals()",
    "open": "python.open('/etc/hostname')",
    "evaluating": "python.eval('1')",
    "importing": "python.__import__('os')",
    "code of a function": "xacro.load_yaml.__globals__",
    "underscores by name": "math.__loader__",
    "wide letters": "''.__\uff43lass__",
}


@pytest.mark.parametrize("expression", HOSTILE.values(), ids=HOSTILE)
def test_hostile_expressions_are_refused(tmp_path: Path, expression: str) -> None:
    """Each names the file, the line and --trust; none takes time or memory."""
    xml = expression.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    said = refused(document(tmp_path, f'<a v="${{{xml}}}"/>'), "it.xacro, line 1: xacro: .*--trust")
    assert len(said) < 600


BEYOND = {
    "environment": ('<a v="$(env HOME)"/>', "--trust"),
    "working folder": ('<a v="$(cwd)"/>', "--trust"),
    "doubling": (
        "".join(f'<xacro:property name="p{k + 1}" value="${{[p{k}, p{k}]}}"/>' for k in range(40))
        + '<xacro:property name="p0" value="x"/><a v="${p40}"/>',
        "--trust",
    ),
    "a list in itself": (
        '<xacro:property name="l" value="${[1]}"/><a v="${l.append(l)}"/><b v="${str(l)}"/>',
        "too deep",
    ),
    "endless macro": ('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', "deeper than"),
    "growing macro": (
        '<xacro:macro name="m" params="n"><xacro:if value="${n}"><xacro:m n="${n-1}"/><xacro:m n="${n-1}"/>'
        '</xacro:if><a v="${n}"/></xacro:macro><xacro:m n="60"/>',
        "than any robot needs",
    ),
    "itself included": ('<xacro:include filename="it.xacro"/>', "deeper than|nested too deep"),
    "property by itself": ('<xacro:property name="p" value="${p}"/><a v="${p}"/>', "defined by itself"),
    "endless names": ('<xacro:include filename="/dev/zero"/>', "outside the folder"),
    "a file elsewhere": ("<a v=\"${xacro.load_yaml('/etc/hostname')}\"/>", "outside the folder"),
    "package upwards": ('<a v="$(find ..)/x"/>', "no package"),
    "property with dots": ('<xacro:property name="__builtins__" value="1"/>', "no name of a property"),
    "many dollars": ("<a>" + "${" * 5000 + "</a>", "is no expression"),
    "arguments of arguments": (
        '<xacro:arg name="a0" default="aaaaaaaaaaaaaaaa"/>'
        + "".join(f'<xacro:arg name="a{k + 1}" default="{f"$(arg a{k})" * 10}"/>' for k in range(9))
        + '<b v="$(arg a9)"/>',
        "more steps than any robot needs",
    ),
    "an argument repeated": (
        f'<xacro:arg name="x" default="{"A" * 400_000}"/><a v="{"$(arg x)" * 4000}"/>',
        "more steps than any robot needs",
    ),
    "macros of nothing": (
        '<xacro:macro name="m0"/>'
        + "".join(f'<xacro:macro name="m{k + 1}">{f"<xacro:m{k}/>" * 99}</xacro:macro>' for k in range(20))
        + "<xacro:m20/>",
        "more steps than any robot needs",
    ),
    "folders without end": ('<xacro:include filename="/*/*/*/*/*/*/x"/>', "folders by a pattern.*--trust"),
    "there and back": ('<xacro:include filename="../*/../*/../*/../*/x"/>', "folders by a pattern.*--trust"),
    "files elsewhere": ('<xacro:include filename="/etc/*.conf" optional="true"/>', "outside the folder"),
    "packages without end": ("<a>" + "$(find no)" * 4000 + "</a>", "no package"),
    "half a character": ("<a v=\"${'\\ud800'}\"/>", "a character that XML has not, '.ud800'"),
    "no character": ("<a v=\"${'\\x00'}\"/>", "a character that XML has not"),
    "evaluated": ('<a v="$(eval __import__)"/>', "--trust"),
}


@pytest.mark.parametrize("case", BEYOND)
def test_hostile_files_are_refused(tmp_path: Path, case: str) -> None:
    body, sentence = BEYOND[case]
    refused(document(tmp_path, body), sentence)


def test_large_files_can_not_be_read_again_and_again(tmp_path: Path) -> None:
    """Each reading was 1000 steps, whatever it took: 3000 times ten megabytes."""
    (tmp_path / "part.xacro").write_text(f"<robot><!--{'x' * 2_000_000}--></robot>")
    (tmp_path / "data.yaml").write_text(f"a: 1 # {'x' * 900_000}")
    include, read = '<xacro:include filename="part.xacro"/>', "<a v=\"${xacro.load_yaml('data.yaml')}\"/>"
    for line in (include, read):
        expand_xacro(document(tmp_path, line))
        refused(document(tmp_path, line * 20), "more steps than any robot needs")


@pytest.mark.filterwarnings("error")
def test_what_python_warns_of_is_not_said(tmp_path: Path) -> None:
    expand_xacro(document(tmp_path, "<a v=\"${'\\d' if 1 is 1 else 0}\"/>"))


def test_the_folder_of_the_user_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder around a file counts by its name, but not one that holds all that a user has."""
    monkeypatch.setenv("HOME", str(tmp_path / "robin"))
    path = arm(tmp_path / "robin/downloads", "$(find robin)/bar.xacro")
    (tmp_path / "robin/bar.xacro").write_text(MACRO)
    refused(path, "no package 'robin' around the file")
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    assert load(path).body("arm").mass == 1.0


# xacro's guard looks at the names of the outer code alone; a lambda's are inside.
EXPLOIT = (
    "[c for c in (lambda: ().__class__.__base__.__subclasses__())() if c.__name__ == 'catch_warnings'][0]"
    "()._module.__builtins__['open']('{}', 'w').close()"
)


def test_a_command_in_a_file_is_not_run_unless_the_user_trusts_it(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("xacro")
    done = tmp_path / "done"
    exploit = f"(lambda: {EXPLOIT.format(done)})() or 1"
    path = arm(tmp_path, old="2 * 0.5", new=exploit)
    with pytest.raises(CutjointError, match=r"robot.xacro, line 3.*lambda.*--trust"):
        load(path)
    assert main(["show", str(path)]) != 0 and not done.exists()
    assert "--trust" in capsys.readouterr().err
    assert main(["show", str(path), "--trust"]) == 0 and done.exists()
    done.unlink()
    assert load(path, trust=True).body("arm").mass == 1.0 and done.exists()


def test_every_command_that_takes_a_robot_takes_trust_and_repairs() -> None:
    for name, command in commands().items():
        parser = Parser()
        add_arguments(importlib.import_module(command.module), name, parser)
        options = {word for action in parser._actions for word in action.option_strings or [action.dest]}
        if "mechanism" in options or name in ("import", "replay"):
            assert {"--trust", "--accept-inertia"} <= options, name


def test_xacro_finds_the_package_it_is_in(tmp_path: Path) -> None:
    """By its package.xml, by the name of a folder, or beside it; nothing needs to be sourced."""
    for folder in ("copy/robots", "copy/urdf", "plain/urdf"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "copy/package.xml").write_text("<package><name> arms </name></package>")
    (tmp_path / "copy/urdf/bar.xacro").write_text(MACRO)
    assert load(arm(tmp_path / "copy/robots", "$(find arms)/urdf/bar.xacro")).body("arm").mass == 1.0
    path = arm(tmp_path / "plain/urdf", "$(find plain)/urdf/bar.xacro")
    assert load(path).body("arm").mass == 1.0
    path = arm(tmp_path / "plain/urdf", "$(find arms)/urdf/bar.xacro")
    refused(path, "no package 'arms' around the file")
    (tmp_path / "plain/package.xml").write_text("<package><name>plain</name></package>")
    assert load(path).body("arm").mass == 1.0  # beside its own package
    far = tmp_path / "far/away"
    far.mkdir(parents=True)
    (tmp_path / "copy").rename(far / "copy")
    refused(path, "no package 'arms' around the file")
    options = ImportOptions(packages=(far,))
    assert load_robot(path, options).mechanism.body("arm").mass == 1.0
    assert main(["import", str(path), "--packages", str(far)]) == 0


def test_arguments_come_from_the_command_line(tmp_path: Path, capsys: Any) -> None:
    path = arm(tmp_path, old='value="${2 * 0.5}"', new='value="$(arg mass)"')
    refused(path, "needs the argument 'mass'")
    assert main(["import", str(path), "--argument", "mass=3.5", "-o", str(tmp_path / "arm.yaml")]) == 0
    assert load(tmp_path / "arm.yaml").body("arm").mass == 3.5
    assert main(["import", str(path), "--argument", "mass"]) != 0
    assert "NAME=VALUE" in capsys.readouterr().err


def test_xacro_reads_nothing_outside_its_folder(tmp_path: Path) -> None:
    path = arm(tmp_path / "in", "../bar.xacro")
    (tmp_path / "bar.xacro").write_text(MACRO)
    refused(path, "outside the folder")
    (tmp_path / "in/link.xacro").symlink_to(tmp_path / "bar.xacro")
    refused(arm(tmp_path / "in", "link.xacro"), "outside the folder")
    refused(arm(tmp_path / "in", "../*.xacro"), "outside the folder")
    path = arm(tmp_path / "in")
    (tmp_path / "in/bar.xacro").write_text("<!DOCTYPE a [<!ENTITY b 'c'>]>" + MACRO)
    refused(path, "entities are refused")


def test_what_is_wrong_is_said_with_file_line_and_expression(tmp_path: Path) -> None:
    path = arm(tmp_path, old="mass}", new="weight}")
    refused(path, r"line 3: xacro: '\$\{weight\}' .*'weight' is not defined")
    cases = {
        '<a v="${1/0}"/>': "division by zero",
        '<a v="${1 +}"/>': "is no expression",
        "<a v=\"${xacro.fatal('no', 5)}\"/>": "says: no 5",
        '<a v="$(arg no)"/>': "needs the argument 'no'",
        "<xacro:no/>": "no macro 'no'",
        '<xacro:macro name="m" params="x *b"/><xacro:m x="1"/>': "needs a block 'b'",
        '<xacro:macro name="m" params="x"/><xacro:m/>': "needs the parameter 'x'",
        '<xacro:macro name="m" params="x"/><xacro:m x="1" y="2"/>': "has no parameter 'y'",
        '<xacro:macro name="m"/><xacro:m><b/></xacro:m>': "takes no block <b>",
        '<xacro:if value="maybe"/>': "must be true or false",
        "<xacro:if/>": "needs the attribute|must be true or false",
        '<xacro:insert_block name="b"/>': "no block 'b'",
        "<a v=\"${xacro.load_yaml('no.yaml')}\"/>": "there is no file 'no.yaml'",
        '<a v="${[1][5]}"/>': "out of range",
        "<a v=\"${dict(a=1)['b']}\"/>": "there is no 'b'",
    }
    for body, sentence in cases.items():
        refused(document(tmp_path, body), sentence)
