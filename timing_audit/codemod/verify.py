"""Proof that an edit did what it should and nothing else: syntax trees compared without the probes."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterator, Sequence

from timing_audit.codemod.manifest import RUNTIME
from timing_audit.codemod.statements import Refused

OWN = RUNTIME.removesuffix(".py")


def verify(before: str, after: str, items: Collection[str], imported: str, *, unmoved: bool) -> None:
    """Raises Refused unless `after` is `before` with these probes in it."""
    original, edited = _parse(before), _parse(after)
    wanted = frozenset(_normal(item) for item in items)
    original.body = _without(original.body, wanted, "")
    bare = ast.parse("")
    bare.body = _without(edited.body, wanted, _import_text(imported))
    if unmoved and before.count("\n") != after.count("\n"):
        raise Refused("the edit would move lines")
    _compare(original, bare, unmoved=unmoved)
    _compile(after)


def same_tree(left: str, right: str) -> bool:
    """Whether two texts mean the same."""
    return ast.dump(_parse(left)) == ast.dump(_parse(right))


def only_probes_gone(marked: str, bare: str) -> bool:
    """Whether a text is the marked one without its probes and their import, and nothing else is gone or left."""
    tree = _parse(marked)
    aliases = {name for node in ast.walk(tree) for name in _aliases(node)}
    return not aliases or ast.dump(_Bare(aliases).visit(tree)) == ast.dump(_parse(bare))


def _aliases(node: ast.AST) -> list[str]:
    names = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    return [found.asname or found.name for found in names if found.name.rpartition(".")[2] == OWN]


class _Bare(ast.NodeTransformer):
    """Takes out what hangs on the generated module."""

    def __init__(self, aliases: set[str]) -> None:
        self._aliases = aliases

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        node.items = [item for item in node.items if not self._is_probe(item.context_expr)]
        return node if node.items else node.body

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        return self._imported(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return self._imported(node)

    def _imported(self, node: ast.Import | ast.ImportFrom) -> ast.AST | None:
        node.names = [found for found in node.names if found.name.rpartition(".")[2] != OWN]
        return node if node.names else None

    def _is_probe(self, expr: ast.expr) -> bool:
        return isinstance(expr, ast.Attribute) and isinstance(expr.value, ast.Name) and expr.value.id in self._aliases


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError) as error:
            raise Refused(f"this Python cannot parse it: {error}") from None
        except (RecursionError, MemoryError):
            raise Refused("too deeply nested") from None


def _compile(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<edited>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise Refused(f"does not compile with probes in it: {error}") from None
        except (RecursionError, MemoryError):
            raise Refused("too deeply nested") from None


def _normal(item: str) -> str:
    return ast.unparse(ast.parse(item, mode="eval"))


def _import_text(imported: str) -> str:
    return ast.unparse(ast.parse(imported)) if imported else ""


def _without(body: Sequence[ast.stmt], items: frozenset[str], imported: str) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in body:
        if imported and isinstance(statement, (ast.Import, ast.ImportFrom)) and ast.unparse(statement) == imported:
            imported = ""
            continue
        if imported and isinstance(statement, ast.ImportFrom) and _drops(statement, imported):
            imported = ""
        _strip_blocks(statement, items)
        found += _bare(statement, items)
    return found


def _drops(statement: ast.ImportFrom, imported: str) -> bool:
    """Whether the name that was added to the list of an import was found there and taken out."""
    added = ast.parse(imported).body[0]
    if not isinstance(added, ast.ImportFrom) or (statement.module, statement.level) != (added.module, added.level):
        return False
    wanted = ast.dump(added.names[0])
    kept = [alias for alias in statement.names if ast.dump(alias) != wanted]
    found = len(kept) == len(statement.names) - 1
    statement.names = kept if found else statement.names
    return found


def _strip_blocks(node: ast.AST, items: frozenset[str]) -> None:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            setattr(node, name, _without(block, items, ""))
    for name in ("handlers", "cases"):
        for part in getattr(node, name, ()):
            _strip_blocks(part, items)


def _bare(statement: ast.stmt, items: frozenset[str]) -> list[ast.stmt]:
    if not isinstance(statement, ast.With) or not items:
        return [statement]
    last = statement.items[-1]
    if last.optional_vars is not None or ast.unparse(last.context_expr) not in items:
        return [statement]
    statement.items.pop()
    return [statement] if statement.items else statement.body


def _compare(left: ast.Module, right: ast.Module, *, unmoved: bool) -> None:
    if ast.dump(left) != ast.dump(right):
        raise Refused("its syntax tree would change")
    if unmoved and list(_places(left)) != list(_places(right)):
        raise Refused("the edit would move statements to other lines")


def _places(module: ast.Module) -> Iterator[int]:
    return (node.lineno for node in ast.walk(module) if isinstance(node, (ast.stmt, ast.expr)))
