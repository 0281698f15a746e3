"""The version; the same as that of spacelandd."""

__version__ = "0.1.0"
