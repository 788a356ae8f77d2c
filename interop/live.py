def flows(*_): pass
