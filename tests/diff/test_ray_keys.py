"""Every key of a cluster file that Ray's schema has or Ray's code reads: Shoal's code reads it too,
or compatibility.md names it with the reason.

"Reads" means here that the key is a string in a source file outside the schema's tables. That the
value has Ray's meaning is what test_config.py, test_setup.py, test_hash.py and the clusters show.
"""

import json
import pathlib
import re

import need_ray  # noqa: F401  skips this module without Ray

import oracle
import ray
import test_schema_cover

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "user" / "compatibility.md"
HEADING = "## Keys that Shoal does not obey"
AUTOSCALER = pathlib.Path(ray.__file__).parent / "autoscaler"
# Where Ray reads the file; other providers' folders are about their own node_config.
READERS = ["_private/commands.py", "_private/command_runner.py", "_private/updater.py",
           "_private/util.py", "_private/autoscaler.py", "_private/docker.py",
           "_private/prom_metrics.py", "_private/monitor.py", "_private/providers.py",
           "_private/aws/config.py", "_private/aws/node_provider.py", "_private/aws/utils.py",
           "v2/instance_manager/config.py", "v2/monitor.py", "v2/autoscaler.py"]
MAPS = r"(?:provider_config|auth_config|docker_config|config|remote_config|node_config|" \
       r"node_type_config|yaml_config|_node_configs|worker_config|head_config)"
PATTERN = re.compile(MAPS + r"(?:\[\"(?:provider|auth|docker)\"\])?(?:\.get\(|\[|\.pop\(|"
                     r"\.setdefault\()\s*\"(\w+)\"")


def keys_in_code():
    found = {}
    for name in READERS:
        path = AUTOSCALER / name
        for match in PATTERN.finditer(path.read_text(encoding="utf-8")):
            found.setdefault(match[1], name)
    return found


def keys_in_schema():
    root = test_schema_cover.ray_schema()
    paths = test_schema_cover.schema_keys(root, root)
    return {path.rpartition(".")[2]: path for path in paths if not path.endswith("*")}


def keys_of_shoal():
    """Words in string literals of C files that read configurations."""
    words = set()
    for path in (REPOSITORY / "src").rglob("*.c"):
        if {"schema", "check"} & set(path.relative_to(REPOSITORY).parts):  # they only report
            continue
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text(encoding="utf-8")):
            if re.fullmatch(r"[\w.]+", text):
                words.update(text.split("."))
    return words


def rows():
    text = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    found = set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and cells[1].startswith("`"):
            assert len(cells[2]) > 20, f"no reason: {line}"
            found.update(name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", cells[1]))
    return found


def test_every_key(say):
    ours, page = keys_of_shoal(), rows()
    wanted = {**keys_in_code(), **keys_in_schema()}
    missing = sorted(f"{where} ({key})" for key, where in wanted.items()
                     if key not in ours and key not in page)
    say(f"keys: {len(wanted)} of Ray, {sum(key in ours for key in wanted)} are read by Shoal, "
        f"{sum(key in page for key in wanted)} are on the page")
    assert not missing, "neither read by Shoal nor on the page:\n" + "\n".join(missing)
    stale = sorted(page - set(wanted))
    assert not stale, f"rows about keys that Ray does not have: {stale}"


def test_the_search_finds_what_it_should():
    """Guards against a search that finds nothing without an error."""
    code, schema, ours = keys_in_code(), keys_in_schema(), keys_of_shoal()
    assert {"use_internal_ips", "ssh_proxy_use_node_id", "cache_stopped_nodes", "InstanceType",
            "max_workers"} <= code.keys(), sorted(code)
    assert {"upscaling_speed", "worker_image", "file_mounts_sync_continuously"} <= schema.keys()
    assert "upscaling_speed" in ours and "no_such_key" not in ours
    assert json.loads(pathlib.Path(oracle.schema_path()).read_text(encoding="utf-8"))
