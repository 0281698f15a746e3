"""embed.py NAME FILE OUTPUT: the bytes of a file, and a zero, as a C array for #include."""
import sys

name, source, target = sys.argv[1:]
data = open(source, "rb").read()
with open(target, "w") as out:
    out.write(f"static const unsigned char {name}[{len(data) + 1}] = {{\n")
    for at in range(0, len(data), 20):
        out.write(",".join(map(str, data[at:at + 20])) + ",\n")
    out.write("};\n")
