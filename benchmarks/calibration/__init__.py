"""Thresholds of gate, matching and memories from labelled questions: ROC, sweep, choice (DGRAG §IV-E, Fig. 11; FD-RAG §5.3). Pure."""

from benchmarks.calibration.choice import Calibration, calibrate
from benchmarks.calibration.looked import looked
from benchmarks.calibration.pareto import swept
from benchmarks.calibration.signals import signals_of
from benchmarks.calibration.sweep import Matching, matching
from benchmarks.calibration.text import render, render_matching
from benchmarks.calibration.thresholds import render as render_thresholds
from benchmarks.calibration.thresholds import thresholds
from edge_node.calibration.signals import Signals

__all__ = [
    "Calibration",
    "Matching",
    "Signals",
    "calibrate",
    "looked",
    "matching",
    "render",
    "render_matching",
    "render_thresholds",
    "signals_of",
    "swept",
    "thresholds",
]
