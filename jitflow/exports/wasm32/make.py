"""Makes helpers.ll of helpers.c, with the C compiler of ziglang's wheel: python make.py."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

SOURCE, TEXT = (Path(__file__).with_name(f"helpers.{suffix}") for suffix in ("c", "ll"))
OPTIONS = "-Oz -g0 -fno-builtin -ffp-contract=off -fno-sanitize=undefined -fomit-frame-pointer -S -emit-llvm".split()


def main() -> None:
    """Compile, and leave out what is of the C compiler: names, and what it says of the processor."""
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-freestanding", *OPTIONS]
    subprocess.run([*compiler, str(SOURCE), "-o", str(TEXT)], check=True)
    text = TEXT.read_text()
    text = re.sub(r"^(; .*|source_filename.*|target .*|attributes .*|!.*)\n", "", text, flags=re.MULTILINE)
    text = re.sub(r" #\d+|, !\S+ !\d+| local_unnamed_addr| unnamed_addr|\s*;.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(define .*) \{$", r"\1 #0 {", text, flags=re.MULTILINE)
    text = text.replace("define hidden", "define weak hidden")
    names = {"odd_sum": "jitflow.odd_sum", "exactly": "jitflow.exactly", "place": "jitflow.place",
             "returned": "jitflow.returned", "end": "jitflow.end", "mantissa": "jitflow.mantissa"}  # fmt: skip
    for name, own in names.items():
        text = re.sub(rf"@{name}\b", f"@{own}", text)
    TEXT.write_text(f"; of {digest()}\n" + re.sub(r"\n{3,}", "\n\n", text).lstrip())


def digest() -> str:
    """What the source is known by: the text says of which one it was made."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
