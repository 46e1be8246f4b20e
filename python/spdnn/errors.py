"""Python exceptions for errors. Messages are one line and name the expected value."""


class Error(Exception):
    """Base of all errors that spdnn raises itself."""


class UsageError(Error, ValueError):
    """A request for things that do not exist, or do not fit together."""


class DataError(Error, ValueError):
    """Arrays make no network or images, or a file is missing, unreadable or malformed (FILE:LINE:COLUMN: ...)."""


class Stopped(Error):
    """The time of a run was up. Its checkpoint is written, and the same call continues it."""


class DeviceError(Error, RuntimeError):
    """A device is missing or failed, or memory or threads are too few."""
