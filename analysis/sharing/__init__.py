"""Who shares the queue's memory: who held it when whose packet was dropped, and what each got."""
