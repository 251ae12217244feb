"""Gate and matching thresholds from labelled questions: ROC, sweep, choice (DGRAG §IV-E, Fig. 11). Pure."""

from benchmarks.calibration.choice import Calibration, calibrate
from benchmarks.calibration.signals import Signals, signals_of
from benchmarks.calibration.sweep import Matching, matching
from benchmarks.calibration.text import render, render_matching

__all__ = ["Calibration", "Matching", "Signals", "calibrate", "matching", "render", "render_matching", "signals_of"]
