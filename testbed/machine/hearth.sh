# shellcheck shell=bash
# Builds Hearth, starts it in a session of its own, and stops it again.

# Each can be set from outside, or by the flag of testbed/run of the same name.
DATA_DIR=${HEARTH_DATA_DIR:-/var/lib/hearth}
LISTEN=${HEARTH_LISTEN:-}
EDGE_HTTP_PORT=${HEARTH_EDGE_HTTP_PORT:-80}
EDGE_HTTPS_PORT=${HEARTH_EDGE_HTTPS_PORT:-443}
export EDGE_HTTP_PORT EDGE_HTTPS_PORT

build_hearth() {
    if [ -n "${HEARTH_BINARY:-}" ]; then
        HEARTH=$HEARTH_BINARY
        return
    fi
    step "building (the first time takes about five minutes on two cores)"
    ensure_cargo
    as_owner cargo build --quiet --release --locked --manifest-path "$REPO/Cargo.toml" --package hearth --bin hearth
    HEARTH=${CARGO_TARGET_DIR:-$REPO/target}/release/hearth
}

# serve_hearth NAME ARGS...: leaves one alone that runs this build with these
# arguments, else starts it. NAME tells the real one from the pretend one.
serve_hearth() {
    local name=$1
    shift
    step "starting Hearth"
    if ! is_current "$name" "$*"; then
        stop_own "$name" hearth 20
        can_listen "${LISTEN%:*}" "${LISTEN##*:}" ||
            fail "$LISTEN is taken by another program; choose another with --listen"
        echo "$*" >"$RUN_DIR/$name.args"
        start_own "$name" "$HEARTH" "$@"
    fi
    until_true 60 is_ready_or_dead "$name"
    is_ready >/dev/null || fail "Hearth is not ready at https://$LISTEN/readyz; see $RUN_DIR/$name.log"
    HEARTH_KUBECONFIG=$DATA_DIR/admin.kubeconfig
    export HEARTH_KUBECONFIG
    note "Hearth answers on https://$LISTEN, its log is $RUN_DIR/$name.log"
}

# A binary that was built again since shows as deleted.
is_current() {
    runs "$RUN_DIR/$1.pid" hearth &&
        [ "$(readlink "/proc/$(cat "$RUN_DIR/$1.pid")/exe")" = "$(readlink -f "$HEARTH")" ] &&
        [ "$(cat "$RUN_DIR/$1.args" 2>/dev/null)" = "$2" ]
}

# Its certificate is from its own new authority, which curl does not know.
is_ready() { curl --insecure --fail --silent --max-time 5 "https://$LISTEN/readyz"; }

is_ready_or_dead() { is_ready || ! is_alive "$(cat "$RUN_DIR/$1.pid")"; }

# edge_port WANTED NAME: the port wanted, unless another program has it; then a
# free one, the same at each run.
edge_port() {
    local port kept=$RUN_DIR/edge-$2.port
    for port in "$1" "$(cat "$kept" 2>/dev/null)" "$(free_port)"; do
        if [ -n "$port" ] && { can_listen 0.0.0.0 "$port" || is_our_edge "$port"; }; then break; fi
    done
    echo "$port" >"$kept"
    [ "$port" = "$1" ] || note "port $1 is taken by another program: using $port for $2" >&2
    echo "$port"
}

is_our_edge() {
    docker ps --filter label=hearth.dev/uid --format '{{.Ports}}' | grep -q ":$1->"
}

# What is not Hearth's and would go down with Docker.
others_use_docker() {
    local all ours
    all=$(docker ps --quiet 2>/dev/null | wc -l)
    ours=$(docker ps --quiet --filter label=hearth.dev/uid 2>/dev/null | wc -l)
    [ "$all" -gt "$ours" ]
}
