"""What a simulation in the loop with a device refuses and forgives; C gets it by a generated header.

What concerns packets alone stands in `packets.py`, which the device has too.
"""

# -- packets ---------------------------------------------------------------------------------------
DRAIN = 256  # packets read in one period at most
DRAIN_SHARE = 0.25  # of a period: no longer is spent on reading, whatever comes in
QUEUE = 65536  # bytes that wait in the socket: more would be read when it is old
MOST = 65507  # bytes of a UDP packet
LEAST_KEY = 16  # bytes of a key file: shorter ones can be tried out

# -- torques ---------------------------------------------------------------------------------------
TIMEOUT = 0.2  # seconds of silence before the watchdog acts
RANGE = 1e4  # m/s²: no drive moves all bodies together at a thousand g; a command that would is an error
RANGE_OF_OTHERS = 1e6  # rad, m, their rates, V: inputs that are no force and beyond this are errors too
STREAM_LAG = (
    2.5  # periods of streamed positions that their interpolation is behind: two, and half for late ones
)
WATCHDOGS = ("zero", "hold")  # what torques do when commands stop: vanish, or stay as they were last

FREQUENCY = 20.0  # rad/s: how stiffly told positions and velocities are followed

# -- time ------------------------------------------------------------------------------------------
REPAY = 4  # periods between two extra steps that pay back what an overrun has missed
FORGIVEN = 2.0  # seconds of debt beyond which it is dropped
BUSY = 0.8  # of a period that waking up and the worst step may take at the rate that is recommended
