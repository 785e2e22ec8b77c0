"""What the arguments of a timing call say: its label, whether an event times, which setter is meant."""

from __future__ import annotations

from timing_audit.model.pack import CallRule, SetterRule
from timing_audit.model.syntax import Attr, Call, Const, FString, Mapping, Name
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
    values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.name not in UNNAMED)]
    for value in values:
        for part in value.values if type(value) is Mapping else (value,):
            if type(part) is Const and isinstance(part.value, str):
                return part.value
            if type(part) is FString and part.text:
                return part.text
    plain = [value for value in call.args if type(value) in (Name, Attr)]
    return text(plain[0]) if plain and GLOBAL not in root_name(plain[0]) else ""
