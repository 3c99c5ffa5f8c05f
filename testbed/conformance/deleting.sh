# shellcheck shell=bash
# Removing: with every policy, waiting for it or not, one and many.

try_deleting() {
    expect 0 'deleted' delete secret shared --wait=false
    expect 0 'deleted' delete -f secrets.yaml --ignore-not-found
    expect 1 'NotFound' delete secret nobody
    expect 0 '^$|No resources' delete secret nobody --ignore-not-found
    expect 0 'deleted' delete secret -l made=yes
    expect 0 'deleted.*server dry run' delete app notes --dry-run=server
    expect 0 'notes' get app notes

    expect 0 'deleted' delete app notes --cascade=foreground --timeout=50s
    expect 1 'NotFound' get app notes
    silent 0 'notes-web' get containers

    expect 0 'deleted' delete app photos --cascade=orphan --timeout=50s
    expect 0 'photos-web' get containers
    shows '' get container photos-web -o 'jsonpath={.metadata.ownerReferences}'
    expect 0 'deleted' delete container,route,network,volume,revision --all --timeout=50s
    expect 0 'No resources found' get containers

    expect 0 'created' create -f notes.yaml
    expect 0 'condition met' wait app/notes --for=condition=Ready --timeout=50s
    expect 0 'deleted' delete app notes --cascade=background --wait=false
    expect 0 'condition met|NotFound|deleted' wait app/notes --for=delete --timeout=50s
    expect 0 'deleted' delete namespace kids --timeout=20s
    expect 1 'not empty' delete namespace household --timeout=20s
}
