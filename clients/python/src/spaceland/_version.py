"""The version, which is that of spacelandd."""

__version__ = "0.1.0"
