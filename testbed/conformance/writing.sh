# shellcheck shell=bash
# shellcheck disable=SC2154 # "new" is given by run
# Changing: create, edit, patch, replace, label, annotate; and what is refused.

try_writing() {
    expect 1 'AlreadyExists' create -f photos.yaml
    expect 1 'spec\.stat' create -f typo.yaml
    expect 0 'Warning: unknown field "spec\.stat"' create -f typo.yaml --validate=warn --dry-run=server
    expect 0 'typo created' create -f typo.yaml --validate=warn --dry-run=server
    expect 1 'AlreadyExists' create -f notes.yaml --dry-run=server
    expect 1 'strict decoding error.*duplicate field' create --raw /api/v1/namespaces/household/secrets -f twice.json
    expect 0 'namespace/kids created' create namespace kids
    expect 0 'secret/pw created' create secret generic pw --from-literal=key=value
    shows 'dmFsdWU=' get secret pw -o 'jsonpath={.data.key}'
    expect 0 'secret/made-' create -f - <<'MADE'
apiVersion: v1
kind: Secret
metadata: { generateName: made-, labels: { made: "yes" } }
MADE
    expect 1 'namespaces? "?nowhere"? ' create secret generic pw -n nowhere

    expect 0 'labeled' label app photos color=red
    expect 1 "already has a value|overwrite" label app photos color=blue
    expect 0 'labeled' label app photos color=blue --overwrite
    shows 'blue' get app photos -o 'jsonpath={.metadata.labels.color}'
    expect 0 'unlabeled|labeled' label app photos color-
    expect 1 'metadata.labels' patch app photos --type=merge -p '{"metadata":{"labels":{"color":"not a word"}}}'
    expect 0 'annotated' annotate app photos note='a text, free'
    expect 0 'annotated' annotate app photos note-

    expect 0 'patched' patch app photos --type=merge -p '{"spec":{"state":"Stopped"}}'
    expect 0 'patched' patch app photos --type=json -p '[{"op":"replace","path":"/spec/state","value":"Running"}]'
    shows 'Running' get app photos -o 'jsonpath={.spec.state}'
    expect 0 'patched' patch secret pw -p '{"metadata":{"labels":{"by":"strategy"}}}'
    expect 1 'UnsupportedMediaType|not offered' patch app photos -p '{"spec":{"state":"Stopped"}}'
    expect 1 'Runing' patch app photos --type=merge -p '{"spec":{"state":"Runing"}}'
    expect 1 'does not fit' patch app photos --type=json -p '[{"op":"test","path":"/spec/state","value":"x"}]'
    expect 0 'patched' patch app notes --subresource=status --type=merge -p '{"status":{"message":"by hand"}}'
    expect 0 'no change' patch app photos --type=merge -p '{"spec":{"state":"Running"}}'

    "$new" get app photos -o yaml >read.yaml
    expect 0 'replaced' replace -f read.yaml
    "$new" label app photos moved=on >/dev/null
    sed -i 's/tier: home/tier: house/' read.yaml
    expect 1 'Conflict|has been modified' replace -f read.yaml
    "$new" label app photos moved- >/dev/null

    EDITOR="sed -i s/home\$/edited/" expect 0 'edited' edit app photos
    shows 'edited' get app photos -o 'jsonpath={.metadata.labels.tier}'
    EDITOR=true expect 0 'no changes made|cancelled' edit app photos
    EDITOR="sed -i s/edited\$/home/" expect 0 'edited' edit app photos
    expect 0 'condition met' wait app/photos --for=condition=Ready --timeout=50s
    expect 0 'condition met' wait app/photos --for=jsonpath='{.status.summary}'=Ready --timeout=20s
    expect 1 'timed out' wait app/photos --for=condition=Ready=False --timeout=2s
}
