# shellcheck shell=bash
# Clients in Python, and requests made at random from what the server says of itself.
#
#   try_clients PYTHON    which has what clients/requirements.txt names

try_clients() {
    local python=$1 script
    for script in with_kubernetes with_lightkube; do
        count_of "$(timeout 120 "$python" "${here:?}/clients/$script.py")" "$script"
    done
    local st token
    st=$(dirname "$python")/st
    token=$("${kubectl:?}" config view --raw -o 'jsonpath={.users[0].user.token}')
    try_at_random "$st" "$token" not_the_servers_fault
    try_as_others "$st"
}

# Adds what a script of tries says in its last line.
count_of() {
    local counts
    if [[ ${1##*$'\n'} =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        counts=("${BASH_REMATCH[@]}")
        passed=$((passed + counts[1]))
        failed=$((failed + counts[2]))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s did not end\n' "$2" >&2
    fi
}

# No request that is made from the schemas, right or wrong, may end in an error of
# the server's own. As many as fit in half a minute for each
# group, of another seed each time.
#
#   try_at_random ST TOKEN CHECKS [OPTION...]
try_at_random() {
    local st=$1 token=$2 checks=$3 server group rc=0 seed=${HEARTH_FUZZ_SEED:-$RANDOM}
    shift 3
    server=$("${kubectl:?}" config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
    for group in apis/hearth.dev/v1 api/v1; do
        rc=0
        SCHEMATHESIS_HOOKS=${here:?}/clients/fuzzing.py timeout 300 "$st" run "$server/openapi/v3/$group" \
            --header "Authorization: Bearer $token" --tls-verify=false --checks "$checks" \
            --phases fuzzing --max-time "${HEARTH_FUZZ_SECONDS:-30}" --max-examples 20 --seed "$seed" \
            --request-timeout 10 --request-retries 2 --warnings off --no-color "$@" >"${home:?}/fuzz.log" 2>&1 || rc=$?
        # One that came to no request at all proves nothing.
        if [ "$rc" = 0 ] && grep -qE '[1-9][0-9]* generated' "${home:?}/fuzz.log"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            printf 'FAILED: requests at random to %s; again: HEARTH_FUZZ_SEED=%s\n' "$group" "$seed" >&2
            tail -n 60 "${home:?}/fuzz.log" | sed 's/^/    /' >&2
        fi
    done
    # It lives, and takes what is right.
    expect 0 '^ok' get --raw /readyz
}

# The same as a member and as a viewer, who may look into a namespace of their own.
# Everything of another one has a word in its name and another within, which no answer
# may have, and is after all that as it was.
try_as_others() {
    local st=$1 role token before
    export HEARTH_FUZZ_PLANTED="named5b2e within7c1f" HEARTH_FUZZ_OTHERS=ben HEARTH_FUZZ_OWN=anna
    export HEARTH_FUZZ_NAMES="app-named5b2e secret-named5b2e app-named5b2e-web photos"
    plant
    before=$(planted)
    for role in member viewer; do
        "${hearth:?}" --kubeconfig "$KUBECONFIG" token create "random-$role" --user anna --role "$role" --namespace anna \
            --write-kubeconfig "$home/$role.kubeconfig" >/dev/null 2>&1
        token=$("$kubectl" --kubeconfig "$home/$role.kubeconfig" config view --raw -o 'jsonpath={.users[0].user.token}')
        # As fast as a token may ask.
        try_at_random "$st" "$token" not_the_servers_fault,nothing_of_others --rate-limit 45/s
    done
    unset HEARTH_FUZZ_PLANTED HEARTH_FUZZ_OTHERS HEARTH_FUZZ_OWN HEARTH_FUZZ_NAMES
    # shellcheck disable=SC2034 # "miss" tells it
    rc=0 said=$(planted)
    if [ -n "$before" ] && [ "$said" = "$before" ]; then pass; else miss "$before" get apps,secrets -n ben; fi
}

# Somebody's app with a secret, and what comes of it.
plant() {
    local namespace
    for namespace in ben anna; do "$kubectl" create namespace "$namespace" >/dev/null; done
    "$kubectl" -n ben create secret generic secret-named5b2e --from-literal=key-within7c1f=within7c1f >/dev/null
    "$kubectl" -n ben apply -f - >/dev/null <<EOF
apiVersion: hearth.dev/v1
kind: App
metadata:
  name: app-named5b2e
  labels: { label: within7c1f }
  annotations: { annotation: within7c1f }
spec:
  slug: app-named5b2e
  values: [{ name: SECRET, valueFrom: { secretKeyRef: { name: secret-named5b2e, key: key-within7c1f } } }]
  compose: |
    services:
      web: { image: "sample/within7c1f:1", environment: { SECRET: "\${SECRET}" }, volumes: ["./within7c1f:/data"] }
EOF
    expect 0 'condition met' -n ben wait app/app-named5b2e --for=condition=Ready --timeout=50s
    expect 0 'named5b2e' -n ben get events
}

# What of it nobody else may change.
planted() {
    "$kubectl" -n ben get apps,secrets,containers,volumes \
        -o 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.generation} {.data}{"\n"}{end}'
}
