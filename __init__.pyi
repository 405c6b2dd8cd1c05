# The public names, and where each lives: one table for imports, types and the reference.
#
# `cutjoint.NAME` is imported from the home named here when it is first asked for; type checkers read this
# file as the stub it is; `make api` writes docs/api.md in this order, a comment that begins a block being its
# heading. A statement stands on one line. A module that moves changes its line here and nothing else.

__version__: str

# Describe a mechanism
from .model.describe.mechanism import Mechanism as Mechanism, Body as Body
from .model.describe.joint import Joint as Joint, Frame as Frame
from .model.describe.motors import Motor as Motor
from .model.describe.elements import Strut as Strut, Bushing as Bushing, Load as Load, PointMass as PointMass
from .model.describe.mechanism import Coupling as Coupling
from .model.describe.sensors import Sensor as Sensor
from .model.describe.visuals import NamedFrame as NamedFrame, Visual as Visual
from .model.loading import load as load
from .model.describe.writer import save as save
from .model.describe.reader import list_examples as list_examples
from .model.robots.load_robot import load_robot as load_robot
from .model.robots.translate import ImportOptions as ImportOptions, Imported as Imported

# Simulate
from .model.simulation import Simulation as Simulation
from .model.engine import Engine as Engine
from .model.state import State as State
from .model.run.trajectory import Trajectory as Trajectory
from .model.run.run_quality import RunQuality as RunQuality
from .model.run.events import Event as Event
from .model.run.assembly import AssemblyReport as AssemblyReport
from .model.run.mobility import Mobility as Mobility
from .model.variables import Variables as Variables, Variable as Variable
from .model.run.loads import joint_loads as joint_loads, JointLoad as JointLoad, Peak as Peak

# Inputs over time
from .model import laws as laws

# Equilibria and linear models
from .model.run.equilibrium import hold as hold, settle as settle, Equilibrium as Equilibrium
from .model.run.stroke import statics_over as statics_over, StaticPoint as StaticPoint
from .model.linear.linearize import linearize as linearize
from .model.linear.discrete import discretize as discretize
from .model.linear.model import LinearModel as LinearModel, Mode as Mode

# Put a frame somewhere
from .model.chain.chain import Chain as Chain, FramePose as FramePose
from .model.chain.target import Target as Target
from .model.chain.core import ChainMotion as ChainMotion
from .model.chain.plan import Plan as Plan
from .model.chain.maps import FrameJacobian as FrameJacobian, Transmission as Transmission, Side as Side

# Change a design
from .model.design.propagate import propagate as propagate, stretch as stretch, Propagation as Propagation
from .model.design.sensitivity import sensitivities as sensitivities, Sensitivity as Sensitivity
from .model.design.sensitivity import motion_sensitivities as motion_sensitivities
from .model.design.eigenvalue_sensitivity import eigenvalue_sensitivities as eigenvalue_sensitivities

# Many at once
from .model.batch.rollout import rollout as rollout
from .model.batch.batch_arrays import Rollout as Rollout, Feedback as Feedback
from .model.batch.kernels import BatchKernel as BatchKernel
from .model.batch.step_jacobians import step_jacobians as step_jacobians, StepJacobians as StepJacobians
from .model.batch.sweep import sweep as sweep, Sweep as Sweep
from .model.batch.executors import run_sweep as run_sweep
from .model.batch.store import read_results as read_results
from .model.batch.environment import Environment as Environment

# Check
from .model.verify.verify import verify as verify
from .model.verify.report import TrustReport as TrustReport, Check as Check

# See
from .model.view.view import Viewer as Viewer
from .model.view.pull import with_handles as with_handles

# Export
from .fmu.export import export as export
from .fmu.linear import linear_model as linear_model
from .fmu.web.web_export import export_page as export_page
from .fmu.ssp.ssp import write_ssp as write_ssp
from .realtime.build import build_realtime as build_realtime
from .native.chain_library import build_library as build_library

# The papers' formulations
from .papers.methods.method_simulation import MethodSimulation as MethodSimulation
from .model import cartesian as cartesian

# Errors
from .model.base.errors import CutjointError as CutjointError, DescriptionError as DescriptionError
from .model.describe.validation import Flaw as Flaw
from .model.base.errors import AssemblyError as AssemblyError
from .model.design.gaps import NotAbsorbed as NotAbsorbed
from .model.base.errors import SimulationError as SimulationError, UnknownName as UnknownName

# Packages
from . import model as model, native as native, fmu as fmu, realtime as realtime, ros as ros, papers as papers
from . import examples as examples, benchmarks as benchmarks
