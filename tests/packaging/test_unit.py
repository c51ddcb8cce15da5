"""The unit tests, compiled and linked as the portable program is: the HTTP client on curl 8 and its
own OpenSSL, children, files and the loop on musl."""

import re
import subprocess

from conftest import OUT, STATIC


def test_unit_tests_pass(arch):
    done = subprocess.run([STATIC, "test", "--out", OUT, arch], capture_output=True, text=True,
                          check=False)
    said = done.stdout + done.stderr
    assert re.search(r"^Ok: +\d+", said, re.MULTILINE), said
    passed = int(re.search(r"^Ok: +(\d+)", said, re.MULTILINE).group(1))
    failed = set(re.findall(r"^ *\d+/\d+ shoal:unit / (\S+) +(?:FAIL|TIMEOUT)", said, re.MULTILINE))
    print(f"{arch}: {passed} programs of unit tests passed, failed: {', '.join(failed) or 'none'}")
    assert passed > 50
    assert not failed, said
