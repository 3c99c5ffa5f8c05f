"""How a try with a client is stated: a function whose name is the sentence. It holds unless it raises."""

import sys
import time
import traceback


def run(*tries):
    """Goes through all of them, tells each that does not hold, and ends with how many did."""
    failed = 0
    for attempt in tries:
        name = attempt.__name__.replace("_", " ")
        try:
            attempt()
        except Exception:  # whatever a client raises is what did not hold
            failed += 1
            print(f"not so: {name}", file=sys.stderr)
            traceback.print_exc()
    print(f"{len(tries) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def until(holds, seconds=20):
    """Waits for what becomes so by itself."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not become so"
        time.sleep(0.1)


def app(name, **spec):
    """A small app, as people declare it."""
    return {
        "apiVersion": "hearth.dev/v1",
        "kind": "App",
        "metadata": {"name": name, "namespace": "household"},
        "spec": {"slug": name, "compose": COMPOSE, **spec},
    }


COMPOSE = "services:\n  web:\n    image: sample/web:1\n"
