# shellcheck shell=bash
# What the kubectl of Debian 12 (1.20) can do: it checks fields itself, by an older
# document, and knows no newer verb.

try_old() {
    expect 0 'v1\.20\.' version --client --short
    expect 0 'apps .*hearth.dev/v1' api-resources
    # It explains, compares and checks by the older document.
    expect 0 'KIND: +App' explain app
    expect 0 'FIELD: +slug <string>' explain app.spec.slug
    expect 0 'data' explain secret
    expect 0 'created' create -f photos.yaml
    expect 0 'condition met' wait app/photos --for=condition=Ready --timeout=50s
    expect 0 'photos' get apps -o wide
    expect 0 'photos' get apps --chunk-size=1 -o name
    expect 0 'Name: +photos' describe app photos
    expect 0 'configured' apply -f photos.yaml
    expect 0 'unchanged' apply -f photos.yaml
    expect 1 'unknown field "stat"' apply -f typo.yaml
    sed 's/tier: home/tier: garden/' photos.yaml >changed.yaml
    expect 1 'tier: garden' diff -f changed.yaml
    expect 0 'serverside-applied' apply --server-side --force-conflicts -f changed.yaml
    EDITOR="sed -i s/garden\$/edited/" expect 0 'edited' edit app photos
    expect 0 'photos-web +1/1 +Running' get pods
    expect 0 '^ready$' logs photos-web
    expect 0 'photos-web +[0-9]+m' top pods
    expect 0 'labeled' label app photos color=red
    expect 0 'patched' patch app photos --type=merge -p '{"spec":{"state":"Stopped"}}'
    expect 0 '^yes' auth can-i get apps
    expect 0 'secret/pw2 created' create secret generic pw2 --from-literal=a=b
    expect 0 'deleted' delete secret pw2
    expect 0 'deleted' delete app photos --timeout=50s
}
