"""timing-audit: where does the decode cycle spend time that nobody measures?"""

__version__ = "0.1.0"
