"""Imports between the packages of a source tree, wherever in a file they stand.

An import in a function counts like one at the top. So do a module named in a string, as for ``python -m`` or
``import_module``, and an attribute of something that was imported: ``comm._launch``, ``Policy._read``. An
import for the type checker alone is no dependency, but it may not name a private module of another package
either.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: Names in the package itself that every file may use.
ITSELF = ("", "__version__", "__file__")


@dataclass(frozen=True)
class Import:
    """One dotted name that a file of the tree refers to."""

    file: str
    line: int
    importer: str
    name: str
    for_types_only: bool

    @property
    def private(self) -> str | None:
        """The part of the name that is private to a package in which the importer is not."""
        parts = self.name.split(".")
        for i in range(2, len(parts)):
            owner = ".".join(parts[:i])
            if _is_private(parts[i]) and not f"{self.importer}.".startswith(f"{owner}."):
                return f"{owner}.{parts[i]}"
        return None


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def imports(source: Path) -> list[Import]:
    """All imports of the package whose folder is ``source``, in its own files."""
    return [found for path in sorted(source.rglob("*.py")) for found in _imports_of(path, source)]


def _imports_of(path: Path, source: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text())
    module = ".".join(path.relative_to(source.parent).with_suffix("").parts)
    for_types = {id(node) for guarded in _for_type_checker(tree) for node in ast.walk(guarded)}
    bound: dict[str, str] = {}
    found: list[tuple[ast.AST, str]] = []
    for node in ast.walk(tree):
        for alias, name in _names(node, module):
            found.append((node, name))
            bound[alias] = name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, *rest = ast.unparse(node).split(".")
            if first in bound and all(part.isidentifier() for part in rest):
                found.append((node, ".".join([bound[first], *rest])))
        elif isinstance(node, ast.Constant) and re.fullmatch(rf"{source.name}(\.\w+)+", str(node.value)):
            found.append((node, node.value))
    for node, name in found:
        if name == source.name or name.startswith(f"{source.name}."):
            yield Import(
                str(path.relative_to(source.parent)),
                node.lineno,
                module.removesuffix(".__init__"),
                name,
                id(node) in for_types,
            )


def _names(node: ast.AST, module: str) -> Iterator[tuple[str, str]]:
    """What an import binds: pairs of the name in the file and the whole name."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
            yield f"import {alias.name}", alias.name
    elif isinstance(node, ast.ImportFrom):
        origin = node.module or ""
        if node.level:
            origin = ".".join([*module.split(".")[: -node.level], *filter(None, [node.module])])
        for alias in node.names:
            yield alias.asname or alias.name, f"{origin}.{alias.name}"


def _for_type_checker(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            yield from node.body


def against_layers(found: list[Import], may_import: dict[str, set[str]]) -> list[str]:
    """Imports of a package that is not in the importer's row, and importers that have no row."""
    told = set()
    for one in found:
        importer, imported = ([*part.split("."), ""][1] for part in (one.importer, one.name))
        if importer not in may_import:
            told.add(f"{one.file}: {importer} has no row")
        elif not one.for_types_only and imported not in {*may_import[importer], importer, *ITSELF}:
            told.add(f"{one.file}:{one.line}: {importer} may not import {imported}")
    return sorted(told)


def private_crossings(found: list[Import]) -> dict[str, str]:
    """Private names that other packages refer to, and one place where each does."""
    return {one.private: f"{one.file}:{one.line}" for one in found if one.private}
