""".ci/steps: what ends badly is counted and named, and nothing outlives a run."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

STEPS = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "steps"
FINE = "echo 'Ok:   3'"


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] != "Z"
    except FileNotFoundError:
        return False


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "build/meson-logs").mkdir(parents=True)

    def start(self, script, meson=FINE):
        """Runs a script with these steps, and with a stand-in for Meson."""
        program = self.folder / "meson"
        program.write_text(f"#!/bin/bash\n{meson}\n", encoding="utf-8")
        program.chmod(0o755)
        env = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        env.pop("SHOAL_CI_RUN", None)
        return subprocess.Popen(["bash", "-uc", f". {STEPS}\n{script}\nfinish"], cwd=self.folder,
                                env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)

    def run_steps(self, script, meson=FINE):
        child = self.start(script, meson)
        said, _ = child.communicate(timeout=300)
        return child.returncode, said, said.rstrip().split("\n")[-1]

    def check_failure(self, script, last, *names, meson=FINE):
        status, said, line = self.run_steps(script, meson)
        self.assertEqual((status, line), (1, last), said)
        listed = said[said.index("\nfailed:\n"):]
        for name in names:
            self.assertIn(name, listed)

    def test_what_passes_is_counted(self):
        self.assertEqual(self.run_steps("suites build --suite a; step b true")[::2],
                         (0, "4 passed, 0 failed"))

    def test_nothing_at_all_is_no_success(self):
        self.assertEqual(self.run_steps("")[::2], (1, "0 passed, 0 failed"))

    def test_a_step_that_fails_is_named(self):
        self.check_failure("step 'build it' false", "0 passed, 1 failed", "build it")

    def test_a_failed_test_is_named_once_in_the_count(self):
        self.check_failure("suites build --suite a", "2 passed, 1 failed", "a / one", meson="""
            echo ' 1/3 a / one FAIL 0.1s'; echo 'Ok:   2'; echo 'Fail:   1'; exit 1""")

    def test_a_time_out_and_a_skipped_test_fail(self):
        self.check_failure("suites build --suite a", "1 passed, 2 failed", "TIMEOUT", "SKIP",
                           meson="""
            echo ' 1/3 a / one TIMEOUT 0.1s'; echo ' 2/3 a / two SKIP 0.1s'
            echo 'Ok:   1'; echo 'Timeout:   1'; echo 'Skipped:   1'; exit 1""")

    def test_what_python_skipped_inside_a_file_fails(self):
        self.check_failure("suites build --suite a", "3 passed, 2 failed", "--suite a", meson="""
            while [ "$1" != --logbase ]; do shift; done
            echo '5 passed, 2 skipped in 1 s' >build/meson-logs/$2.txt; echo 'Ok:   3'""")

    def test_meson_that_crashes_or_runs_nothing_is_named(self):
        self.check_failure("suites build --suite a", "0 passed, 1 failed", "--suite a",
                           meson="exit 2")
        self.check_failure("suites build --suite a", "0 passed, 1 failed", "--suite a",
                           meson="echo 'No suitable tests defined.'")

    def test_what_runs_at_the_same_time_is_added(self):
        status, said, line = self.run_steps("""
            other() {
                passed=0 failed=0
                suites build --suite a
                echo "$passed $failed" >"$logs/o.counts"
            }
            other >"$logs/o" 2>&1 &
            add_result o $! 'the other'""")
        self.assertEqual((status, line), (0, "3 passed, 0 failed"), said)
        self.assertIn("=== the other", said)

    def test_what_runs_at_the_same_time_and_is_killed_is_named(self):
        self.check_failure("""
            other() { sleep 1000; echo '3 0' >"$logs/o.counts"; }
            other >"$logs/o" 2>&1 &
            kill -9 $!
            add_result o $! 'the other'""", "0 passed, 1 failed", "the other")

    def test_an_interrupted_run_ends_all_that_it_started(self):
        """What has a session of its own, too, and what does not react to SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start(f"""
                other() {{ suites build --suite b; }}
                other &
                suites build --suite a""", meson=f"""
                setsid bash -c 'trap "" TERM; echo $$ >>{self.folder}/ids; sleep 1000' &
                echo $$ >>{self.folder}/ids; sleep 1000""")
            ids = self.folder / "ids"
            end = time.monotonic() + 120
            while not ids.exists() or len(ids.read_text(encoding="ascii").split()) < 4:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            child.send_signal(number)
            said, _ = child.communicate(timeout=300)
            self.assertEqual(child.returncode, 1, said)
            self.assertEqual(said.rstrip().split("\n")[-1], "0 passed, 1 failed")
            self.assertIn(f"interrupted by {number.name}", said)
            left = [pid for pid in ids.read_text(encoding="ascii").split() if alive(pid)]
            self.assertEqual(left, [])
            ids.unlink()


if __name__ == "__main__":
    unittest.main()
