"""palette_header.py PALETTE.json OUTPUT: the colours of labels as C arrays for core/picture/picture_colour.c."""
import json
import sys

source, target = sys.argv[1:]
with open(source) as f:
    palette = json.load(f)
with open(target, "w") as out:
    for name, colours in sorted(palette.items()):
        rows = ", ".join(f"0x{c}" for c in colours)
        out.write(f"static const uint32_t on_{name}[] = {{{rows}}};\n")
