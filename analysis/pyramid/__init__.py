"""Packets of a trial as bins of several widths, and the queue in any part of its time."""
