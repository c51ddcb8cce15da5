"""A command on the head and an `up` without changes, next to bare ssh and `ray exec`, in one run.

usage: bench_exec.py [--rounds N] [--check] [--without-ray] [--program FILE]

    ssh cold         ssh without a shared connection, with public keys only
    ssh warm         ssh over a connection that is already open (ControlMaster)
    shoal exec cold  shoal has no open connection; the head's address is known
    shoal exec warm  shoal's connection is open; on a terminal, as ssh warm
    shoal script     the same without a terminal: a connection of its own, as exec cold
    up               `shoal up -y` of an unchanged file, without an open connection
    ray exec         the installed Ray, same cluster, same key, its configuration cached

All of them run `true` in a login shell on the head, bare ssh with the remote command line of
`shoal exec`, and take turns in each round. Runs on a front (tests/front): real
ssh, sshd and API calls on this machine, without network delay, so the differences are the programs'
own. Times are medians of wall time; each includes the same nsenter and env, which are not
subtracted. --check asserts the goals. --program names another shoal than that of the build: the
portable one (packaging/static), which users install, starts 10 ms faster.
"""

import argparse
import fcntl
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import termios
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "front"))
SKIPPED = 77

try:
    import front
except ImportError as missing:
    print(f"{missing}: skipped")
    sys.exit(SKIPPED)

WARM_GOAL, COLD_GOAL = 0.005, 0.020  # seconds more than bare ssh
UP_GOAL = 2                          # times a cold ssh, plus the API calls
MASTERS = r"^ssh: .* \[mux\]|^ssh -T -N -f "
RAY = pathlib.Path(sys.executable).parent / "ray"


class Bench:
    def __init__(self, on, with_ray):
        self.on, self.laptop, self.times, self.calls = on, on.laptop("alice"), {}, {}
        self.file = self.laptop.file("cluster.yaml", on.cluster("demo", workers=1))
        self.laptop("up", "-y", self.file)
        self.head = on.head("demo")
        self.key = next(self.laptop.state.rglob("key"))
        self.ssh = ["ssh", "-F", "none", "-i", self.key, "-o", "IdentitiesOnly=yes", "-o",
                    "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
                    "LogLevel=ERROR", "-o", "BatchMode=yes", "-o",
                    "PreferredAuthentications=publickey"]
        self.target = f"ubuntu@{self.head.public}"
        self.line, self.terminal_line = self.find_line(False), self.find_line(True)
        self.with_ray = with_ray
        if with_ray:
            self.ray_file = self.write_ray_file()

    def find_line(self, has_terminal):
        """The remote command line of `shoal exec`, which differs on a terminal."""
        words = [self.on.program, "exec", "-v", self.file, "true"]
        said = self.run(words, has_terminal)[2].decode()
        shown = next(line for line in said.splitlines() if line.startswith("-> ssh "))
        return shlex.split(shown)[-1]

    def write_ray_file(self):
        """Ray wants a name for the key, or it creates one. It is only used to launch."""
        content = json.loads(pathlib.Path(self.file).read_text(encoding="utf-8"))
        content["auth"]["ssh_private_key"] = str(self.key)
        for node in content["available_node_types"].values():
            node["node_config"] = {**node["node_config"], "KeyName": "own"}
        return self.laptop.file("ray.yaml", content)

    def run(self, words, has_terminal):
        """(seconds, exit status, output)"""
        env, began = self.laptop.env(TERM="xterm"), time.perf_counter()
        if not has_terminal:
            done = subprocess.run(self.laptop.words(*words), env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                                  check=False)
            return time.perf_counter() - began, done.returncode, done.stdout
        ours, theirs = os.openpty()
        done = subprocess.run(self.laptop.words(*words), env=env, stdin=theirs, stdout=theirs,
                              stderr=theirs, timeout=120, start_new_session=True, check=False,
                              preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        seconds = time.perf_counter() - began
        os.close(theirs)
        os.set_blocking(ours, False)
        try:
            said = os.read(ours, 65536)
        except OSError:  # nothing was said
            said = b""
        os.close(ours)
        return seconds, done.returncode, said

    def measure(self, name, *words, has_terminal=False):
        """Seconds of one command, and its API calls: (count, seconds of the API)."""
        since = time.time()
        seconds, status, said = self.run(words, has_terminal)
        assert status == 0, f"{name}: {status}\n{said.decode(errors='replace')}"
        rows = [row for row in self.on.calls(since) if row["who"] == "laptop"]
        self.times.setdefault(name, []).append(seconds)
        self.calls.setdefault(name, []).append((len(rows), sum(row["ms"] for row in rows) / 1000))

    def disconnect(self):
        """End every shared connection of the laptop."""
        subprocess.run(self.laptop.words("pkill", "-f", MASTERS), check=False,
                       env=self.laptop.env())
        front.wait_for(lambda: not self.masters(), 10, 0.01, "the end of shared connections")

    def masters(self):
        return subprocess.run(self.laptop.words("pgrep", "-f", MASTERS), check=False,
                              env=self.laptop.env(), capture_output=True, text=True).stdout.split()

    def turn(self):
        shoal, control = self.on.program, str(self.laptop.folder / "tmp" / "bare")
        self.disconnect()
        self.measure("ssh cold", *self.ssh, self.target, self.line)
        self.measure("shoal exec cold", shoal, "exec", self.file, "true")
        self.run([shoal, "exec", self.file, "true"], True)  # opens the connection
        self.measure("shoal exec warm", shoal, "exec", self.file, "true", has_terminal=True)
        self.measure("shoal script", shoal, "exec", self.file, "true")
        self.disconnect()
        self.measure("up", shoal, "up", "-y", self.file)
        self.disconnect()
        shared = [*self.ssh, "-o", f"ControlPath={control}"]
        subprocess.run(self.laptop.words(*shared, "-o", "ControlMaster=yes", "-o",
                                         "ControlPersist=60", self.target, "true"),
                       env=self.laptop.env(), check=True, stdin=subprocess.DEVNULL)
        self.measure("ssh warm", *shared, "-tt", self.target, self.terminal_line,
                     has_terminal=True)
        if self.with_ray:
            self.measure("ray exec", RAY, "exec", self.ray_file, "true")

    def median(self, name):
        return statistics.median(self.times[name])

    def report(self):
        print(f"{'':16} {'median':>9} {'least':>9} {'API calls':>10}")
        for name, seconds in self.times.items():
            calls = statistics.median(count for count, _ in self.calls[name])
            print(f"{name:16} {self.median(name) * 1000:6.1f} ms {min(seconds) * 1000:6.1f} ms "
                  f"{calls:10g}")
        print(f"{len(self.times['up'])} rounds, load {os.getloadavg()[0]:.1f}")

    def check(self):
        warm = self.median("shoal exec warm") - self.median("ssh warm")
        cold = self.median("shoal exec cold") - self.median("ssh cold")
        in_api = statistics.median(seconds for _, seconds in self.calls["up"])
        assert warm <= WARM_GOAL, f"warm: {warm * 1000:.1f} ms more than ssh"
        assert cold <= COLD_GOAL, f"cold: {cold * 1000:.1f} ms more than ssh"
        for name in ("shoal exec warm", "shoal exec cold", "shoal script"):
            assert not any(count for count, _ in self.calls[name]), f"API calls of {name}"
        assert self.median("up") <= UP_GOAL * self.median("ssh cold") + in_api, "up is too slow"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--without-ray", action="store_true")
    parser.add_argument("--program", type=pathlib.Path)
    args = parser.parse_args()
    why = front.missing()
    if why:
        print(f"{why}: skipped")
        return SKIPPED
    with front.Front(program=args.program) as on:
        bench = Bench(on, not args.without_ray)
        for _ in range(args.rounds):
            bench.turn()
        bench.report()
        if args.check:
            bench.check()
    return 0


if __name__ == "__main__":
    sys.exit(main())
