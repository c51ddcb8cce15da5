"""Times hostile inputs: a file of 64 KiB must not hold anybody up.

usage: slow_inputs.py REPLAY_YAML REPLAY_CONFIG [--bound-ms N] [--keep FOLDER] [--only NAME]

Makes one file for every way we know to make a reader slow, has both fuzz targets do with it what
the program would (read, check, hash, mask, write as JSON and as YAML) and fails when one needs more
processor time than the bound, which is for the reference processor of tests/bench/reference.py.
--keep leaves the files for a look with `time shoal validate`.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

from reference import Reference  # noqa: E402  pylint: disable=wrong-import-position

SIZE = 64 * 1024
GIVE_UP_SECONDS = 30
TRIES_MORE = 20
PAUSE_SECONDS = 2.0
HEAD = "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"
TYPES = "max_workers: 1\nhead_node_type: t0\navailable_node_types:\n"


def fill(unit, head="", tail=""):
    """`head`, as many units as fit, `tail`; a unit is a text, or a function of its number."""
    parts, size = [], len(head.encode()) + len(tail.encode())
    for number in itertools.count():
        part = unit(number) if callable(unit) else unit
        size += len(part.encode())
        if size > SIZE:
            return head + "".join(parts) + tail
        parts.append(part)


# ---- nesting ----

def nested_blocks():
    return fill("- ")


def nested_flows():
    return fill("[")


def nested_maps():
    return fill("{a: ")


def wide_below_lists(depth):
    """Deep, but allowed; every one of many items is written with all the indentation."""
    return fill("1,", "a: " + "[" * depth, "]" * depth + "\n")


def wide_below_maps(depth):
    """As above with maps in lists, which the writer lays out in a special way."""
    return fill("1,", "[{a: " * (depth // 2), "}]" * (depth // 2) + "\n")


def wide_at_90():
    return wide_below_lists(90)


def wide_at_60():
    return wide_below_lists(60)


def wide_below_maps_at_90():
    return wide_below_maps(90)


def wide_below_maps_at_60():
    return wide_below_maps(60)


def deep_twice():
    """Many deep things side by side."""
    return fill("- " + "[" * 95 + "]" * 95 + "\n")


# ---- size ----

def long_flow():
    return fill("a,", "x: [", "]\n")


def long_block():
    return fill("- a\n")


def one_scalar():
    return fill("word ", "a: ", "\n")


def one_quoted_scalar():
    return fill("\\u0041", 'a: "', '"\n')


def one_block_scalar():
    return fill("  text\n", "a: |\n")


def one_wide_scalar():
    return fill("\u4e2d\U0001F600", "cluster_name: ", "\n")


def tabs_in_text():
    return fill("  x" + "\tx" * 500 + "\n", "a: |\n")


def tabs_outside():
    return fill("# " + "\tx" * 500 + "\n", "", "a:\tb\n")


def comments():
    return fill("#\n", "", "a: 1\n")


# ---- maps ----

def many_keys():
    return fill(lambda i: f"k{i}: {i}\n")


def many_number_keys():
    return fill(lambda i: f"{i}: \n")


def duplicate_keys():
    return fill("a: 1\n")


def equal_keys():
    return fill(lambda i: f"{i}: a\n{i}.0: b\n")


def one_hash():
    """Keys whose FNV-1a hashes agree in as many low bits as a table of them looks at."""
    mask = (1 << 15) - 1
    letters = [ord(c) for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"]

    def step(state, word):
        for byte in word:
            state = ((state ^ byte) * 1099511628211) & mask
        return state

    state, levels = 14695981039346656037 & mask, []
    for _ in range(3):
        groups = {}
        for word in itertools.product(letters, repeat=3):
            groups.setdefault(step(state, word), []).append(bytes(word).decode())
        state = max(groups, key=lambda end: len(groups[end]))
        levels.append(groups[state])
    words = itertools.cycle("".join(parts) for parts in itertools.product(*levels))
    return fill(lambda _: next(words) + ":\n")


# ---- aliases ----

def anchors_and_aliases():
    return fill(lambda i: f"- &a{i} x\n- *a{i}\n")


def aliases_of_one():
    return fill("*a,", "[&a [x,y], ", "]\n")


def merges():
    return fill(lambda i: f"k{i}: {{<<: *a}}\n", "a: &a {x: 1, y: 2, z: 3}\n")


def merges_of_merges():
    return fill(lambda i: f"- &a{i + 1} {{<<: *a{i}, k{i}: 1}}\n", "- &a0 {x: 1}\n")


def merge_lists():
    return fill("*a,", "a: &a {x: 1, y: 2}\nb: {<<: [", "]}\n")


def billion_laughs():
    return "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))


def allowed_laughs(depth, count):
    """About as many values as aliases may stand for, deep inside."""
    lists = "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 4))
    return ("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + lists + "b: " + "[" * depth +
            ",".join(["*a3"] * count) + "]" * depth + "\n")


def small_laughs():
    return allowed_laughs(90, 1)


def middling_laughs():
    return allowed_laughs(90, 10)


def large_laughs():
    return allowed_laughs(380, 10)


def long_text_laughs():
    """A long text costs an alias no more than a short one."""
    return fill("*a,", "metadata: [&a " + "word " * 6000 + ", ", "]\n")


def secret_text_laughs():
    return HEAD + fill("*a,", "metadata: [&a '" + "a=" * 12000 + "', ", "]\n")[:SIZE]


# ---- numbers ----

def huge_integers():
    return fill("- " + "9" * 4300 + "\n")


def huge_hexadecimals():
    return fill("- 0x" + "f" * 3500 + "\n")


def too_huge_integer():
    return fill("9", "- ", "\n")


def sexagesimals():
    return fill("- 1" + ":59" * 2400 + "\n")


def one_sexagesimal():
    return fill(":59", "- 1", "\n")


def sexagesimal_floats():
    return fill("- 1" + ":59" * 2400 + ".5\n")


def long_floats():
    return fill("- 0." + "1234567890" * 300 + "\n")


def tiny_floats():
    return fill("- 1.7976931348623157e-300\n")


def dates():
    return fill("- 2026-11-15 04:05:06.789 +02:30\n")


def binary():
    return fill("aGVs", "- !!binary ", "\n")


# ---- cluster files ----

def unknown_keys():
    return fill(lambda i: f"max_workrs{i}: 1\n", HEAD)


def unknown_short_keys():
    return fill(lambda i: f"x{i}:\n", HEAD)


def unknown_provider_keys():
    return fill(lambda i: f"  regoin_{i}: 1\n", "cluster_name: x\nprovider:\n  type: aws\n")


def unknown_keys_on_one_line():
    return fill(lambda i: f"max_workrs{i}: 1,", "{" + "provider: {type: aws},", "}\n")


def unknown_machines():
    return fill(lambda i: f"  t{i}: {{node_config: {{InstanceType: m5.larg{i}}}}}\n",
                HEAD + TYPES)


def unknown_long_machines():
    name = "x" * 58
    return fill(lambda i: f"  t{i}: {{node_config: {{InstanceType: {name}{i}}}}}\n", HEAD + TYPES)


def unknown_parameters():
    head = HEAD + TYPES + "  t0:\n    node_config:\n      InstanceType: m5.large\n"
    return fill(lambda i: f"      InstanceTyp{i}: 1\n", head)


def unknown_long_parameters():
    head = HEAD + TYPES + "  t0:\n    node_config:\n      InstanceType: m5.large\n"
    name = "Y" * 58
    return fill(lambda i: f"      {name}{i}: 1\n", head)


def many_types():
    unit = "  t%d: {node_config: {InstanceType: m5.large}}\n"
    return fill(lambda i: unit % i, HEAD + TYPES)


def aliased_types():
    head = HEAD + TYPES + "  t0: &t {node_config: {InstanceType: m5.lagre}}\n"
    return fill(lambda i: f"  a{i}: *t\n", head)


def missing_mounts():
    return fill(lambda i: f"  /m{i}: ./f{i}\n", HEAD + "file_mounts:\n")


def long_missing_mounts():
    head = HEAD + "metadata: &a " + "path/" * 6000 + "\nfile_mounts:\n"
    return fill(lambda i: f"  {i}: *a\n", head)


def commands():
    return fill("  - git clone x\n", HEAD + "setup_commands:\n")


def one_command():
    return fill("test x && mkdir y; ", HEAD + "setup_commands:\n  - '", "'\n")


def secrets():
    return fill("token=x ", HEAD + "setup_commands: ['", "']\n")


def equals_signs():
    return fill("=", HEAD + "setup_commands: ['", "']\n")


def colons():
    return fill("a:", HEAD + "setup_commands: ['", "']\n")


def addresses():
    return fill("x://a:b", HEAD + "setup_commands: ['", "']\n")


def login_options():
    return fill("-p x ", HEAD + "setup_commands: ['", "']\n")


def quotes_and_brackets():
    return fill("token=$(`\"", HEAD + "setup_commands: ['", "']\n")


def long_secret_name():
    return fill("a", HEAD + "setup_commands: ['", "=b']\n")


def local_machines():
    return fill("h,", "cluster_name: x\nprovider: {type: local, head_ip: h, worker_ips: [",
                "]}\nauth: {ssh_user: u}\n")


INPUTS = (
    nested_blocks, nested_flows, nested_maps, wide_at_90, wide_at_60, wide_below_maps_at_90,
    wide_below_maps_at_60, deep_twice,
    long_flow, long_block, one_scalar, one_quoted_scalar, one_block_scalar, one_wide_scalar,
    tabs_in_text, tabs_outside, comments,
    many_keys, many_number_keys, duplicate_keys, equal_keys, one_hash,
    anchors_and_aliases, aliases_of_one, merges, merges_of_merges, merge_lists, billion_laughs,
    small_laughs, middling_laughs, large_laughs, long_text_laughs, secret_text_laughs,
    huge_integers, huge_hexadecimals, too_huge_integer, sexagesimals, one_sexagesimal,
    sexagesimal_floats, long_floats, tiny_floats, dates, binary,
    unknown_keys, unknown_short_keys, unknown_provider_keys, unknown_keys_on_one_line,
    unknown_machines, unknown_long_machines, unknown_parameters, unknown_long_parameters,
    many_types, aliased_types, missing_mounts, long_missing_mounts, commands, one_command,
    secrets, equals_signs, colons, addresses, login_options, quotes_and_brackets,
    long_secret_name, local_machines,
)


def write_inputs(folder, only):
    for make in INPUTS:
        if only and make.__name__ != only:
            continue
        path = os.path.join(folder, make.__name__ + ".yaml")
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(make())
        yield make.__name__, path


def milliseconds(target, path):
    """Processor time, or None with the reason when there is none."""
    try:
        done = subprocess.run([target, "--time", path], capture_output=True, check=False,
                              timeout=GIVE_UP_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"no end after {GIVE_UP_SECONDS} s"
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip()[-300:]
        return None, f"exit status {done.returncode}: {last}"
    return int(done.stdout.split()[0]) / 1000, None


def judge(name, target, path, bound):
    """Prints a line of the table; returns whether it is good."""
    taken, trouble = milliseconds(target, path)
    reference = Reference()
    for _ in range(TRIES_MORE):
        if trouble or taken <= bound * reference.slowness():
            break
        reference.sample()
        # A busy machine makes code look slow, never fast: the best of a few tries is its cost.
        time.sleep(PAUSE_SECONDS)
        again, trouble = milliseconds(target, path)
        taken = min(taken, again) if again is not None else taken
    label = f"{name:28} {os.path.basename(target):16}"
    if trouble:
        print(f"{label} FAILED: {trouble}")
        return False
    too_slow = taken > bound * reference.slowness()
    print(f"{label} {taken:9.1f} ms{'  TOO SLOW' if too_slow else ''}", flush=True)
    return not too_slow


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs=2, metavar="REPLAY")
    parser.add_argument("--bound-ms", type=float, default=100)
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--only", metavar="NAME")
    options = parser.parse_args(argv)
    bad = count = 0
    with tempfile.TemporaryDirectory(prefix="shoal-slow-") as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for name, path in write_inputs(folder, options.only):
            for target in options.targets:
                count += 1
                bad += not judge(name, target, path, options.bound_ms)
    print(f"{count} runs, {bad} of them bad; the bound is {options.bound_ms:g} ms")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
