"""The survey's judge over other simulators: the same scenes, the same output times, one measure."""
