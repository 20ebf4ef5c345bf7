"""The systems that come with trundle, a folder each; see `trundle.scenarios.system` for what a system is."""
