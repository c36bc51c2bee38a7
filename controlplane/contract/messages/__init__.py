"""Everything that the C programs say, as models; the JSON is written in hosts/.

A message is read once, where it arrives, by `read_message`; behind that there are attributes.
Unknown keys are ignored where a newer program may say more, and refused where they mean another
protocol, or a counter that could be a loss which nobody counts.
"""
