# shellcheck shell=bash
# shellcheck disable=SC2154 # "new" is given by run
# A home as programs made for Kubernetes know it: Pods with logs and events, the one
# Node, and what they use. Nothing of it can be written.

try_pods() {
    expect 0 '^pods +po +v1 +true +Pod' api-resources
    expect 0 'metrics.k8s.io/v1beta1' api-versions
    expect 0 '^photos-web +1/1 +Running +0 ' get pods
    expect 0 '^household +photos-web +1/1' get pods -A
    expect 0 'photos-web.*IP|NODE' get pods -o wide
    shows 'pod/photos-web' get pod photos-web -o name
    expect 0 'photos-web' get pods -l hearth.dev/app=photos
    silent 0 'notes' get pods -l hearth.dev/app=photos
    expect 0 'photos-web' get pods --field-selector status.phase=Running
    expect 0 'No resources found' get pods --field-selector status.phase=Failed
    expect 0 'photos-web' get pods --field-selector "spec.nodeName=$("$new" get nodes -o 'jsonpath={.items[0].metadata.name}')"
    expect 1 'NotFound.*"nobody" not found' get pod nobody
    expect 0 'Ready +True' describe pod photos-web
    expect 0 'Started the container' describe pod photos-web
    expect 0 'condition met' wait pod/photos-web --for=condition=Ready --timeout=20s
    expect 0 'Started the container' get events
    expect 0 'Started the container' events
    try_logs
    try_usage
    try_watching_pods
    expect 1 'only for reading' delete pod photos-web
    expect 1 'only for reading' label pod photos-web a=b
    expect 1 '' run x --image=x
    expect 1 '' exec photos-web -- true
    expect 0 '^yes' auth can-i list pods
}

try_logs() {
    expect 0 '^ready$' logs photos-web
    expect 0 '^ready$' logs photos-web -c web --tail=1
    expect 0 '^20[0-9-]+T.* ready$' logs pod/photos-web --timestamps
    expect 0 'ready' logs -l hearth.dev/app=photos --prefix
    expect 0 '^ready$' logs photos-web --since=1h
    expect 0 '^rea$' logs photos-web --limit-bytes=3
    expect 1 'container other is not valid' logs photos-web -c other
    expect 1 'previous terminated container' logs photos-web --previous
    try_previous_logs
    # It goes on, so it is ended here, after what there is was shown.
    "$new" logs photos-web -f --tail=1 --request-timeout=3s >followed.txt 2>&1 || true
    # shellcheck disable=SC2034 # "miss" tells it
    said=$(cat followed.txt) rc=0
    if grep -q '^ready$' followed.txt; then pass; else miss 'its last line' logs -f --tail=1; fi
}

# What a container wrote before it was started again.
try_previous_logs() {
    "$new" apply -f - >/dev/null <<EOF
apiVersion: hearth.dev/v1
kind: App
metadata: { name: falls }
spec:
  slug: falls
  compose: |
    services:
      web: { image: "sample/web:1", command: [sh, -c, "echo it fell; exit 1"] }
EOF
    local end=$((SECONDS + 40)) count=0
    until [ "${count:-0}" -ge 2 ] || [ "$SECONDS" -ge "$end" ]; do
        count=$("$new" get pod falls-web -o 'jsonpath={.status.containerStatuses[0].restartCount}' 2>/dev/null || true)
        sleep 0.5
    done
    expect 0 '^it fell$' logs falls-web --previous
    shows 'it fell' logs falls-web --previous --tail=1
    shows 'it' logs falls-web --previous --tail=1 --limit-bytes=2
    "$new" delete app falls --wait=false >/dev/null
}

try_usage() {
    expect 0 '^photos-web +[0-9]+m +[1-9][0-9]*Mi' top pods
    expect 0 'photos-web +web +[0-9]+m' top pods --containers
    expect 0 '^household +photos-web' top pods -A --sort-by=memory
    expect 0 'Ready +home' get nodes
    expect 0 'docker://' get nodes -o wide
    expect 0 'DockerAnswers' describe nodes
    expect 0 'photos-web' describe nodes
    expect 0 '%' top nodes
}

try_watching_pods() {
    "$new" get pods -w --request-timeout=6s >pods.txt 2>&1 &
    local watch=$!
    sleep 1
    "$new" label app notes touched=yes >/dev/null
    "$new" patch app notes --type=merge -p '{"spec":{"state":"Stopped"}}' >/dev/null
    wait "$watch" || true
    # shellcheck disable=SC2034 # "miss" tells it
    said=$(cat pods.txt) rc=0
    if grep -qE '^notes-web +1/1 +Running' pods.txt; then pass; else miss 'what runs' get pods -w; fi
    if [ "$(grep -c '^notes-web' pods.txt)" -ge 2 ]; then pass; else miss 'what becomes of it' get pods -w; fi
    "$new" patch app notes --type=merge -p '{"spec":{"state":"Running"}}' >/dev/null
    expect 0 'condition met' wait app/notes --for=condition=Ready --timeout=50s
}
