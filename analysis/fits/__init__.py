"""Fits and Monte Carlos behind the numbers of the models and of the searches; see its README."""
