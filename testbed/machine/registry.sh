# shellcheck shell=bash
# A registry of our own on the loopback, so that the images made here have real
# digests and are really pulled. Docker trusts 127.0.0.0/8 without TLS.

REGISTRY_ADDRESS_FILE=$RUN_DIR/registry.address

# Says where the registry is; empty when none was started yet.
registry_address() { cat "$REGISTRY_ADDRESS_FILE" 2>/dev/null || true; }

registry_answers() {
    local address
    address=$(registry_address)
    [ -n "$address" ] && curl --fail --silent --max-time 5 "http://$address/v2/"
}

ensure_registry() {
    step "local image registry"
    if ! runs "$RUN_DIR/registry.pid" docker-registry || ! registry_answers >/dev/null; then
        stop_registry
        start_registry
        until_true 20 registry_answers || fail "the local registry does not answer; see $RUN_DIR/registry.log"
    fi
    REGISTRY=$(registry_address)
    export REGISTRY
    note "registry on $REGISTRY"
}

# Keeps its port from run to run where it can: image names hold the address.
start_registry() {
    local address port
    address=$(registry_address)
    port=${address##*:}
    if [ -z "$port" ] || ! can_listen 127.0.0.1 "$port"; then port=$(free_port); fi
    mkdir -p "$RUN_DIR/registry"
    cat >"$RUN_DIR/registry.yml" <<YAML
version: 0.1
log: { level: warn }
storage:
  filesystem: { rootdirectory: $RUN_DIR/registry }
  delete: { enabled: true }
http: { addr: 127.0.0.1:$port }
YAML
    echo "127.0.0.1:$port" >"$REGISTRY_ADDRESS_FILE"
    start_own registry docker-registry serve "$RUN_DIR/registry.yml"
}

stop_registry() { stop_own registry docker-registry 10; }
