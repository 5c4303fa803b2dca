"""How the documentation is built. What can be read from the package is read here, not kept by hand."""

import dataclasses
import re
import sys
from itertools import groupby
from typing import get_args

import typer.main
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

import cobre
from cobre import errors
from cobre.case import FILE_DESCRIPTIONS, REQUIRED_FILES, TABLE_COLUMNS
from cobre.cli import COMMANDS
from cobre.cli import app as command
from cobre.comm import ReduceOp
from cobre.comm.testing import CHECKS, promise
from cobre.elements import KINDS, part
from cobre.results import SIMULATION, TRAINING
from cobre.sddp import Event

project = "Cobre for Python"
author = "the Cobre for Python authors"
copyright = author
version = release = cobre.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
smartquotes_action = "qe"  # quotes and ellipses; two hyphens in a command stay two hyphens
exclude_patterns = ["_build"]
templates_path: list[str] = []

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["cobre.css"]
html_title = f"Cobre for Python {release}"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False

# Docstrings name Python objects between single backticks. A name that leads nowhere is an error.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [
    # No inventories are fetched while building, so other projects' names are not links.
    (r"py:.*", r"(numpy|np|typing|typing_extensions|types|collections|contextlib|enum|abc)\..*"),
    (r"py:.*", r"(NDArray|DTypeLike|SupportsIndex|Sequence|Mapping|Callable|Iterable|Iterator|Any|Self)"),
    (r"py:.*", r"(.*ConfigT|Generic|Protocol|ABC|int|str|bool|float|tuple|list|dict|object)"),
    (r"py:exc", r"(TypeError|ValueError)"),
    (r"py:.*", r"(pathlib|os|pa|pyarrow|highspy|rich|altair)(\..*)?|Path|LayerChart|choices"),
    (
        r"py:.*",
        r"(cobre\.inputs\.\w+\.)?(Document|Named|Strict|InService|Any\w+|Table|Overrides|Derived|Place)",
    ),
    (r"py:.*", r"(ArrayLike|cobre\.sddp\._engine\.Engine|StageSolver|cobre\._lp\..*)"),
    (r"py:.*", r"(places|table|(Noise|NodeCuts)\..*)"),
    (r"py:.*", r"(cobre\.system\._system\.(Any)?Element|ProgramIndex|Values|Indices|NoiseClass)"),
    (r"py:.*", r"(Sense|(cobre\.sddp\.execution\.)?(RankTask|Result_co)|cobre\.sddp\._structure\.Structure)"),
    (
        r"py:.*",
        r"(Array|Floats|Series|BlockSeries|datetime\.date|cobre\.inputs\.config\.(Config|ScenarioSource)|System(\..*)?)",
    ),
]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("BufferLike", "DTypeLike", "NDArray")}  # not spelled out
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # a list is enough: types are in the signature


def _adapt_docstring(_app, _what, _name, _obj, _options, lines):
    """Docstrings show code in Markdown fences, which terminals and editors render well."""
    if lines and lines[0].startswith(("Alias for field number", "Call self as a function")):
        lines.clear()  # Python's own words, which say nothing
    converted, inside = [], False
    for line in lines:
        fence = re.fullmatch(r"```(\w*)", line)
        if fence and not inside:
            converted += [f".. code-block:: {fence[1] or 'text'}", ""]
            inside = True
        elif fence:
            converted.append("")
            inside = False
        else:
            converted.append(f"   {line}" if inside and line else line)
    lines[:] = converted


def _spare_colons(_app, what, _name, _obj, _options, lines):
    """Napoleon takes what stands before a colon, in the first line on a property, for its type."""
    if what == "property" and lines:
        lines[:1] = lines[0].replace(": ", ":\n").split("\n")


def _list_once(app, _domain, _kind, content):
    """On the page of errors each class has a heading, which is enough for its table of contents."""
    if app.env.docname == "reference/errors":
        for signature in content.parent.findall(addnodes.desc_signature):
            signature["_toc_name"] = ""


def _find_by_short_name(app, env, node, contnode):
    """Resolve `InvalidRoot` and `allreduce` wherever they are written, as a reader does."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    if " " in target:  # a command, such as `cobre launch`
        return nodes.literal(target, target)
    domain = env.get_domain("py")
    if target.startswith(("cobre.sddp.", "cobre.lp.", "cobre.comm.launch.")):
        target = target.rsplit(".", 1)[1]  # the module that defines a class is nobody's business
    places = ["cobre.errors" if target in errors.__all__ else "cobre.comm"]
    places += ["cobre.comm.Communicator", "cobre.comm.SharedRegion", "cobre.comm.SharedMemoryProvider"]
    places += ["cobre.comm.testing", "cobre.comm.launch", "cobre.sddp", "cobre.lp", "cobre.stochastic"]
    places += ["cobre.sddp.modeling", "cobre.sddp.problem", "cobre.sddp.sampling", "cobre.sddp.Selection"]
    places += ["cobre.sddp.MultistageProblem", "cobre.sddp.StageModel", "cobre.sddp.RiskMeasure"]
    for place in places:
        if f"{place}.{target}" in domain.objects:
            doc = node.get("refdoc") or env.docname
            return domain.resolve_xref(env, doc, app.builder, "obj", f"{place}.{target}", node, contnode)
    return None


class _Generated(SphinxDirective):
    """A directive whose content is Markdown that the package itself supplies."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        node = nodes.container()
        self.state.nested_parse(StringList(self.markdown().splitlines(), "generated"), 0, node)
        return node.children

    def markdown(self) -> str:
        raise NotImplementedError


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


class ConformanceChecks(_Generated):
    """Every check of the conformance kit with its promise, in the order in which they run."""

    def markdown(self) -> str:
        lines = []
        for module, checks in groupby(CHECKS, key=lambda check: check.__module__):
            subject = (sys.modules[module].__doc__ or "").split(".")[0].replace("``", "`")
            lines += [f"**{subject}**", "", "| Check | Promise |", "| --- | --- |"]
            lines += [f"| `{check.__name__}` | {_cell(promise(check))} |" for check in checks]
            lines.append("")
        return "\n".join(lines)


class NumberOfChecks(_Generated):
    """How many checks there are, in a sentence."""

    def markdown(self) -> str:
        return f"There are {len(CHECKS)} checks. Each holds at every group size, from one rank on."


class ReduceOperations(_Generated):
    """The members of a native enumeration, of which autodoc sees only the numbers."""

    def markdown(self) -> str:
        rows = [f"| `ReduceOp.{op.name}` | {_cell(op.__doc__)} |" for op in ReduceOp]
        return "\n".join(["| Member | Result |", "| --- | --- |", *rows])


class EventFields(_Generated):
    """Every event with its name in JSON and its fields."""

    def markdown(self) -> str:
        lines = ["| Event | In JSON | Fields |", "| --- | --- | --- |"]
        for event in get_args(Event):
            fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(event))
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", event.__name__).lower()
            lines.append(f"| `{event.__name__}` | `{name}` | {fields} |")
        return "\n".join(lines)


class OutputTable(_Generated):
    """The columns of a table of results, by its name in `SIMULATION` or `TRAINING`."""

    def markdown(self) -> str:
        lines = ["| Column | Type | Unit | Null | Meaning |", "| --- | --- | --- | --- | --- |"]
        for column in (SIMULATION | TRAINING)[self.arguments[0]]:
            null = "yes" if column.nullable else ""
            cells = (f"`{column.name}`", column.type, column.unit, null, column.meaning)
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        return "\n".join(lines)


class ElementClasses(_Generated):
    """The classes of every element kind's data, in the order of their modules."""

    def markdown(self) -> str:
        lines = ["```{eval-rst}"]
        for kind in KINDS:
            module = part(kind, "data")
            lines.append(f".. currentmodule:: {module.__name__}")
            own = [
                name
                for name, found in vars(module).items()
                if isinstance(found, type) and found.__module__ == module.__name__
            ]
            lines += [f".. autoclass:: {name}()" for name in own]
        return "\n".join([*lines, "```"])


class CaseFiles(_Generated):
    """The files of a case folder, with the columns of tables."""

    def markdown(self) -> str:
        lines = ["| File | Holds | Needed | Columns |", "| --- | --- | --- | --- |"]
        for name, words in FILE_DESCRIPTIONS.items():
            needed = "yes" if name in REQUIRED_FILES else ""
            columns = ", ".join(f"`{column}`" for column in TABLE_COLUMNS.get(name, ()))
            lines.append(f"| `{name}` | {_cell(words)} | {needed} | {columns} |")
        return "\n".join(lines)


class CommandHelp(_Generated):
    """What ``--help`` says about a command, with its options as a table."""

    def markdown(self) -> str:
        found = typer.main.get_command(command)
        for name in self.arguments[0].split()[1:]:
            _, found, _ = found.resolve_command(typer.Context(found), [name])
        words = re.sub(r"^Example: (.+)$", r"Example: `\1`", found.help or "", flags=re.MULTILINE)
        lines = words.splitlines()
        for heading, rows in self._sections(found).items():
            lines += ["", f"| {heading} | |", "| --- | --- |"]
            lines += [f"| {self._name(name)} | {_cell(meaning)} |" for name, meaning in rows]
        return "\n".join(lines)

    def _sections(self, found):
        """Commands, arguments and options, each with its help."""
        context = typer.Context(found, info_name=self.arguments[0])
        below = {name: one.help.partition("\n\n")[0] for name, one in getattr(found, "commands", {}).items()}
        groups = COMMANDS if self.arguments[0] == "cobre" else {"Command": below} if below else {}
        sections = {heading: list(rows.items()) for heading, rows in groups.items()}
        for param in found.get_params(context):
            heading = param.param_type_name.capitalize()
            sections.setdefault(heading, []).append(param.get_help_record(context))
        return sections

    def _name(self, name):
        """A command leads to its section; what belongs together stays together."""
        link = f"#cobre-{name}" if self.arguments[0] == "cobre" and name[0].isalpha() else ""
        return f"[`{name}`]({link})" if link and name not in {"comm", "schema"} else f"`{_cell(name)}`"


def setup(app):
    app.connect("autodoc-process-docstring", _spare_colons, priority=400)  # before Napoleon
    app.connect("autodoc-process-docstring", _adapt_docstring)
    app.connect("object-description-transform", _list_once)
    app.connect("missing-reference", _find_by_short_name)
    app.add_directive("conformance-checks", ConformanceChecks)
    app.add_directive("number-of-checks", NumberOfChecks)
    app.add_directive("reduce-operations", ReduceOperations)
    app.add_directive("command-help", CommandHelp)
    app.add_directive("output-table", OutputTable)
    app.add_directive("element-classes", ElementClasses)
    app.add_directive("event-fields", EventFields)
    app.add_directive("case-files", CaseFiles)
    return {"parallel_read_safe": True}
