# shellcheck shell=bash
# Clients in Python, and requests made at random from what the server says of itself.
#
#   try_clients PYTHON    which has what clients/requirements.txt names

try_clients() {
    local python=$1 script
    for script in with_kubernetes with_lightkube; do
        count_of "$(timeout 120 "$python" "${here:?}/clients/$script.py")" "$script"
    done
    try_at_random "$(dirname "$python")/st"
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
try_at_random() {
    local st=$1 token server group rc=0 seed=${HEARTH_FUZZ_SEED:-$RANDOM}
    token=$("${kubectl:?}" config view --raw -o 'jsonpath={.users[0].user.token}')
    server=$("$kubectl" config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
    for group in apis/hearth.dev/v1 api/v1; do
        rc=0
        SCHEMATHESIS_HOOKS=${here:?}/clients/fuzzing.py timeout 300 "$st" run "$server/openapi/v3/$group" \
            --header "Authorization: Bearer $token" --tls-verify=false --checks not_a_server_error \
            --phases fuzzing --max-time "${HEARTH_FUZZ_SECONDS:-30}" --max-examples 20 --seed "$seed" \
            --request-timeout 10 --request-retries 2 --warnings off --no-color >"${home:?}/fuzz.log" 2>&1 || rc=$?
        if [ "$rc" = 0 ]; then
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
