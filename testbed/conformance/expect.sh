# shellcheck shell=bash
# How a try is stated: what must come of it, then the command.
#
#   expect EXIT PATTERN ARGS...   kubectl ARGS ends with EXIT, and what it says matches
#   silent EXIT PATTERN ARGS...   the same, and it must not match
#   shows TEXT ARGS...            kubectl ARGS ends with 0 and says exactly TEXT
#
# Standard input goes to kubectl. No try takes longer than a minute.

said=

expect() {
    local code=$1 pattern=$2
    shift 2
    attempt "$@"
    if [ "$rc" = "$code" ] && grep -qE -- "$pattern" <<<"$said"; then pass; else miss "exit $code and /$pattern/" "$@"; fi
}

silent() {
    local code=$1 pattern=$2
    shift 2
    attempt "$@"
    if [ "$rc" = "$code" ] && ! grep -qE -- "$pattern" <<<"$said"; then pass; else miss "exit $code and not /$pattern/" "$@"; fi
}

shows() {
    local text=$1
    shift
    attempt "$@"
    if [ "$rc" = 0 ] && [ "$said" = "$text" ]; then pass; else miss "'$text'" "$@"; fi
}

attempt() {
    rc=0
    said=$(timeout 60 "${kubectl:?}" "$@" 2>&1) || rc=$?
}

pass() { passed=$((passed + 1)); }

miss() {
    local wanted=$1
    shift
    failed=$((failed + 1))
    printf 'FAILED: kubectl %s\n  wanted %s\n  got exit %s:\n' "$*" "$wanted" "$rc" >&2
    tail -n 20 <<<"$said" | sed 's/^/    /' >&2
}
