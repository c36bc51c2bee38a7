"""The one way in and out of a lane: programmed, loaded with flows, drained, given back."""
