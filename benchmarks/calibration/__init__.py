"""Gate and matching thresholds from labelled questions: ROC, sweep, choice (DGRAG §IV-E, Fig. 11). Pure."""

from benchmarks.calibration.choice import Calibration, calibrate
from benchmarks.calibration.signals import Signals, signals_of
from benchmarks.calibration.text import render

__all__ = ["Calibration", "Signals", "calibrate", "render", "signals_of"]
