# shellcheck shell=bash
# Declaring: apply on either side, differences, conflicts, pruning.

try_applying() {
    expect 0 'secret/one created' apply -f secrets.yaml
    expect 0 'secret/one unchanged' apply -f secrets.yaml
    expect 0 'app.hearth.dev/photos configured' apply -f photos.yaml
    expect 0 'app.hearth.dev/photos unchanged' apply -f photos.yaml
    sed 's/tier: home/tier: garden/' photos.yaml >changed.yaml
    expect 1 'tier: garden' diff -f changed.yaml
    expect 0 '^$' diff -f photos.yaml
    expect 0 'configured .server dry run.' apply -f changed.yaml --dry-run=server
    shows 'home' get app photos -o 'jsonpath={.metadata.labels.tier}'
    expect 0 'configured' apply -f changed.yaml
    expect 0 'tier: garden' apply view-last-applied -f photos.yaml
    expect 1 'spec\.stat' apply -f typo.yaml

    expect 0 'serverside-applied' apply --server-side --field-manager=mine -f - <<'ONE'
apiVersion: v1
kind: Secret
metadata: { name: shared, namespace: household, labels: { owner: mine } }
ONE
    sed 's/mine/theirs/' >theirs.yaml <<'TWO'
apiVersion: v1
kind: Secret
metadata: { name: shared, namespace: household, labels: { owner: mine } }
TWO
    expect 1 'conflict with "mine"' apply --server-side --field-manager=theirs -f theirs.yaml
    expect 1 'owner: theirs' diff --server-side --force-conflicts --field-manager=theirs -f theirs.yaml
    expect 0 'serverside-applied' apply --server-side --field-manager=theirs --force-conflicts -f theirs.yaml
    shows 'theirs' get secret shared -o 'jsonpath={.metadata.labels.owner}'
    expect 0 'serverside-applied' apply --server-side --force-conflicts -f photos.yaml
    expect 0 'serverside-applied' apply --server-side -f photos.yaml

    sed '/^---$/,$d' secrets.yaml >fewer.yaml
    expect 0 'secret/two pruned' apply -f fewer.yaml --prune -l set=s --prune-allowlist=core/v1/Secret
    expect 1 'NotFound' get secret two
}
