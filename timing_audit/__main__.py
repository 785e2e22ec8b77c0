"""`python -m timing_audit`."""

from timing_audit.cli import main

if __name__ == "__main__":
    main()
