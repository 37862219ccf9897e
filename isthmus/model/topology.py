"""The static part of a model: which parts there are, and what they hang from."""

from __future__ import annotations

import equinox as eqx

from isthmus.record import Record


class Topology(Record):
    """What a mechanism consists of; programs are compiled for it."""

    name: str = eqx.field(static=True)
    link_names: tuple[str, ...] = eqx.field(static=True)
    joint_names: tuple[str, ...] = eqx.field(static=True)
    """Joint `i` carries link `i`."""
    joint_kinds: tuple[str, ...] = eqx.field(static=True)
    parents: tuple[int, ...] = eqx.field(static=True)
    """The link that joint `i` hangs from; −1: the world. Always smaller than `i`."""
    mimics: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """Joints that follow another one: (joint, source)."""
    prescribed: tuple[int, ...] = eqx.field(static=True)
    """Joints whose motion comes with the controls."""
    limited: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom with ends of travel."""
    saturated: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose motor torque is bounded."""
    position_controlled: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose command is a position, for a PD controller."""
    delay_steps: int = eqx.field(static=True)
    """How many past commands are kept; 0: motors act at once."""
    current_driven: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose motors have a motor constant."""
    biased: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom with a torque offset."""
    sticking: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom with stiction."""
    load_rubbing: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose dry friction grows with the motor torque."""
    bristling: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose dry friction builds up over some way after a reversal."""
    cogging: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose torque ripples with the position."""
    playing: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose spring and PD controller have play."""
    point_names: tuple[str, ...] = eqx.field(static=True)
    point_links: tuple[int, ...] = eqx.field(static=True)
    shape_names: tuple[str, ...] = eqx.field(static=True)
    shape_kinds: tuple[str, ...] = eqx.field(static=True)
    shape_links: tuple[int, ...] = eqx.field(static=True)
    shape_spans: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """Rows of `shape_points` that each shape owns."""
