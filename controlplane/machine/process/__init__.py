"""Programs, processes and clocks: starting, following, ending and recognising them."""
