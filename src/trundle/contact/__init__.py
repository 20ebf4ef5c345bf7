"""Where two bodies touch and the law of the touch."""
