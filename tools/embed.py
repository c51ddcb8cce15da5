"""Write a C file that holds data files as byte arrays: embed.py OUT [--table NAME] NAME=PATH...

The build runs this, so that the tables in the tree stay readable text and the program needs no
other files. The form of the table is declared in src/config/embedded_data.h.
"""

import sys

BYTES_PER_LINE = 24


def array_of(index, data):
    lines = [f"static const unsigned char file_{index}[] = {{"]
    for start in range(0, len(data), BYTES_PER_LINE):
        row = data[start : start + BYTES_PER_LINE]
        lines.append("    " + ",".join(str(byte) for byte in row) + ",")
    lines.append("    0};")  # a zero behind the text, not counted in its size
    return "\n".join(lines)


def main():
    out, *pairs = sys.argv[1:]
    table = "embedded_file"
    if pairs[0] == "--table":
        table, pairs = pairs[1], pairs[2:]
    arrays, rows = [], []
    for index, pair in enumerate(pairs):
        name, path = pair.split("=", 1)
        with open(path, "rb") as file:
            arrays.append(array_of(index, file.read()))
        rows.append(f'    {{"{name}", file_{index}, sizeof(file_{index}) - 1}},')
    with open(out, "w", encoding="ascii") as file:
        file.write("/* Made by tools/embed.py at build time. */\n")
        file.write('#include "config/embedded_data.h"\n\n')
        file.write("\n\n".join(arrays))
        if table != "embedded_file":
            file.write(f"\n\nextern const struct embedded_file {table}s[];\n")
            file.write(f"extern const size_t {table}_count;\n")
        file.write(f"\n\nconst struct embedded_file {table}s[] = {{\n")
        file.write("\n".join(rows) + "\n};\n")
        file.write(f"const size_t {table}_count = {len(pairs)};\n")


if __name__ == "__main__":
    main()
