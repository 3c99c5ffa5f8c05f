"""Measures Hearth beside Docker Compose; started by testbed/benches/home.

Everything is timed from outside, by the programs as people run them. What both
do is done in turns, so that a busy moment of the machine meets both.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from relay import Relay

SERVICES = """services:
  web:
    image: {images}/web:1
    environment: {{ NAME: "{name}", DB_HOST: db }}
    expose: ["8080"]
    stop_grace_period: 1s
    healthcheck: {{ test: ["CMD", "check", "web"], interval: {interval}, timeout: 3s, retries: 10 }}
    depends_on: {depends}
  db:
    image: {images}/db:1
    volumes: ["./rows:/data"]
    stop_grace_period: 1s
    healthcheck: {{ test: ["CMD", "check", "db"], interval: {interval}, timeout: 3s, retries: 10 }}
"""
MIGRATE = """  migrate:
    image: {images}/migrate:1
    restart: "no"
    volumes: ["./migrations:/data"]
    depends_on: {{ db: {{ condition: service_healthy }} }}
"""
WORKER = """  worker-{number}:
    image: {images}/db:1
    stop_grace_period: 1s
    volumes: ["./worker-{number}:/data"]
"""


def cold(images, name):
    """Three services, with every gate there is."""
    depends = "{ db: { condition: service_healthy }, migrate: { condition: service_completed_successfully } }"
    text = SERVICES.format(images=images, name=name, interval="1s", depends=depends)
    return text + MIGRATE.format(images=images)


def steady(images, name):
    """Five services that run on."""
    text = SERVICES.format(images=images, name=name, interval="10s", depends="[db]")
    return text + "".join(WORKER.format(images=images, number=number) for number in range(3))


class Hearth:
    """A server of its own folder, ports and names, and its command line."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.config = folder / "data" / "admin.kubeconfig"
        self.process = None

    def serve(self, docker="unix:///var/run/docker.sock"):
        ports = self.args.port
        command = [
            self.args.hearth, "serve", "--data-dir", self.folder / "data", "--listen", f"127.0.0.1:{ports}",
            "--edge-http-port", str(ports + 1), "--edge-https-port", str(ports + 2), "--docker", docker,
            "--caddy-image", self.args.caddy_image, "--name-prefix", "bench", "--network-pool", "10.210.0.0/16",
        ]
        log = open(self.folder / "serve.log", "ab")
        began = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        if self.process.stdout.readline().strip() != b"ready":
            sys.exit(f"Hearth did not start; see {self.folder}/serve.log")
        return time.monotonic() - began

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def run(self, *words):
        return told([self.args.hearth, "--kubeconfig", self.config, *words])

    def apply(self, name, compose, wait=False):
        app = {
            "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": {"name": name, "namespace": "household"},
            "spec": {"slug": name, "state": "Running", "mainService": "web", "compose": compose},
        }
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(app))
        return self.run("apply", "-f", str(path), *(["--wait", "--timeout", "600s"] if wait else []))

    def resident(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Compose:
    """Projects of Docker Compose, each with a subnet of its own: Docker's pools end at about 31."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder / "compose"

    def declare(self, number, name, services):
        network = f'networks: {{ default: {{ ipam: {{ config: [{{ subnet: "10.211.{number}.0/24" }}] }} }} }}\n'
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "compose.yaml").write_text(services + network)

    def run(self, name, *words):
        command = [self.args.compose, "--project-name", f"bench-{name}", "--progress", "quiet", *words]
        told(command, self.folder / name)

    def down(self, name):
        self.run(name, "down", "--volumes", "--timeout", "1")


def timed(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began


def cold_starts(args, hearth, compose):
    """From the command until every service runs and is healthy; the images are there."""
    ours, theirs = [], []
    for number in range(args.rounds + 1):
        name = f"cold-{number}"
        services = cold(args.images, name)
        compose.declare(200 + number, name, services)
        here = timed(lambda: hearth.apply(name, services, wait=True))
        there = timed(lambda: compose.run(name, "up", "--detach", "--wait"))
        compose.down(name)
        hearth.run("delete", f"app/{name}", "--wait")
        # The first of both fetches the images.
        if number > 0:
            ours.append(here)
            theirs.append(there)
    return ours, theirs


def rest(args, hearth):
    """After it has settled: processor share and memory, over some time."""
    time.sleep(10)
    before, began = hearth.processor_seconds(), time.monotonic()
    time.sleep(args.rest)
    used, passed = hearth.processor_seconds() - before, time.monotonic() - began
    return {"resident_mib": hearth.resident(), "processor_percent": 100 * used / passed}


def looks(args, hearth, compose, names):
    """One full look at every app where nothing is to do."""
    ours, theirs = [], []
    for _ in range(args.rounds):
        said = {}
        ours.append(timed(lambda: said.update(text=hearth.run("reconcile", "--all").stderr)))
        if " 0 steps " not in said["text"]:
            sys.exit(f"there was something to do: {said['text']}")
        theirs.append(timed(lambda: [compose.run(name, "up", "--detach") for name in names]))
    return ours, theirs


def repairs(args, hearth, names):
    """From a die event on its way to Hearth until Hearth asks for the container to be started."""
    hearth.stop()
    relay = Relay(hearth.folder / "relay.sock", "/var/run/docker.sock")
    relay.start()
    hearth.serve(docker=f"unix://{relay.path}")
    hearth.run("reconcile", "--all")
    time.sleep(5)
    taken = []
    for number in range(args.kills):
        name = f"bench_household_{names[number % len(names)]}-db"
        taken.append(relay.time_repair(name, lambda: docker("kill", name)))
        time.sleep(0.3)
    return taken


def docker(*words):
    return told(["docker", *words]).stdout


def told(command, folder=None):
    """Runs a program that must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure(args, hearth, compose):
    figures = {"apps": args.apps}
    hearth.serve()
    ours, theirs = cold_starts(args, hearth, compose)
    figures["cold_start_s"] = {"hearth": ours, "compose": theirs}
    names = [f"app-{number}" for number in range(args.apps)]
    services = {name: steady(args.images, name) for name in names}
    began = time.monotonic()
    for name in names:
        hearth.apply(name, services[name])
    for name in names:
        hearth.run("wait", f"app/{name}", "--for=ready", "--timeout", "900s")
    figures["install_all_s"] = time.monotonic() - began
    figures["rest"] = rest(args, hearth)
    for number, name in enumerate(names):
        compose.declare(number, name, services[name])
        compose.run(name, "up", "--detach")
    ours, theirs = looks(args, hearth, compose, names)
    figures["full_look_s"] = {"hearth": ours, "compose": theirs}
    for name in names:
        compose.down(name)
    taken = repairs(args, hearth, names)
    figures["repair_ms"] = [1000 * whole for whole, _ in taken]
    figures["repair_since_answer_ms"] = [1000 * own for _, own in taken]
    hearth.stop()
    figures["start_s"] = hearth.serve()
    return figures


def report(figures):
    def pair(title, key, goal):
        ours, theirs = (statistics.median(figures[key][who]) for who in ("hearth", "compose"))
        print(f"{title:<44} {ours:9.3f} s {theirs:9.3f} s   {ours / theirs:6.3f} of it   (goal {goal})")

    print(f"{'median':<44} {'Hearth':>11} {'Compose':>11}")
    pair("cold start of three services, all gates", "cold_start_s", "at most 0.7")
    pair(f"full look at {figures['apps']} apps, nothing to do", "full_look_s", "at most 0.02")
    for title, key in (("die event to replacement asked for", "repair_ms"),
                       ("  of that, since Docker told what became of it", "repair_since_answer_ms")):
        taken = figures[key]
        print(f"{title}: p50 {statistics.median(taken):.1f} ms, p99 {percentile(taken, 0.99):.1f} ms "
              f"of {len(taken)}   (goal p99 under 20 ms)")
    rested = figures["rest"]
    print(f"at rest: {rested['resident_mib']:.1f} MiB resident (goal 40), "
          f"{rested['processor_percent']:.2f} % of a core (goal 0.2)")
    print(f"installing {figures['apps']} apps of five services: {figures['install_all_s']:.0f} s; "
          f"start of the server beside them: {figures['start_s']:.2f} s")


def clear(folder):
    """Takes away what this made, however it ended."""
    ours = ("--quiet", "--filter", "name=^bench[_-]")
    if found := docker("ps", "--all", *ours).split():
        docker("rm", "--force", "--volumes", *found)
    shutil.rmtree(folder, ignore_errors=True)
    # A network is let go of a moment after the last container on it.
    for _ in range(30):
        found = docker("network", "ls", *ours).split()
        if not found or not subprocess.run(["docker", "network", "rm", *found], capture_output=True).returncode:
            return
        time.sleep(1)
    print(f"error: these networks stay: {' '.join(found)}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser()
    for name in ("hearth", "compose", "images", "caddy-image"):
        parser.add_argument(f"--{name}", required=True)
    for name, default in (("apps", 50), ("rounds", 5), ("kills", 100), ("rest", 60), ("port", 18420)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json", help="also write every single figure to this file")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hearth-bench-"))
    hearth = Hearth(args, folder)
    try:
        figures = measure(args, hearth, Compose(args, folder))
        if args.json:
            Path(args.json).write_text(json.dumps(figures, indent=1))
        report(figures)
    finally:
        hearth.stop()
        clear(folder)


if __name__ == "__main__":
    main()
