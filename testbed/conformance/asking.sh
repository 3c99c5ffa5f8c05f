# shellcheck shell=bash
# Asking: what a field means, who one is, what one may do; and what is not offered.

try_asking() {
    expect 0 'KIND: +App' explain app
    expect 0 'FIELD: slug' explain app.spec.slug
    expect 0 'compose' explain app --recursive
    expect 0 'KIND: +Secret' explain secret
    expect 0 'FIELD: stringData' explain secret.stringData
    expect 0 'KIND: +Namespace' explain namespace
    expect 0 'KIND: +Event' explain event
    expect 0 'FIELD: involvedObject' explain event.involvedObject
    expect 0 'FIELD: finalizers' explain app.metadata.finalizers
    expect 1 'field "nothing" does not exist' explain app.spec.nothing

    expect 0 'admin' auth whoami
    expect 0 '^yes' auth can-i delete apps
    expect 0 '\*\.\*' auth can-i --list

    # Not offered, and said so.
    expect 1 'no kind .*registered|could not find|not supported|no scale|not find' scale app photos --replicas=2
    expect 1 'no kind|not supported|no rollouter' rollout status app/photos
}
