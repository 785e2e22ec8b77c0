"""What the arguments of a timing call say: its label, whether an event times, which setter is meant."""

from __future__ import annotations

from timing_audit.model.pack import CallRule, SetterRule
from timing_audit.model.syntax import Attr, Call, Const, Expr, FString, Mapping, Name
from timing_audit.timing.substitute import GLOBAL
from timing_audit.timing.walk import root_name, terminal, text

UNNAMED = frozenset(("color", "domain", "category"))


def setter_name(call: Call, rule: SetterRule) -> str:
    """The setter that a call names, by itself or by a string."""
    if rule.name_position is None:
        return terminal(call.func)
    named = call.args[rule.name_position] if rule.name_position < len(call.args) else None
    return named.value if type(named) is Const and isinstance(named.value, str) else ""


def stem_of(name: str, glob: str) -> str | None:
    """What stands for the `*` of a glob in a name that it matches."""
    head, star, tail = glob.partition("*")
    if not star or len(name) < len(head) + len(tail) or not name.startswith(head) or not name.endswith(tail):
        return None
    return name[len(head) : len(name) - len(tail)]


def is_timing(call: Call, rule: CallRule) -> bool:
    """Whether an event is made to time; an argument that is no constant counts as yes."""
    for keyword in call.keywords:
        if keyword.name == rule.timing_keyword:
            return not (type(keyword.value) is Const and not keyword.value.value)
    place = rule.timing_position
    if place is None or place >= len(call.args):
        return False
    given = call.args[place]
    return type(given) is Const and given.value is True


def constant_label(call: Call) -> str:
    """The first string among the arguments of a call."""
    return next((arg.value for arg in call.args if type(arg) is Const and isinstance(arg.value, str)), "")


def label_of(call: Call) -> str:
    """The name that a call gives to what it times: its first string, else its first plain argument."""
    for value in _labelling(call):
        if isinstance(value, Const) and isinstance(value.value, str):
            return value.value
        if isinstance(value, FString) and value.text:
            return value.text
    for value in call.args:
        if isinstance(value, (Name, Attr)):
            return text(value) if GLOBAL not in root_name(value) else ""
    return ""


def _labelling(call: Call) -> list[Expr]:
    """The arguments that may name what is timed; of a dict, its values."""
    given: list[Expr] = list(call.args)
    given.extend(keyword.value for keyword in call.keywords if keyword.name not in UNNAMED)
    found: list[Expr] = []
    for value in given:
        if isinstance(value, Mapping):
            found.extend(value.values)
        else:
            found.append(value)
    return found
