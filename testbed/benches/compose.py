#!/usr/bin/env python3
"""How long compose files take to be read: by Hearth inside one process, and by each program as people run it.

    testbed/benches/compose.py CORPUS --compose docker-compose [--hearth target/release/hearth] [--files 200]

CORPUS is a folder of source/app/compose.yml. Reading inside one process is measured by the release build of the test
`published_files_are_read_in_under_a_millisecond` (no start of a program, best of three); the two programs are started
anew for every file, in turn, so that a busy machine slows both. Prints one table; nothing is asserted.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import time

REPO = pathlib.Path(__file__).resolve().parents[2]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("corpus", type=pathlib.Path)
    options.add_argument("--compose", required=True, help="a docker-compose program")
    options.add_argument("--hearth", default=None, help="a hearth program; without it only Docker Compose is started")
    options.add_argument("--files", type=int, default=200, help="how many files, chosen with a fixed seed")
    given = options.parse_args()
    files = sorted(given.corpus.glob("*/*/compose.yml"))
    if not files:
        sys.exit(f"{given.corpus} has no files like source/app/compose.yml")
    chosen = random.Random(1).sample(files, min(given.files, len(files)))
    inside(given.corpus)
    common = ["-p", "app", "--project-directory", "/srv/app"]
    programs = {"docker compose config": lambda file: [given.compose, *common, "-f", file, "config", "--format", "json"]}
    if given.hearth:
        hearth = [given.hearth, "compose", "config", *common]
        programs["hearth compose config"] = lambda file: [*hearth, "-f", file, "--format", "json"]
    times = {name: [] for name in programs}
    for file in chosen:
        for name, words in programs.items():
            times[name].append(took(words(str(file))))
    for name, measured in times.items():
        row(name, measured)


def inside(corpus):
    """Read inside one process, by the release build of the crate's own test."""
    environment = {**os.environ, "HEARTH_CORPUS": str(corpus)}
    words = "cargo test --release --quiet -p hearth-charts --test it published_files_are_read -- --nocapture".split()
    ran = subprocess.run(words, cwd=REPO, env=environment, capture_output=True, text=True)
    lines = [line for line in ran.stdout.splitlines() if "median" in line]
    print("inside one process:   ", lines[0] if lines else f"did not run: {ran.stderr.strip()[-300:]}")


def took(words):
    begun = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
    return time.perf_counter() - begun


def row(name, measured):
    measured = sorted(measured)
    at = lambda part: measured[min(len(measured) - 1, int(len(measured) * part))] * 1000
    print(f"{name}:  {len(measured)} files: median {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms, most {measured[-1] * 1000:.1f} ms")


main()
