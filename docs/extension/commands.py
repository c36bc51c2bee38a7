"""The command line, as typer has it: every command with its options and its examples."""

from __future__ import annotations

import re
from typing import Any

from markdown import code, table
from nashbed.controlplane.cli.app import COMMANDS


def all_commands() -> str:
    """A section for each command, and for each command of a group."""
    sections = []
    for lazy in COMMANDS:
        command, words = lazy.load(), f"nashbed {lazy.name}"
        sections.append(_section(command, words))
        for name, each in getattr(command, "commands", {}).items():
            sections.append(_section(each, f"{words} {name}"))
    return "\n\n".join(sections)


def _section(command: Any, words: str) -> str:
    context = command.context_class(command, info_name=words)
    usage = command.get_usage(context).partition("Usage: ")[2]
    parts = [f"## {words}", _paragraphs(command.help), f"```text\n{_one_line(usage)}\n```"]
    options = [each.get_help_record(context) for each in command.params]
    if rows := [(code(words), _paragraphs(says)) for words, says in filter(None, options)]:
        parts.append(table(("argument or option", "meaning"), rows))
    if command.epilog:
        parts.append(_examples(command.epilog))
    return "\n\n".join(parts)


def _examples(epilog: str) -> str:
    """The commands of an epilog, a line each, and what is said besides."""
    told = re.sub(r"^Examples?:\s*", "", epilog)
    lines = [_one_line(each) for each in re.split(r"\n\n|;\s+(?=nashbed )", told)]
    shown = "\n".join(each.rstrip(";.") for each in lines if each.startswith("nashbed "))
    other = "\n\n".join(_paragraphs(each) for each in lines if not each.startswith("nashbed "))
    return f"```text\n{shown}\n```\n\n{other}".strip()


def _paragraphs(text: str | None) -> str:
    """Help as Markdown: what looks like a tag or emphasis is no such thing."""
    paragraphs = re.split(r"\n\s*\n", (text or "").strip())
    return "\n\n".join(re.sub(r"([<*_\[])", r"\\\1", _one_line(each)) for each in paragraphs)


def _one_line(text: str) -> str:
    return " ".join(text.split())
