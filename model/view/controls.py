"""The controls of the browser's view: what is on the page, and whom it tells."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from ..base.errors import CutjointError
from .camera import PRESETS, Cameras
from .film import ENDINGS
from .live_plot import Plots
from .station import Station
from .timeline import FRAME

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1")
HINT = "Drag a body to pull it, and anything else to turn the picture."
NONE = "none"


class Page(Protocol):
    """What the controls speak to."""

    server: Any
    stations: list[Station]
    cameras: Cameras
    playing: bool

    @property
    def now(self) -> int: ...
    @property
    def length(self) -> float: ...
    def locked(self, action: Callable[[], Any]) -> None: ...
    def play(self, playing: bool) -> None: ...
    def reset(self) -> None: ...
    def scrub(self, seconds: float) -> None: ...
    def pose(self, station: Station, name: str, value: float) -> None: ...
    def pull(self, station: Station, body: str, event: Any) -> None: ...
    def save(self, ending: str) -> list[tuple[str, bytes]]: ...


class Controls:
    """All that can be pressed, dragged and read beside the picture."""

    def __init__(self, page: Page):
        self.page, self.gui = page, page.server.gui
        self.gui.configure_theme(show_share_button=False, show_logo=False)
        self.gui.main_panel.dock_right()
        self.plots = Plots(self.gui, len(page.stations) > 1)
        page.server.on_client_connect(lambda client: self.plots.place(client.camera.image_width))
        self.button = self.gui.add_button("Play")
        self.button.on_click(lambda _: page.locked(lambda: page.play(not page.playing)))
        self.gui.add_button("Reset").on_click(lambda _: page.locked(page.reset))
        hint = "Drag through what has been simulated"
        self.scrub = self.gui.add_slider("time (s)", 0.0, 1.0, FRAME, 0.0, hint=hint)
        self.scrub.on_update(self.hand(lambda _: page.scrub(float(self.scrub.value))))
        self._speed = self.gui.add_dropdown("speed", SPEEDS, initial_value="1", hint="times real time")
        looks = self.gui.add_button_group("look", tuple(PRESETS))
        looks.on_click(lambda event: page.cameras.look(event.client, str(looks.value)))
        self.numbers = self.gui.add_markdown("")
        self.gui.add_markdown(HINT)
        for station in page.stations:
            station.add_sliders(self.gui, self.hand, self._title(station), page.pose)
            for body in station.scene.bodies:
                for grip in station.scene.grips(body):
                    grip.on_drag("left")(self._puller(station, body))
        self._add_choices()
        self._add_save()

    @property
    def times_real(self) -> float:
        """How fast time is to go."""
        return float(self._speed.value)

    def refresh(self, said: Iterable[str]) -> None:
        """Show where time is, and what there is to say."""
        stations = self.page.stations
        self.scrub.max = max(self.page.length, FRAME)
        self.scrub.value = round(FRAME * self.page.now, 4)
        parts = []
        for station in stations:
            parts += [f"**{station.name}**"] if len(stations) > 1 else []
            rows = "\n".join(f"| {name} |&ensp;{value} |" for name, value in station.numbers())
            parts.append(f"| | |\n|---|---|\n{rows}")
        self.numbers.content = "\n\n".join([*parts, *(f"**{text}**" for text in said)])

    def hand(self, action: Callable[[Any], Any]) -> Callable[[Any], None]:
        """An action for when a person moves a control; when we move it ourselves, nothing."""

        def moved(event: Any) -> None:
            if event.client_id is not None:
                self.page.locked(lambda: action(event))

        return moved

    def _title(self, station: Station) -> str:
        return f"{station.name}: " if len(self.page.stations) > 1 else ""

    def _puller(self, station: Station, body: str) -> Callable[[Any], None]:
        return self.hand(lambda event: self.page.pull(station, body, event))

    def _add_choices(self) -> None:
        gui, stations = self.gui, self.page.stations
        with gui.add_folder("show", expand_by_default=False):
            for station in stations:
                title, outputs = self._title(station), station.outputs
                self._chooser(f"{title}plot", outputs, self.plots.add, station, lambda _: self.plots.clear())
                self._chooser(f"{title}path of", [*station.places], Station.trace, station, Station.untrace)
            arrows = gui.add_checkbox("reactions", True, hint="Forces of the parent on the child")
            length = gui.add_slider("arrow length", 0.1, 5.0, 0.1, 1.0)
            names = gui.add_checkbox("names of motors", True)

        def shown(_: Any) -> None:
            for station in stations:
                station.scene.arrow_length = float(length.value)
                station.scene.reactions = bool(arrows.value)
                station.scene.show_names(bool(names.value))

        for control in (arrows, length, names):
            control.on_update(self.hand(shown))

    def _chooser(self, label: str, names: list[str], add: Any, station: Station, clear: Any) -> None:
        """Something to choose from a list, one after the other, and a way back to none."""
        chosen = self.gui.add_dropdown(label, [NONE, *names], initial_value=NONE)

        def choose(_: Any) -> None:
            if chosen.value == NONE:
                clear(station)
            else:
                add(station, str(chosen.value))

        chosen.on_update(self.hand(choose))

    def _add_save(self) -> None:
        with self.gui.add_folder("save", expand_by_default=False):
            ending = self.gui.add_dropdown("as", [e[1:] for e in ENDINGS], initial_value="html")
            button = self.gui.add_button("Save the time line")

        def save(event: Any) -> None:
            button.label, button.disabled = "Saving …", True
            try:
                for name, content in self.page.save(str(ending.value)):
                    event.client.send_file_download(name, content)
            except CutjointError as problem:
                event.client.add_notification("Not saved", str(problem))
            finally:
                button.label, button.disabled = "Save the time line", False

        button.on_click(save)
