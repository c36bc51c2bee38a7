"""What a queue discipline in one C file does: compiled, loaded, fed with packets, judged."""
