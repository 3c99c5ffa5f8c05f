#!/usr/bin/env python3
"""How soon a write is seen by whoever watches, how long reads take, and what a watcher costs.

    testbed/benches/watching.py target/release/hearth KUBECTL

Starts a Hearth of its own on a pretend machine, fills it with secrets, which nothing acts on, and asks it over TLS as
clients do: from outside, on the loopback. Prints one line for each figure; nothing passes or fails.
"""

import argparse
import base64
import http.client
import json
import queue
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SECRETS = "/api/v1/namespaces/household/secrets"


class Home:
    """A server, and one connection to it as its admin."""

    def __init__(self, program, folder):
        self.data = Path(folder) / "data"
        log = open(Path(folder) / "log", "wb")
        command = [program, "serve", "--pretend", "--data-dir", str(self.data), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.kubeconfig = self.data / "admin.kubeconfig"
        end = time.monotonic() + 60
        while not self.kubeconfig.exists():
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit(f"the server does not start: {(Path(folder) / 'log').read_text()}")
            time.sleep(0.05)
        text = self.kubeconfig.read_text()
        self.port = int(re.search(r"server: https://[^:]+:(\d+)", text)[1])
        self.token = re.search(r"token: (\S+)", text)[1]
        authority = base64.b64decode(re.search(r"certificate-authority-data: (\S+)", text)[1]).decode()
        self.trust = ssl.create_default_context(cadata=authority)
        self.connection = self.connect()

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.trust, timeout=60)

    def head(self, media="application/json"):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": media}

    def ask(self, method, path, body=None, media="application/json"):
        body = None if body is None else json.dumps(body)
        self.connection.request(method, path, body, self.head(media))
        answer = self.connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {said[:500]}")
        return said

    def memory_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def fill(home, objects):
    for number in range(objects):
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"secret-{number:04}"},
            "stringData": {"password": "x" * 200, "user": f"user-{number}"},
        }
        home.ask("POST", SECRETS, secret)


def told(what, seconds):
    seconds = sorted(seconds)
    at = lambda share: seconds[min(len(seconds) - 1, int(len(seconds) * share))] * 1000
    print(f"{what}: p50 {at(0.5):.2f} ms, p99 {at(0.99):.2f} ms, most {seconds[-1] * 1000:.2f} ms, {len(seconds)} times")


def reads(home, objects, times):
    taken = []
    for number in range(times):
        began = time.monotonic()
        home.ask("GET", f"{SECRETS}/secret-{number % objects:04}")
        taken.append(time.monotonic() - began)
    told("GET of one object", taken)
    taken, size = [], 0
    for _ in range(max(20, times // 20)):
        began = time.monotonic()
        size = len(home.ask("GET", SECRETS))
        taken.append(time.monotonic() - began)
    told(f"LIST of {objects} objects, {size // 1024} KiB", taken)


def lines(home, kubectl, times):
    """From sending a write, and from its answer, which comes after its commit, to the line of `kubectl get -w`."""
    command = [kubectl, "--kubeconfig", str(home.kubeconfig), "-n", "household", "get", "secrets", "-w", "--no-headers"]
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    heard = queue.Queue()

    def listen():
        for line in watching.stdout:
            heard.put((time.monotonic(), line.split()[0]))

    threading.Thread(target=listen, daemon=True).start()
    # The list comes first; a second of quiet ends it.
    while True:
        try:
            heard.get(timeout=30 if heard.empty() and watching.poll() is None else 1)
            while not heard.empty():
                heard.get()
            time.sleep(1)
            if heard.empty():
                break
        except queue.Empty:
            break
    since_sent, since_answer = [], []
    for number in range(times):
        name = f"secret-{number % 100:04}"
        change = {"metadata": {"annotations": {"written": str(number)}}}
        sent = time.monotonic()
        home.ask("PATCH", f"{SECRETS}/{name}", change, "application/merge-patch+json")
        answered = time.monotonic()
        at, seen = heard.get(timeout=30)
        if seen != name:
            sys.exit(f"{seen} was seen where {name} was written")
        since_sent.append(at - sent)
        since_answer.append(max(0.0, at - answered))
        time.sleep(0.01)
    watching.terminate()
    told("write sent to a line of `kubectl get -w`", since_sent)
    told("write answered to a line of `kubectl get -w`", since_answer)


def watchers(home, what, path, count):
    """What watchers cost that hear nothing, each on a connection of its own."""
    version = json.loads(home.ask("GET", f"{SECRETS}?limit=1"))["metadata"]["resourceVersion"]
    before = home.memory_kib()
    open_ones = []
    for _ in range(count):
        connection = home.connect()
        connection.request("GET", path.format(version=version), headers=home.head())
        answer = connection.getresponse()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status} {answer.read()[:500]}")
        open_ones.append((connection, answer))
    time.sleep(2)
    each = (home.memory_kib() - before) / count
    print(f"memory of {what}: {each:.1f} KiB each, of {count}; the server has {home.memory_kib() // 1024} MiB")
    for connection, _ in open_ones:
        connection.close()
    time.sleep(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hearth")
    parser.add_argument("kubectl")
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--times", type=int, default=2000)
    parser.add_argument("--watchers", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(asked.hearth, folder)
        try:
            fill(home, asked.objects)
            reads(home, asked.objects, asked.times)
            lines(home, asked.kubectl, max(100, asked.times // 4))
            plain = SECRETS + "?watch=true&resourceVersion={version}"
            watchers(home, "a watch of one kind", plain, asked.watchers)
            kinds = ["apps", "containers", "networks", "volumes", "images", "routes", "revisions", "secrets"]
            many = "/hearth/v1/watch?" + "&".join(f"of={kind}@{{version}}" for kind in kinds)
            watchers(home, "a stream of eight kinds", many, asked.watchers)
        finally:
            home.stop()


if __name__ == "__main__":
    main()
