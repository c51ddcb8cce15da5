#!/usr/bin/env python3
"""Review the cluster files of a pull request: `shoal validate`, and `shoal plan` if it is wanted.

usage: review.py [--base COMMIT] [--plan] [FILE...]

Without FILE: the cluster files that differ from --base (default: the base of the pull request, in
GITHUB_BASE_REF). Prints annotations for GitHub, appends the review to GITHUB_STEP_SUMMARY, and
writes or updates one comment on the pull request if GITHUB_TOKEN is set. Exits with 1 if a file has
errors.

`shoal` gets no token of GitHub, and credentials of a cloud only for `shoal plan` of a file of that
cloud. A file that names a program which `shoal plan` would start is only validated.

action.yml calls this. It needs Python 3.9 or newer, git and shoal, and no package.
"""

import argparse
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import cluster_files

MARK = "<!-- shoal review -->"
LONGEST = 60000  # characters; GitHub refuses comments of more than 65536
SECONDS = 30
PAGE, PAGES_MAX = 100, 50  # comments

# The variables that `shoal` gets: no secret is among them.
PLAIN = re.compile(r"PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|TERM|XDG_\w+|SSL_CERT_\w+|"
                   r"(?i:\w+_proxy)|LD_LIBRARY_PATH|PYTHON\w*|VIRTUAL_ENV")
# The variables that `shoal plan` needs also, by provider. Other providers start programs.
NEEDED = {"aws": re.compile(r"AWS_\w+"),
          "gcp": re.compile(r"GOOGLE_\w+|GCLOUD_\w+|CLOUDSDK_\w+|GCE_\w+")}


def run(*words, env=None):
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env)


def shoal(*words, more=None):
    """Run `shoal` with the plain variables and those that match `more`."""
    env = {name: value for name, value in os.environ.items()
           if PLAIN.fullmatch(name) or (more and more.fullmatch(name))}
    return run("shoal", *words, env=env)


def changed(base):
    """The cluster files that a pull request adds or changes."""
    done = run("git", "diff", "--name-only", "-z", "--diff-filter=d", f"{base}...HEAD")
    if done.returncode != 0:
        sys.exit(f"cannot compare with {base}: {done.stderr.strip()}\n"
                 "Check out the whole history: fetch-depth: 0 in actions/checkout.")
    return [name for name in done.stdout.split("\0") if cluster_files.is_cluster_file(name)]


def escaped(text, more=""):
    """Text for a workflow command of GitHub."""
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def annotation(path, finding):
    line, column = max(finding["line"], 1), max(finding["column"], 1)
    place = f"file={escaped(path, ':,')},line={line},col={column}"
    hint = f" ({finding['hint']})" if finding.get("hint") else ""
    return f"::{finding['level']} {place}::{escaped(finding['text'] + hint)}"


def without_commands(text):
    """Text for the log, in which GitHub finds no workflow command."""
    end = secrets.token_hex(16)
    return f"::stop-commands::{end}\n{text}\n::{end}::"


def fenced(text):
    """A code block that its own text cannot end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def provider_of(name):
    """(The type of the provider, why `shoal plan` must not run), as Shoal reads the file."""
    try:
        config = json.loads(shoal("config", "-o", "json", name).stdout)
        kind, auth = config["provider"]["type"], config.get("auth") or {}
    except (ValueError, KeyError):
        return None, "the file cannot be read"
    if kind not in NEEDED or "module" in config["provider"]:
        return kind, f"provider {kind} can start programs that the file names"
    if auth.get("ssh_proxy_command"):
        return kind, "auth.ssh_proxy_command is a program that the file names"
    return kind, None


def plan_of(name):
    """(Markdown, whether it failed) of `shoal plan`."""
    kind, why_not = provider_of(name)
    if why_not:
        return (f"`shoal plan` was skipped: {why_not}. Run it yourself after you have read the "
                "file.", False)
    plan = shoal("plan", "--color", "never", name, more=NEEDED[kind])
    if plan.returncode == 0:
        return f"`shoal plan`:\n\n{fenced(plan.stdout)}", False
    return ("`shoal plan` failed, so `shoal up` would fail:\n\n" +
            fenced(plan.stdout + plan.stderr), True)


def review(path, with_plan):
    """(Markdown, annotations, whether the file has errors) of one file."""
    name = path if os.path.isabs(path) else os.path.join(".", path)  # never an option
    done = shoal("validate", "-o", "json", name)
    try:
        result = json.loads(done.stdout)
        errors, warnings = result["errors"], result["warnings"]
    except (ValueError, KeyError):
        return f"### `{path}`\n\n{fenced(done.stdout + done.stderr)}", [], True
    parts = [f"### `{path}`", f"{errors} errors, {warnings} warnings."]
    if errors or warnings:
        parts.append(fenced(shoal("validate", "--color", "never", name).stdout))
    if with_plan and not errors:
        plan, is_failed = plan_of(name)
        parts.append(plan)
        errors += is_failed
    return ("\n\n".join(parts), [annotation(path, one) for one in result["findings"]], errors > 0)


def request(method, address, body=None):
    """A call of GitHub's API."""
    made = urllib.request.Request(
        address, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
                 "Accept": "application/vnd.github+json", "Content-Type": "application/json"})
    with urllib.request.urlopen(made, timeout=SECONDS) as reply:
        return json.load(reply)


def author_test(api):
    """Whether the author of a comment can be the user of the token. A token of a workflow belongs
    to a bot, which may not ask for its name."""
    try:
        login = request("GET", f"{api}/user")["login"]
    except urllib.error.HTTPError:
        return lambda user: user.get("type") == "Bot"
    return lambda user: user.get("login") == login


def own_comment(address, is_author):
    """The id of the comment of an earlier run, or None. GitHub lists 100 comments per page."""
    for page in range(1, PAGES_MAX + 1):
        comments = request("GET", f"{address}?per_page={PAGE}&page={page}")
        for one in comments:
            if (one["body"] or "").startswith(MARK) and is_author(one.get("user") or {}):
                return one["id"]
        if len(comments) < PAGE:
            break
    return None


def comment(text):
    """Write the review to the pull request: one comment, which later runs replace."""
    event = json.loads(pathlib.Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    number = event.get("pull_request", {}).get("number")
    if not number:
        return
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    repository = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}"
    mine = own_comment(f"{repository}/issues/{number}/comments", author_test(api))
    if mine is not None:
        request("PATCH", f"{repository}/issues/comments/{mine}", {"body": text})
    else:
        request("POST", f"{repository}/issues/{number}/comments", {"body": text})


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--base", default="origin/" + os.environ.get("GITHUB_BASE_REF", "main"))
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args(argv)
    paths = args.files or changed(args.base)
    if not paths:
        print("No cluster file was changed.")
        return 0
    reviews = [review(path, args.plan) for path in paths]
    text = "\n\n".join([MARK, "## Shoal", *(one for one, _, _ in reviews)])
    print("\n".join(line for _, lines, _ in reviews for line in lines))
    print(without_commands(text))
    if len(text) > LONGEST:
        text = text[:LONGEST] + "\n\n(The rest is in the log of the job.)"
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as summary:
            summary.write(text + "\n")
    if os.environ.get("GITHUB_TOKEN"):
        try:
            comment(text)
        except OSError as error:  # a fork's token may not comment; the review itself still counts
            print(f"::warning::cannot comment on the pull request: {escaped(str(error))}")
    return 1 if any(is_wrong for _, _, is_wrong in reviews) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
