# shellcheck shell=bash
# shellcheck disable=SC2154 # "new" is given by run
# Looking: what there is, in every form, and what changes.

try_reading() {
    expect 0 'Server Version: v1\.37\.0\+hearth' version
    expect 0 '^hearth\.dev/v1$' api-versions
    expect 0 '^apps .*hearth\.dev/v1 +true +App' api-resources
    expect 0 '^secrets ' api-resources --api-group= --namespaced
    expect 0 'get.*list.*watch' api-resources --api-group=hearth.dev -o wide
    expect 0 '^ok$' get --raw /readyz

    expect 0 'app.hearth.dev/photos created' create -f photos.yaml
    expect 0 'app.hearth.dev/notes created' create -f notes.yaml
    expect 0 'condition met' wait app/photos app/notes --for=condition=Ready --timeout=50s
    expect 0 'photos.*Ready' get apps
    expect 0 'photos.*Ready' get app photos -o wide
    expect 0 '^household +photos' get apps -A
    expect 0 'app.hearth.dev/photos' get all
    expect 0 '"kind": "App"' get app photos -o json
    expect 0 '^kind: App$' get app photos -o yaml
    silent 0 'managedFields' get app photos -o yaml
    expect 0 'managedFields' get app photos -o yaml --show-managed-fields
    shows 'app.hearth.dev/photos' get app photos -o name
    shows 'photos' get app photos -o 'jsonpath={.spec.slug}'
    expect 0 '^photos +Ready' get apps -o 'custom-columns=NAME:.metadata.name,SUMMARY:.status.summary'
    expect 0 'photos' get apps -l tier=home
    expect 0 'No resources found' get apps -l tier=office
    expect 0 'photos' get apps --field-selector metadata.name=photos
    silent 0 'notes' get apps --field-selector metadata.name=photos
    # Each order is the other's opposite, so neither is just the order they come in.
    shows $'app.hearth.dev/notes\napp.hearth.dev/photos' get apps --sort-by=.metadata.name -o name
    "$new" label app notes place=second >/dev/null && "$new" label app photos place=first >/dev/null
    shows $'app.hearth.dev/photos\napp.hearth.dev/notes' get apps --sort-by=.metadata.labels.place -o name
    "$new" label apps --all place- >/dev/null
    expect 0 'photos +Ready|photos.*home' get apps --show-labels
    expect 0 'Ready' get app photos --subresource=status
    expect 1 'NotFound.*"nobody" not found' get app nobody
    expect 0 '^$' get app nobody --ignore-not-found
    expect 1 'the server doesn.t have a resource type "nothings"' get nothings
    expect 1 'cannot be selected by' get apps --field-selector metadata.uid=x

    try_pages
    try_watching

    expect 0 'Status:' describe app photos
    expect 0 'Name: +photos' describe app photos
    expect 0 'photos' events
    expect 0 'photos' events --for app/photos
    expect 0 'Reason|REASON' get events
    expect 0 'App' get events -o wide
}

# Pages of the size asked for are one list to whoever reads it.
try_pages() {
    for n in 1 2 3 4 5; do "$new" create secret generic "page$n" --from-literal=a=b >/dev/null; done
    attempt get secrets --chunk-size=2 -o name
    if [ "$(grep -c '^secret/page' <<<"$said")" = 5 ]; then pass; else miss 'five secrets' get secrets --chunk-size=2; fi
    attempt get secrets --chunk-size=1
    if [ "$(grep -c '^page' <<<"$said")" = 5 ]; then pass; else miss 'five rows' get secrets --chunk-size=1; fi
    expect 0 '"remainingItemCount":[0-9]' get --raw '/api/v1/namespaces/household/secrets?limit=2'
    expect 1 'metadata.continue' get --raw '/api/v1/namespaces/household/secrets?continue=nonsense'
    expect 0 'deleted' delete secret page1 page2 page3 page4 page5
}

try_watching() {
    "$new" get apps -w --request-timeout=4s >watched.txt 2>&1 &
    local one=$!
    "$new" get apps --watch-only --request-timeout=4s -o name >only.txt 2>&1 &
    local other=$!
    sleep 1.5
    "$new" label app photos seen=yes >/dev/null
    wait "$one" || true
    wait "$other" || true
    # shellcheck disable=SC2034 # "miss" tells it
    said=$(cat watched.txt only.txt) rc=0
    if [ "$(grep -c '^photos' watched.txt)" -ge 2 ]; then pass; else miss 'a row, and another for the change' get apps -w; fi
    if grep -q 'app.hearth.dev/photos' only.txt; then pass; else miss 'the change' get apps --watch-only; fi
    if ! grep -q 'notes' only.txt; then pass; else miss 'nothing but the change' get apps --watch-only; fi
    "$new" label app photos seen- >/dev/null
}
