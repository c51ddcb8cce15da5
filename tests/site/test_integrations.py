"""The parts for programs and agents: the GitHub Action's script, the pre-commit hook, llms.txt and
the skill. What needs GitHub itself is not tested: an HTTP server on loopback stands in for its API.
"""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

import pytest
import yaml

import test_site

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOAL = test_site.BUILD.resolve() / "src" / "cli" / "shoal"
GOOD = "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"
BAD = GOOD + "max_worker: 3\n"


@pytest.fixture(name="env")
def made_env(tmp_path):
    """No credentials, no metadata service, nothing of the caller's git and GitHub."""
    (tmp_path / "home").mkdir()
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("GIT", "AWS_"))}
    return {**kept, "PATH": f"{SHOAL.parent}:{kept['PATH']}", "HOME": str(tmp_path / "home"),
            "AWS_EC2_METADATA_DISABLED": "true", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}


@pytest.fixture(name="repo")
def made_repo(tmp_path, env):
    """A git repository whose branch `work` changes files of `main`."""
    folder = tmp_path / "repo"
    folder.mkdir()

    def git(*words):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    (folder / "old.yaml").write_text(BAD)
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "work")
    (folder / "new cluster.yaml").write_text(BAD)
    (folder / "fine.yaml").write_text(GOOD)
    (folder / "other.yaml").write_text("a: 1\n")
    git("add", "-A")
    git("commit", "-qm", "two")
    return folder


def review(repo, env, *words, **more):
    return subprocess.run([sys.executable, ROOT / "packaging/action/review.py", *words], cwd=repo,
                          env={**env, **more}, capture_output=True, text=True, check=False)


def test_the_review_of_a_branch(repo, env):
    done = review(repo, env, "--base", "main")
    assert done.returncode == 1, done.stderr
    assert "::error file=new cluster.yaml,line=3,col=1::unknown key" in done.stdout
    assert "did you mean \"max_workers\"?" in done.stdout
    assert "### `fine.yaml`\n\n0 errors, 0 warnings." in done.stdout
    assert "old.yaml" not in done.stdout and "other.yaml" not in done.stdout


def test_a_branch_without_mistakes(repo, env):
    (repo / "new cluster.yaml").unlink()
    subprocess.run(["git", "commit", "-qam", "three"], cwd=repo, env=env, check=True)
    assert review(repo, env, "--base", "main").returncode == 0


def test_no_cluster_file(repo, env):
    done = review(repo, env, "--base", "HEAD")
    assert (done.returncode, done.stdout) == (0, "No cluster file was changed.\n")


def test_a_shallow_clone_is_explained(repo, env):
    done = review(repo, env, "--base", "origin/gone")
    assert done.returncode == 1 and "fetch-depth: 0" in done.stderr


def test_a_plan_that_fails_is_an_error(repo, env):
    """Here there are no credentials, so `shoal plan` always fails."""
    done = review(repo, env, "--base", "main", "--plan", "fine.yaml")
    assert done.returncode == 1
    assert "`shoal plan` failed" in done.stdout and "AWS_ACCESS_KEY_ID" in done.stdout


@pytest.mark.parametrize("status, said", [(0, "`shoal plan`:\n\n```text\n+ launch"),
                                          (1, "`shoal plan` failed")])
def test_what_a_plan_says_is_shown(repo, env, tmp_path, status, said):
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "shoal").write_text(f'#!/bin/sh\n[ "$1" = plan ] || exec {SHOAL} "$@"\n'
                                f"echo '+ launch'; exit {status}\n")
    (fake / "shoal").chmod(0o755)
    done = review(repo, env, "--plan", "fine.yaml", PATH=f"{fake}:{env['PATH']}")
    assert done.returncode == status and said in done.stdout


PERSON = {"login": "eve", "type": "User"}


SECRETS = {"GITHUB_TOKEN": "canary-1", "ACTIONS_RUNTIME_TOKEN": "canary-2", "NPM_TOKEN": "canary-3",
           "AWS_SECRET_ACCESS_KEY": "canary-aws", "GOOGLE_APPLICATION_CREDENTIALS": "canary-gcp"}
GCE = "cluster_name: g\nprovider: {type: gcp, region: us-west1, availability_zone: us-west1-a, " \
      "project_id: p}\n"


@pytest.mark.parametrize("text, given", [(GOOD, "canary-aws"), (GCE, "canary-gcp")])
def test_shoal_gets_only_the_secrets_that_it_needs(repo, env, tmp_path, text, given):
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "shoal").write_text(f'#!/bin/sh\nenv > {fake}/env-$1\n[ "$1" = plan ] || '
                                f'exec {SHOAL} "$@"\n')
    (fake / "shoal").chmod(0o755)
    (repo / "fine.yaml").write_text(text)
    event = tmp_path / "event.json"
    event.write_text("{}")
    done = review(repo, env, "--plan", "fine.yaml", PATH=f"{fake}:{env['PATH']}",
                  GITHUB_EVENT_PATH=str(event), **SECRETS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "canary" not in (fake / "env-validate").read_text()
    seen = re.findall(r"canary-\w+", (fake / "env-plan").read_text())
    assert seen == [given]


TYPES = "max_workers: 1\navailable_node_types: {head: {node_config: {}, resources: {CPU: 1}}}\n" \
        "head_node_type: head\n"


@pytest.mark.parametrize("text, why", [
    ("cluster_name: x\nprovider: {type: external, command: [sh, -c, 'touch PWNED']}\n"
     "auth: {ssh_user: u}\n" + TYPES, "provider external can start programs"),
    ("cluster_name: x\nprovider: {type: local, head_ip: 127.0.0.1, worker_ips: []}\n"
     "auth: {ssh_user: u}\n", "provider local can start programs"),
    (GOOD + "auth: {ssh_user: u, ssh_proxy_command: 'touch PWNED'}\n",
     "auth.ssh_proxy_command is a program"),
    ("a: &a {ssh_user: u, ssh_proxy_command: 'touch PWNED'}\n" + GOOD + "auth: {<<: *a}\n",
     None)])
def test_no_program_of_the_file_is_started(repo, env, text, why):
    (repo / "fine.yaml").write_text(text)
    done = review(repo, env, "--plan", "fine.yaml", AWS_SECRET_ACCESS_KEY="canary")
    assert not (repo / "PWNED").exists()
    assert "`shoal plan`:" not in done.stdout and "`shoal plan` failed" not in done.stdout
    if why:
        assert done.returncode == 0 and f"`shoal plan` was skipped: {why}" in done.stdout, done


def test_a_file_name_is_no_option(repo, env):
    (repo / "--help.yaml").write_text(BAD)
    done = review(repo, env, "--", "--help.yaml")
    assert done.returncode == 1 and "::error file=--help.yaml,line=3" in done.stdout, done


class GitHub(http.server.BaseHTTPRequestHandler):
    """Comments of one pull request."""

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def do_GET(self):
        assert self.headers["Authorization"] == "Bearer secret"
        if self.path == "/user":  # a workflow's token may not ask
            self.answer(200 if self.server.login else 403, {"login": self.server.login})
            return
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        size, page = int(query.get("per_page", ["30"])[0]), int(query.get("page", ["1"])[0])
        assert size <= 100, "GitHub gives no more"
        rows = [{"id": key, "body": value, "user": self.server.authors.get(key, PERSON)}
                for key, value in self.server.comments.items()]
        self.answer(self.server.status, rows[(page - 1) * size:page * size])

    def do_POST(self):
        assert self.path == "/repos/me/it/issues/7/comments"
        number = len(self.server.comments) + 1
        self.server.comments[number] = self.body()
        self.server.authors[number] = {"login": self.server.login, "type": "User"} \
            if self.server.login else {"login": "github-actions[bot]", "type": "Bot"}
        self.answer(201, {})

    def do_PATCH(self):
        number = int(self.path.removeprefix("/repos/me/it/issues/comments/"))
        self.server.comments[number] = self.body()
        self.answer(200, {})

    def log_message(self, *_):
        pass


@pytest.fixture(name="github")
def served():
    server = http.server.HTTPServer(("127.0.0.1", 0), GitHub)
    server.comments, server.status = {1: "from a person"}, 200
    server.authors, server.login = {}, None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.mark.parametrize("others", [1, 99, 100, 250])
@pytest.mark.parametrize("login", [None, "robot"])
def test_one_comment_is_written_and_then_updated(repo, env, github, tmp_path, others, login):
    """The own comment may be on any page of the list. Others can write the mark, too."""
    github.login = login
    github.comments = {number + 1: "from a person" for number in range(others)}
    github.comments[1] = forged = "<!-- shoal review --> from a person"
    event, summary = tmp_path / "event.json", tmp_path / "summary"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    names = {"GITHUB_TOKEN": "secret", "GITHUB_REPOSITORY": "me/it",
             "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
             "GITHUB_EVENT_PATH": str(event), "GITHUB_STEP_SUMMARY": str(summary)}
    for text in (BAD, GOOD):
        (repo / "fine.yaml").write_text(text)
        review(repo, env, "fine.yaml", **names)
    assert list(github.comments) == list(range(1, others + 2))
    assert github.comments[1] == forged
    assert others == 1 or github.comments[others] == "from a person"
    assert "0 errors" in github.comments[others + 1]
    assert "1 errors" in summary.read_text() and "0 errors" in summary.read_text()


def test_a_token_that_may_not_comment_is_only_a_warning(repo, env, github, tmp_path):
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    github.status = 403
    done = review(repo, env, "fine.yaml", GITHUB_TOKEN="secret", GITHUB_REPOSITORY="me/it",
                  GITHUB_API_URL=f"http://127.0.0.1:{github.server_port}",
                  GITHUB_EVENT_PATH=str(event))
    assert done.returncode == 0 and "::warning::cannot comment" in done.stdout


def test_output_cannot_forge_annotations():
    sys.path.insert(0, str(ROOT / "packaging" / "action"))
    import review as script  # pylint: disable=import-outside-toplevel
    said = script.annotation("a,b:c\n.yaml", {"line": 0, "column": 0, "level": "error",
                                              "text": "x\n::error::y", "hint": ""})
    assert said == "::error file=a%2Cb%3Ac%0A.yaml,line=1,col=1::x%0A::error::y"
    assert script.fenced("a\n```\nb").startswith("````text\n")


def test_a_file_cannot_give_commands_to_github(repo, env):
    """Its name is in the review, which the log shows."""
    name = "a\n::warning::forged.yaml"
    (repo / name).write_text(GOOD)
    lines = review(repo, env, name).stdout.splitlines()
    stop = next(at for at, line in enumerate(lines) if line.startswith("::stop-commands::"))
    end = lines.index("::" + lines[stop].removeprefix("::stop-commands::") + "::")
    found = [at for at, line in enumerate(lines) if line.startswith("::warning::")]
    assert found and all(stop < at < end for at in found)


def test_the_log_has_what_the_comment_lacks(repo, env, tmp_path):
    summary = tmp_path / "summary"
    wrong = "".join(f"max_worker{number}: 3\n" for number in range(400))
    (repo / "long.yaml").write_text(GOOD + wrong)
    done = review(repo, env, *["long.yaml"] * 3, GITHUB_STEP_SUMMARY=str(summary))
    assert len(summary.read_text()) < 60100 < len(done.stdout)
    assert summary.read_text().endswith("(The rest is in the log of the job.)\n")
    shown = done.stdout.partition("::stop-commands::")[2]
    assert shown.count("### `long.yaml`") == 3


def test_the_action_calls_the_script():
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite" and len(steps) == 2
    assert "packaging/action/review.py" in steps[1]["run"]
    for step in steps:
        assert "${{" not in step["run"], "inputs reach the shell as variables, never as text"
        assert subprocess.run(["bash", "-n", "-c", step["run"]], check=False).returncode == 0


def test_the_steps_of_the_action_run(repo, env):
    """As GitHub runs a composite action: with inputs as variables of the step."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    for files, status in (("fine.yaml", 0), ("old.yaml", 1)):
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", steps[1]["run"]], cwd=repo, check=False,
            env={**env, "FILES": files, "PLAN": "false", "GITHUB_ACTION_PATH": str(ROOT)},
            capture_output=True, text=True)
        assert done.returncode == status, done.stderr


def test_the_hook(repo, env):
    hook = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))[0]
    entry = ROOT / hook["entry"]
    assert hook["language"] == "script" and os.access(entry, os.X_OK)
    for files, status in ((["fine.yaml", "other.yaml"], 0), (["fine.yaml", "old.yaml"], 1)):
        done = subprocess.run([entry, *files], cwd=repo, env=env, capture_output=True, check=False)
        assert done.returncode == status, done.stderr
    nothing = subprocess.run([sys.executable, entry, "fine.yaml"], cwd=repo, check=False,
                             env={**env, "PATH": "/nowhere"}, capture_output=True, text=True)
    assert nothing.returncode == 1 and "not installed" in nothing.stderr


def test_pre_commit_runs_the_hook(repo, env, tmp_path):
    """`pre-commit try-repo` without network, from a repository that has only the hook."""
    program = test_site.generator() / "bin" / "pre-commit"
    if not program.exists() and os.environ.get("SHOAL_REQUIRE_SITE") != "1":
        pytest.skip("run: packaging/site install")
    hooks = tmp_path / "hooks"
    (hooks / "packaging").mkdir(parents=True)
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    shutil.copytree(ROOT / "packaging/action", hooks / "packaging/action")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=hooks, env=env, check=True)
    for files, status in (("fine.yaml", 0), ("old.yaml", 1)):
        done = subprocess.run([program, "try-repo", hooks, "shoal-validate", "--files", files],
                              cwd=repo, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
    assert 'did you mean "max_workers"?' in done.stdout


def test_the_index_for_language_models():
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    assert re.match(r"# Shoal\n\n> ", text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert not [link for link in links if not (ROOT / link).exists()]
    pages = {f"docs/user/{page.name}" for page in (ROOT / "docs/user").glob("*.md")}
    assert not pages - set(links), "every page for users is listed"


def test_the_skill_names_commands_that_exist(env):
    text = (ROOT / "skills/shoal/SKILL.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---")[1])
    assert front["name"] == "shoal" and 50 < len(front["description"]) < 1024
    lines = re.findall(r"`(shoal [^`]+)`|^\$ (shoal [^#\n]+)", text, re.MULTILINE)
    used = {(one or other).strip() for one, other in lines}
    assert len(used) > 10
    for line in used:
        words = line.split()
        said = subprocess.run([SHOAL, "help", words[1]], env=env, capture_output=True, text=True,
                              check=False)
        if words[1] != "help":
            assert said.returncode == 0, line
            options = [word for word in words if word.startswith("-") and word != "--"]
            known = said.stdout.split(" -- ")[0] if words[1] == "submit" else said.stdout
            missing = [word for word in options if not re.search(rf"{word}\b", known)]
            assert not missing or words[1] == "submit", (line, missing)
