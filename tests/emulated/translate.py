"""Translate a file of gpu/ from CUDA C to C++ for the emulated GPU.

usage: translate.py IN OUT

It translates the two constructs that C++ lacks and macros cannot replace: launches, kernel<<<...>>>(...), and shared
memory whose size the launch gives, extern __shared__ T name[].
"""
import re
import sys

SHARED = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?([\w:<> ]+?) (\w+)\[\];")


def kernel_before(text, end):
    """Start of the kernel's name that ends at `end`: an identifier, possibly with <arguments>."""
    at = end
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(text[at], 0)
            if depth == 0:
                break
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_"):
        at -= 1
    return at


def translate(text):
    text = SHARED.sub(r"\1 *\2 = (\1 *)emulated::dynamic_shared();", text)
    while True:
        at = text.find("<<<")
        if at < 0:
            return text
        end = text.index(">>>", at)
        begin = kernel_before(text, at)
        text = "%semulated::launched(%s, %s)%s" % (text[:begin], text[begin:at], text[at + 3:end], text[end + 3:])


def main(source, target):
    with open(source, encoding="utf-8") as f:
        text = f.read()
    with open(target, "w", encoding="utf-8") as f:
        f.write('#line 1 "%s"\n' % source + translate(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
