# shellcheck shell=sh
# A shell that is process 1 ignores SIGTERM unless told otherwise, and a child
# it waits for in the foreground delays its traps: so children run in the
# background and are waited for here.

child=
trap 'echo stopping; [ -z "$child" ] || kill "$child"; exit 0' TERM INT

wait_for() {
    child=$1
    wait "$child"
    child=
}
