"""Gate: hourly_price() alone puts prices together.

usage: prices.py ROOT

What `plan`, `up`, `status` and `ls` show is the same number only if they have it from the same
function. Another file that reads one of its sources computes a price of its own.
"""

import re
import sys

import gate
import tree

HOME = ("src/app/hourly_price.c", "src/app/price_lookup.c", "src/app/price_source.c",
        "src/app/price_source.h")
# What makes a price out of a table, a file or a size, and where that is declared.
SOURCES = {"price_built_in": HOME, "price_written": HOME,
           "catalog_ec2_price": (*HOME, "src/config/catalog/catalog.c",
                                 "src/config/catalog/catalog.h"),
           "workload_price_find": (*HOME, "src/config/workload/workload_file.c",
                                   "src/config/workload/workload_file.h"),
           "PRICE_HOURS_A_MONTH": (*HOME, "src/provider/price.h")}
WORD = re.compile(rf"\b({'|'.join(SOURCES)})\b")


def check(root):
    problems = []
    for name in tree.sources(root):
        text = tree.without_comments(tree.read(root, name) or "") if name.startswith("src/") else ""
        for number, line in enumerate(text.split("\n"), 1):
            for word in WORD.findall(line):
                if name not in SOURCES[word]:
                    problems.append(gate.problem(name, number, f"{word} makes a price here; call "
                                                 "hourly_price() (app/hourly_price.h)"))
    return problems


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
