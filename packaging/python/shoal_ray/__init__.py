"""Runs the `shoal` command from Python.

run(...)      the output of a command as text
query(...)    the output of a command with `-o json`, parsed
stream(...)   the objects of a command that prints one per line, as they arrive
types         the types of what query() and stream() return

A command that fails raises ShoalError or one of its subclasses, by its exit status. The program is
the one that was installed with this package; the variable SHOAL_PROGRAM names another one.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, Optional

from . import types
from .types import Word

__all__ = ["CommandFailed", "Interrupted", "ShoalError", "SshError", "UsageError", "program",
           "query", "run", "stream", "types", "version"]

DISTRIBUTION = "shoal-ray"


class ShoalError(Exception):
    """A command did not exit with status 0. The text is what it printed as its error."""

    def __init__(self, command: list[str], status: int, stdout: str, stderr: str) -> None:
        super().__init__(stderr.strip() or f"shoal exited with status {status}")
        self.command = command
        self.status = status
        self.stdout = stdout
        self.stderr = stderr

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.command, self.status, self.stdout, self.stderr)

    def json(self) -> Any:
        """What the command printed with `-o json` before it failed; None if that is not JSON."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            return None


class CommandFailed(ShoalError):
    """Status 1: for example a missing file, errors in the cluster file, or a failed node."""


class UsageError(ShoalError):
    """Status 2: an unknown option or a missing argument.

    `plan --detailed-exitcode` also has this status, if there are changes.
    """


class Interrupted(ShoalError):
    """Ctrl-C or a signal ended the command."""


class SshError(ShoalError):
    """Status 255: ssh could not connect to the node."""


_BY_STATUS = {1: CommandFailed, 2: UsageError, 130: Interrupted, 143: Interrupted, 255: SshError}


def version() -> str:
    """The version of this package, which is that of the program."""
    return importlib.metadata.version(DISTRIBUTION)


def program() -> str:
    """The path of the `shoal` program."""
    given = os.environ.get("SHOAL_PROGRAM")
    if given:
        return given
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for path in importlib.metadata.files(DISTRIBUTION) or ():
            if path.name == "shoal" and path.parent.name == "bin":
                return os.path.realpath(path.locate())
    found = shutil.which("shoal")
    if found is None:
        raise FileNotFoundError("the shoal program is missing: reinstall shoal-ray, or set "
                                "SHOAL_PROGRAM to its path")
    return found


def _error(command: list[str], status: int, stdout: str, stderr: str) -> ShoalError:
    kind = Interrupted if status < 0 else _BY_STATUS.get(status, ShoalError)
    return kind(command, status, stdout, stderr)


def _command(words: tuple[Word, ...], *more: str) -> list[str]:
    texts = [os.fspath(word) for word in words]
    end = texts.index("--") if "--" in texts else len(texts)  # the rest belongs to a script
    return [program(), *texts[:end], *more, *texts[end:]]


def run(*words: Word, input: Optional[str] = None,  # pylint: disable=redefined-builtin
        timeout: Optional[float] = None, cwd: Optional[Word] = None,
        env: Optional[Mapping[str, str]] = None) -> str:
    """Runs a command without a terminal and returns its standard output."""
    return _run(_command(words), input, timeout, cwd, env)


def _query(*words: Word, input: Optional[str] = None,  # pylint: disable=redefined-builtin
           timeout: Optional[float] = None, cwd: Optional[Word] = None,
           env: Optional[Mapping[str, str]] = None) -> Any:
    """Runs a command with `-o json` and returns what it printed, parsed.

    `validate`, `check` and `up` print their object also when they fail: see ShoalError.json().
    """
    return json.loads(_run(_command(words, "-o", "json"), input, timeout, cwd, env))


def _run(command: list[str], given: Optional[str], timeout: Optional[float], cwd: Optional[Word],
         env: Optional[Mapping[str, str]]) -> str:
    done = subprocess.run(command, input=given or "", timeout=timeout, cwd=cwd, env=env,
                          capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise _error(command, done.returncode, done.stdout, done.stderr)
    return done.stdout


def _stream(*words: Word, cwd: Optional[Word] = None,
            env: Optional[Mapping[str, str]] = None) -> Iterator[Any]:
    """Yields each object that a command prints, for example `events -f`, `logs` or `status -w`.

    The command is terminated when the iterator is closed.
    """
    command = _command(words, "-o", "json")
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=cwd,
            env=env, encoding="utf-8") as child:
        assert child.stdout is not None
        failure = ""
        try:
            for line in child.stdout:
                if line.startswith('{"error": '):  # printed by a command that fails
                    failure = line
                elif line.strip():
                    yield json.loads(line)
            status = child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
        if status != 0:
            errors.seek(0)
            raise _error(command, status, failure, errors.read())


# The type of what they return depends on the command.
query: types.Query = _query
stream: types.Stream = _stream
