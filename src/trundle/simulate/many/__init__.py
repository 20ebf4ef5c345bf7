"""Thousands of runs of one model in one call.

`feedback` is the policy that the compiled loop knows, `many` the verb: runs that stay in one mode are integrated side
by side in C, the others one at a time by the runner of `simulate`; `result` holds what came of them.
"""
