# shellcheck shell=bash
# A Docker daemon that answers on /var/run/docker.sock.
#
# One that is there already is used as it is. On a host run by systemd the unit
# is started; elsewhere (a container, a chroot, a minimal machine) dockerd is
# started in a session of its own.

DOCKER_SOCKET=/var/run/docker.sock
DOCKER_HOST=unix://$DOCKER_SOCKET
export DOCKER_HOST

docker_answers() { timeout 10 docker info; }

ensure_docker() {
    step "Docker"
    if ! docker_answers >/dev/null 2>&1; then
        start_docker
        until_true 60 docker_answers ||
            fail "Docker does not answer on $DOCKER_SOCKET; see $RUN_DIR/dockerd.log or 'journalctl -u docker'"
    fi
    note "Docker $(docker version --format '{{.Server.Version}} (API {{.Server.APIVersion}})') on $DOCKER_SOCKET"
}

start_docker() {
    [ "$(id -u)" = 0 ] || fail "Docker does not answer and only root can start it: run this with sudo"
    if [ -d /run/systemd/system ]; then
        quietly systemctl-docker systemctl start docker.service
        return
    fi
    forget_dead_daemon /var/run/docker.pid dockerd
    forget_dead_daemon /var/run/docker/containerd/containerd.pid containerd
    start_own dockerd dockerd --host "$DOCKER_HOST"
}

# A daemon that was killed leaves its pid file; the number may be taken by
# another program by now, and then the new daemon refuses to start.
forget_dead_daemon() {
    runs "$1" "$2" || rm -f "$1"
}

stop_docker() { stop_own dockerd dockerd 30; }
