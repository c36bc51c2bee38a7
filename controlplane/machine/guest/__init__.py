"""Guests: virtual machines in virtual time, one for each trial."""
