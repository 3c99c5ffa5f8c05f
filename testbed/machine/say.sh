# shellcheck shell=bash
# How the scripts speak and where they keep what they start and make.
#
# Sourced first by testbed/run and testbed/test. Everything they start on this
# machine (logs, pids, addresses, downloaded tools) is under $RUN_DIR, which is
# never committed and may be removed when nothing of it runs.

TESTBED=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
REPO=$(dirname "$TESTBED")
RUN_DIR=${HEARTH_RUN_DIR:-$TESTBED/.run}
export TESTBED REPO RUN_DIR
mkdir -p "$RUN_DIR/bin"

# One line per step; what the step runs is quiet unless it fails.
step() { printf '==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }

# Stops with a sentence that says what to do next.
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# quietly NAME CMD...: runs CMD with its output in $RUN_DIR/NAME.log, and shows
# the end of that log if CMD fails.
quietly() {
    local log=$RUN_DIR/$1.log rc=0
    shift
    "$@" >"$log" 2>&1 || rc=$?
    if [ "$rc" -ne 0 ]; then
        tail -n 40 "$log" >&2
        printf 'error: "%s" ended with %s; the whole log is %s\n' "$*" "$rc" "$log" >&2
    fi
    return "$rc"
}

# until_true SECONDS CMD...: tries CMD every 0.2 s; false when time is up.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.2
    done
}

# is_alive PID: a zombie is dead, although "kill -0" says otherwise.
is_alive() {
    local state
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/${1:-none}/status" 2>/dev/null) || return 1
    [ -n "$state" ] && [ "$state" != Z ]
}

# runs PIDFILE PROGRAM: does the pid kept there still belong to that program?
# A pid alone proves nothing after a reboot, when the number is somebody else's.
runs() {
    local pid
    pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] && is_alive "$pid" &&
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ]
}

# start_own NAME PROGRAM ARGS...: PROGRAM in a session of its own, so that it
# outlives this script and its terminal; log and pid under $RUN_DIR.
start_own() {
    local name=$1
    shift
    rm -f "$RUN_DIR/$name.pid"
    basename "$0" >"$RUN_DIR/$name.starter"
    # shellcheck disable=SC2016 # for the inner shell to expand
    setsid --fork bash -c 'echo $$ >"$1"; shift; exec "$@"' start "$RUN_DIR/$name.pid" "$@" \
        >>"$RUN_DIR/$name.log" 2>&1 </dev/null
    until_true 5 test -s "$RUN_DIR/$name.pid"
}

# stop_own NAME PROGRAM SECONDS: ends what start_own started, and only that.
stop_own() {
    local pidfile=$RUN_DIR/$1.pid pid
    if runs "$pidfile" "$2"; then
        pid=$(cat "$pidfile")
        kill "$pid"
        # shellcheck disable=SC2329 # called by until_true
        is_gone() { ! is_alive "$pid"; }
        until_true "$3" is_gone || kill -9 "$pid"
        note "$2 stopped"
    fi
    rm -f "$pidfile"
}

# started_here NAME: was it this script that started it?
started_here() { [ "$(cat "$RUN_DIR/$1.starter" 2>/dev/null)" = "$(basename "$0")" ]; }

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# can_listen ADDRESS PORT
can_listen() {
    python3 - "$1" "$2" 2>/dev/null <<'PYTHON'
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], int(sys.argv[2])))
PYTHON
}
