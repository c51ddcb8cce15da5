#!/usr/bin/env python3
"""Write ec2_prices.tsv: what EC2 machines cost on demand, without asking AWS.

    python make_ec2_prices.py CHECKOUT            write the table next to this script
    python make_ec2_prices.py CHECKOUT --check    compare only: exit 1 and show the difference

CHECKOUT is a clone of github.com/aws/karpenter-provider-aws (Apache-2.0), with or without a work
tree. That project asks AWS's public price list every few weeks and keeps the answer as a Go table;
the newest committed one is read. Only numbers are taken over.
"""

import argparse
import decimal
import difflib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE / "ec2_prices.tsv"
SOURCE = "pkg/providers/pricing/zz_generated.pricing_aws.go"
REGION = "us-east-1"

ABOUT = [
    "EC2 on-demand prices, Linux, shared tenancy: one type a line, sorted by name in byte order.",
    "Micro-dollars per hour, so that sums are exact. A type that is missing has no known price.",
    "made by make_ec2_prices.py; do not edit",
]


def git(checkout, *words):
    run = subprocess.run(["git", "-C", str(checkout), *words], check=True, capture_output=True,
                         encoding="utf-8")
    return run.stdout


def prices_of(text):
    """{type: micro-dollars} of the region's block."""
    block = re.search(rf'^\t"{REGION}": \{{\n(.*?)^\t\}},', text, re.MULTILINE | re.DOTALL)
    if not block:
        raise SystemExit(f"{SOURCE} has no table of {REGION}")
    pairs = re.findall(r'"([a-z0-9-]+\.[a-z0-9-]+)": ([0-9.]+)', block.group(1))
    prices = {}
    for name, dollars in pairs:
        micro = decimal.Decimal(dollars) * 1_000_000
        if micro != int(micro) or micro <= 0 or name in prices:
            raise SystemExit(f"odd price: {name} {dollars}")
        prices[name] = int(micro)
    return prices


def table(checkout):
    text = git(checkout, "show", f"HEAD:{SOURCE}")
    commit, day = git(checkout, "log", "-1", "--format=%H %cs", "--", SOURCE).split()
    asked = re.search(r"generated at (\d{4}-\d\d-\d\d)", text)
    head = [
        *ABOUT,
        f"source: github.com/aws/karpenter-provider-aws (Apache-2.0) {SOURCE}",
        f"commit: {commit} of {day}",
        f"region: {REGION}",
        f"date: {asked.group(1) if asked else day}",
        "columns: name micro_dollars_per_hour",
    ]
    rows = sorted(prices_of(text).items(), key=lambda row: row[0].encode())
    return "".join([f"# {line}\n" for line in head] + [f"{n}\t{p}\n" for n, p in rows])


def main():
    parser = argparse.ArgumentParser(description=f"Make {TARGET.name}.")
    parser.add_argument("checkout", help="clone of aws/karpenter-provider-aws")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    fresh = table(args.checkout)
    if not args.check:
        TARGET.write_text(fresh, encoding="ascii")
        print(f"{TARGET.name}: {fresh.count(chr(10)) - fresh.count('# ')} rows")
        return 0
    stored = TARGET.read_text(encoding="ascii") if TARGET.exists() else ""
    diff = list(difflib.unified_diff(stored.splitlines(), fresh.splitlines(), "stored", "fresh",
                                     lineterm="", n=0))
    print("\n".join(diff) if diff else f"{TARGET.name} is up to date")
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
