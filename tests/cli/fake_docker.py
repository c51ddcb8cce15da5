#!/usr/bin/env python3
"""A program that answers like docker: one image store and one container per folder FAKE_DOCKER.

state.json  {"images": {name: [variables]}, "box": null or {id, name, image, mounts, running} and
             perhaps {labels, sources of the mounts},
             "runtimes": text, "fail": {command: text or [text, ...]}, "counter": n} and perhaps
             "ends": what an entrypoint says before it ends, soon after `run`; --rm removes it,
             "uid": the user of the image
log.jsonl   the words of every call
home        the home folder in the container
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(os.environ.get("FAKE_DOCKER", "/nonexistent"))


def install(folder, home, **state):
    """Put it into a folder of the PATH, under the names of both programs."""
    for name in ("docker", "podman"):
        (folder / name).write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {__file__} \"$@\"\n")
        (folder / name).chmod(0o755)
    (home / "home").mkdir(parents=True, exist_ok=True)
    save(home, {"images": {}, "box": None, "runtimes": "map[runc:{}]", "fail": {}, "counter": 0,
                **state})


def load(home):
    return json.loads((home / "state.json").read_text())


def save(home, state):
    (home / "state.json").write_text(json.dumps(state))


def calls(home):
    log = home / "log.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)


def mounts_of(box):
    sources = box.get("sources") or [None] * len(box["mounts"])
    return [{"Destination": there, **({"Source": here} if here else {})}
            for there, here in zip(box["mounts"], sources)]


def show(text, state, name):
    """`inspect -f`: of the container, or of an image."""
    box = state["box"]
    if box and name in (box["name"], box["id"]):
        values = {"{{.State.Running}}": str(box["running"]).lower(), "{{.Id}}": box["id"],
                  "{{.Config.Image}}": box["image"],
                  "{{json .Config.Env}}": json.dumps(state["images"].get(box["image"], [])),
                  "{{json .Config.Labels}}": json.dumps(box.get("labels") or None),
                  "{{json .Mounts}}": json.dumps(mounts_of(box))}
    elif name in state["images"]:
        values = {"{{json .Config.Env}}": json.dumps(state["images"][name])}
    else:
        fail(f"Error: No such object: {name}")
    for key, value in values.items():
        text = text.replace(key, value)
    print(text)


def run(words, state):
    mounts = [words[i + 1].partition(":")[2] for i, word in enumerate(words) if word == "-v"]
    labels = dict(words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--label")
    name = words[words.index("--name") + 1]
    if state["box"]:
        fail(f'Conflict. The container name "/{name}" is already in use')
    state["counter"] += 1
    made = f"{HERE} {state['counter']}".encode()  # as unique as Docker's
    state["box"] = {"id": hashlib.sha256(made).hexdigest(), "name": name, "image": words[-2],
                    "mounts": mounts, "running": True, **({"labels": labels} if labels else {})}
    if words[-2] not in state["images"]:
        fail("docker: Error response from daemon: No such image")
    print(state["box"]["id"])


def execute(words, state):
    if not state["box"] or words[0] not in (state["box"]["name"], state["box"]["id"]):
        fail(f"Error: No such container: {words[0]}")
    if words[1:] == ["id", "-u"] and "uid" in state:
        print(state["uid"])
        sys.exit(0)
    env = {"PATH": os.environ["PATH"], "HOME": str(HERE / "home")}
    sys.exit(subprocess.run(words[1:], env=env, cwd="/", start_new_session=True,
                            check=False).returncode)


def follow(name, state):
    """`logs -f`: until the container ends."""
    if not state["box"] or name not in (state["box"]["name"], state["box"]["id"]):
        fail(f"Error: No such container: {name}")
    if "ends" not in state:
        time.sleep(600)
    print(state["ends"])
    state["box"] = None


def refuse(verb, state):
    text = state["fail"].get(verb)
    if isinstance(text, list):  # one for each call, until they are used up
        text = state["fail"][verb].pop(0) if text else None
        save(HERE, state)
    if text:
        fail(text)


def main(words):
    state = load(HERE)
    with open(HERE / "log.jsonl", "a", encoding="utf-8") as log:
        log.write(json.dumps(words) + "\n")
    words = [word for word in words if word != "container"]
    verb, rest = words[0], words[1:]
    refuse(verb, state)
    if verb == "version":
        print("20.10.24")
    elif verb == "info":
        print(state["runtimes"])
    elif verb == "inspect":
        show(rest[1], state, rest[2])
    elif verb == "image":
        if rest[1] not in state["images"]:
            fail("Error: No such image")
    elif verb == "pull":
        state["images"].setdefault(rest[0], [])
    elif verb == "run":
        run(rest, state)
    elif verb in ("rm", "stop"):
        state["box"] = None
    elif verb == "logs":
        follow(rest[-1], state)
    elif verb == "exec":
        execute(rest[next(i for i, word in enumerate(rest) if not word.startswith("-")):], state)
    save(HERE, state)


if __name__ == "__main__":
    main(sys.argv[1:])
