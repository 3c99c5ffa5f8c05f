"""A relay in front of Docker's socket that notes when a death is told and when its repair is asked for."""

import queue
import re
import socket
import threading
import time

DIE = re.compile(rb'"Action":"die".*?"name":"([^"]+)"')
START = re.compile(rb"^POST (?:/v[0-9.]+)?/containers/(?:[0-9a-f]{64}/start|create\?)")
INSPECT = re.compile(rb"^GET (?:/v[0-9.]+)?/containers/([^/]+)/json")


class Relay:
    """Passes bytes on as they come, and looks at them on the way."""

    def __init__(self, path, docker):
        self.path, self.docker = path, docker
        self.deaths, self.starts = queue.Queue(), queue.Queue()
        self.answered = {}

    def start(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen(64)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def time_repair(self, name, kill):
        """Seconds from the death of that container to the request that mends it; and those since Docker last
        answered what became of it, which it does only when it has cleaned up."""
        for seen in (self.deaths, self.starts):
            while not seen.empty():
                seen.get()
        kill()
        died = self._after(self.deaths, lambda death: death[1] == name.encode())[0]
        asked = self._after(self.starts, lambda start: start >= died)
        return asked - died, asked - self.answered.get(name.encode(), died)

    @staticmethod
    def _after(seen, is_it):
        while not is_it(one := seen.get(timeout=30)):
            pass
        return one

    def _accept(self, listener):
        while True:
            client, _ = listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.docker)
            inspected = []
            for source, sink, look in ((client, server, self._asked), (server, client, self._told)):
                arguments = (source, sink, look, inspected)
                threading.Thread(target=self._pump, args=arguments, daemon=True).start()

    @staticmethod
    def _pump(source, sink, look, inspected):
        try:
            while data := source.recv(65536):
                look(data, inspected)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            # One side has gone; the other learns it from its own socket.
            pass

    def _asked(self, data, inspected):
        if START.match(data):
            self.starts.put(time.monotonic())
        inspected += [found.group(1) for found in INSPECT.finditer(data)]

    def _told(self, data, inspected):
        for name in inspected:
            self.answered[name] = time.monotonic()
        for death in DIE.finditer(data):
            self.deaths.put((time.monotonic(), death.group(1)))
