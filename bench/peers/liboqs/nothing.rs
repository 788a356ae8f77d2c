//! Nothing: this package only pins the sources of a rival.
