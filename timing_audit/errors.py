"""The one error that a user may see: what happened, where, and what to do about it."""

USAGE = 2
UNAUDITABLE = 3


class TimingAuditError(Exception):
    """An expected failure, told in one line.

    `message` says what and where, `hint` what to do, `exit_code` is 2 for usage or configuration
    and 3 for a target that could not be audited or written.
    """

    def __init__(self, message: str, *, hint: str = "", exit_code: int = UNAUDITABLE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message
