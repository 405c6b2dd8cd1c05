"""What acts: one file a kind of element, all with one contract (`contract.py`)."""

from .bushing import BushingElement
from .contract import register
from .joint_force import JointForceElement
from .load import LoadElement
from .motor import MotorElement
from .port import PortElement
from .sensor import SensorElement
from .strut import StrutElement

for element in (
    JointForceElement(),
    MotorElement(),
    StrutElement(),
    LoadElement(),
    PortElement(),
    BushingElement(),
    SensorElement(),
):
    register(element)
