"""What ``--help`` shows: one style for all commands, in plain lines that fit a terminal."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from cobre.cli._console import stdout

#: Text is not wider than this, however wide the terminal is.
WIDEST = 100

#: Beside a name longer than this its meaning begins on the next line.
LONGEST_NAME = 28

Rows = list[tuple[str, str]]


def show(command: Any, ctx: Any) -> None:
    """Print what a command is for, an example, its arguments and options, and the commands below it."""
    from rich.text import Text  # noqa: PLC0415

    console = stdout()
    console.width = min(console.width, WIDEST)
    usage = " ".join(command.collect_usage_pieces(ctx))
    console.print(Text.assemble(("Usage: ", "bold"), (ctx.command_path, "cyan"), f" {usage}"))
    for paragraph in paragraphs(command.help or ""):
        console.print()
        console.print(_paragraph(paragraph, console.width))
    sections = _sections(command, ctx)
    lengths = (len(name) for rows in sections.values() for name, _ in rows)
    indent = 4 + max(length for length in lengths if length <= LONGEST_NAME)
    for title, rows in sections.items():
        console.print(Text(f"\n{title}", "bold"))
        for name, meaning in rows:
            console.print(row(name, meaning, indent, console.width))


def paragraphs(text: str) -> list[str]:
    """Each paragraph of a docstring as one line."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def usage_pieces(command: Any) -> list[str]:
    """What follows a command's name: ``[OPTIONS] CASE``."""
    return ["[OPTIONS]", *(_argument(param) for param in command.params if _is_argument(param))]


def _paragraph(words: str, width: int) -> Any:
    from rich.text import Text  # noqa: PLC0415

    if words.startswith("Example: "):
        return Text.assemble(("Example: ", "bold"), (words.removeprefix("Example: "), "cyan"))
    return Text("\n".join(wrap(words, width)))


def _sections(command: Any, ctx: Any) -> dict[str, Rows]:
    """The parts with their headings: rows of a name and what it means."""
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    arguments = [param for param in shown if _is_argument(param)]
    sections = {"Arguments": [(_argument(param), _meaning(param)) for param in arguments]}
    for name in getattr(command, "commands", {}):
        below = command.get_command(ctx, name)
        heading = getattr(below, "rich_help_panel", None) or "Commands"
        sections.setdefault(heading, []).append((name, paragraphs(below.short_help or below.help or "")[0]))
    heading = ""
    for param in shown:
        if param not in arguments:
            own = getattr(param, "rich_help_panel", None) or "Options"
            heading = heading if heading and param.name == "help" else own  # --help needs none of its own
            sections.setdefault(heading, []).append((_option(param), _meaning(param)))
    return {title: rows for title, rows in sections.items() if rows}


def row(name: str, meaning: str, indent: int, width: int) -> Any:
    """A name, and what it means beside it, or below it if the name is too long for that."""
    from rich.text import Text  # noqa: PLC0415

    room = " " * indent
    lines = wrap(meaning, width, initial_indent=room, subsequent_indent=room)
    text = "\n".join(lines)
    beside = 2 + len(name) < indent
    return Text.assemble(("  " + name, "cyan"), text[2 + len(name) :] if beside else "\n" + text)


def _is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def _argument(param: Any) -> str:
    name = _value(param) + ("..." if param.nargs == -1 else "")
    return name if param.required else f"[{name}]"


def _option(param: Any) -> str:
    names = ", ".join([*sorted(param.opts, key=len), *param.secondary_opts])
    if param.is_flag:
        return names
    return f"{names} {_value(param)}"


def _value(param: Any) -> str:
    """What stands for a value: its own word, the words it may be, or its name."""
    kind = getattr(param, "type_descriptor", None) or param.type
    choices = "|".join(str(choice) for choice in getattr(kind, "choices", None) or ())
    return str(param.metavar or choices or param.name.upper())


def _meaning(param: Any) -> str:
    words = param.help or ""
    if param.required and not _is_argument(param):
        return f"{words} [required]"
    silent = param.default in (None, False, "") or not param.show_default
    return words if silent else f"{words} [default: {param.default}]"
