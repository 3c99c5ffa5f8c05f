"""Reads the test runner's report: how many tests ran on which backend, and
whether every real suite really ran.

    count.py REPORT.xml CHECKS_PASSED CHECKS_FAILED --quick|--all

Ends with "N passed, N failed" on its own line; exits 1 if anything failed, a
real suite ran no test, or a real test said that it was skipped.
"""

import re
import sys
import xml.etree.ElementTree as xml

# A suite is told by the test binary and the test's name; the first match wins.
REAL_SUITES = {
    "end to end": r"hearth-testbed::it \S*\breal",
    "docker": r"\S+ \S*real_docker",
    "caddy": r"\S+ \S*real_caddy",
    "linux": r"\S+ \S*real_linux",
    "small disk": r"hearth-engine\S* \S*real_small_disk",
}
OTHER_SUITES = {
    "house rules": r"hearth-testbed::it (layering|licences|machine|names|parity|schemas|tidy)::",
    "pretend": r"(hearth-pretend|hearth-testbed)\b",
    "units and the rest": r"",
}


def suite_of(test):
    suites = REAL_SUITES | OTHER_SUITES
    return next(name for name, pattern in suites.items() if re.match(pattern, test))


def main(report, passed, failed, quick):
    counts = {name: [0, 0] for name in REAL_SUITES | OTHER_SUITES}
    complaints, flaky = [], []
    cases = xml.parse(report).getroot().iter("testcase") if report else []
    for case in cases:
        test = f"{case.get('classname')} {case.get('name')}"
        suite = suite_of(test)
        bad = case.find("failure") is not None or case.find("error") is not None
        if case.find("flakyFailure") is not None:
            flaky.append(test)
        counts[suite][bad] += 1
        said = "".join(case.itertext())
        if suite in REAL_SUITES and not quick and re.search(r"(^|\.\.\. )skipped: ", said, re.MULTILINE):
            complaints.append(f"{test} was skipped")

    print("\nTests per backend:")
    for suite, (good, bad) in counts.items():
        print(f"    {suite:<34}{good:>5} passed {bad:>4} failed")
        if suite in REAL_SUITES and not quick and good + bad == 0:
            complaints.append(f"the real suite '{suite}' ran no test")
    print(f"    {'checks (format, lints, docs, ...)':<34}{passed:>5} passed {failed:>4} failed")
    for test in flaky:
        print(f"    flaky, it failed at first: {test}")
    for complaint in complaints:
        print(f"error: {complaint}")

    passed += sum(good for good, _ in counts.values())
    failed += sum(bad for _, bad in counts.values()) + len(complaints)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "--quick"))
