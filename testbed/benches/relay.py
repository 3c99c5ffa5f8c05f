"""A relay in front of Docker's socket that notes when a death is told and when its repair is asked for."""

import queue
import re
import socket
import threading
import time

DIE = re.compile(rb'"Action":"die".*?"name":"([^"]+)"')
START = re.compile(rb"^POST (?:/v[0-9.]+)?/containers/(?:([0-9a-f]{64})/start|create\?\S*)", re.MULTILINE)


class Relay:
    """Passes bytes on as they come, and looks at them on the way."""

    def __init__(self, path, docker):
        self.path, self.docker = path, docker
        self.deaths, self.starts = queue.Queue(), queue.Queue()

    def start(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen(64)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def time_repair(self, name, kill):
        """Seconds between the death of that container and the request that mends it."""
        for seen in (self.deaths, self.starts):
            while not seen.empty():
                seen.get()
        kill()
        while True:
            died, who = self.deaths.get(timeout=30)
            if who == name.encode():
                break
        while True:
            asked = self.starts.get(timeout=30)
            if asked >= died:
                return asked - died

    def _accept(self, listener):
        while True:
            client, _ = listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.docker)
            for source, sink, look in ((client, server, self._asked), (server, client, self._told)):
                threading.Thread(target=self._pump, args=(source, sink, look), daemon=True).start()

    @staticmethod
    def _pump(source, sink, look):
        try:
            while data := source.recv(65536):
                look(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            # One side has gone; the other learns it from its own socket.
            pass

    def _asked(self, data):
        if START.search(data):
            self.starts.put(time.monotonic())

    def _told(self, data):
        for death in DIE.finditer(data):
            self.deaths.put((time.monotonic(), death.group(1)))
