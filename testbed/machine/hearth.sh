# shellcheck shell=bash
# Builds Hearth, starts it in a session of its own, and stops it again.

# Each can be set from outside, or by the flag of testbed/run of the same name.
DATA_DIR=${HEARTH_DATA_DIR:-/var/lib/hearth}
LISTEN=${HEARTH_LISTEN:-127.0.0.1:8420}
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
    until_true 60 is_ready || fail "Hearth is not ready at https://$LISTEN/readyz; see $RUN_DIR/$name.log"
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

# The port wanted, unless something that is not our Caddy has it already.
edge_port() {
    if can_listen 0.0.0.0 "$1" || is_our_edge "$1"; then
        echo "$1"
        return
    fi
    local free
    free=$(free_port)
    note "port $1 is taken by another program: using $free for $2" >&2
    echo "$free"
}

is_our_edge() {
    docker ps --filter label=hearth.dev/uid --format '{{.Ports}}' | grep -q ":$1->"
}

# What is not Hearth's and would go down with Docker.
others_use_docker() {
    local all ours
    all=$(docker ps --quiet | wc -l)
    ours=$(docker ps --quiet --filter label=hearth.dev/uid | wc -l)
    [ "$all" -gt "$ours" ]
}
