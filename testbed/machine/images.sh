# shellcheck shell=bash
# Images made from programs of this machine, so that no network is needed:
# Caddy as one static binary, and a sample app of busybox and small scripts.
#
# Each is made again only when what goes into it changed: a checksum over its
# files and settings is kept beside the image and compared.

CADDY_IMAGE=hearth/caddy:local
export CADDY_IMAGE

ensure_images() {
    step "images"
    IMAGE_PREFIX=$REGISTRY/sample
    export IMAGE_PREFIX
    local folder
    folder=$(mktemp -d)
    lay_caddy "$folder/caddy"
    make_caddy "$folder/caddy"
    lay_sample "$folder/sample"
    local version
    for version in 1 2; do
        push_sample "$folder/sample" web $version
        push_sample "$folder/sample" db $version
        push_sample "$folder/sample" migrate $version
    done
    rm -r "$folder"
    note "$CADDY_IMAGE, and $IMAGE_PREFIX/{web,db,migrate} in versions 1 and 2"
}

# The same places as in Caddy's official image, so that either serves.
lay_caddy() {
    mkdir -p "$1"/{config,data,etc/caddy,srv,tmp,usr/bin}
    chmod 1777 "$1/tmp"
    install -m 755 "$RUN_DIR/bin/caddy" "$1/usr/bin/caddy"
    printf 'root:x:0:0::/:/\n' >"$1/etc/passwd"
    printf 'root:x:0:\n' >"$1/etc/group"
}

make_caddy() {
    local inputs
    inputs=$(checksum "$1")
    [ "$(docker image inspect --format '{{index .Config.Labels "hearth.testbed.inputs"}}' "$CADDY_IMAGE" 2>/dev/null)" \
        != "$inputs" ] || return 0
    note "making $CADDY_IMAGE"
    pack "$1" | quietly import-caddy docker import \
        --change "LABEL hearth.testbed.inputs=$inputs" \
        --change 'ENV PATH=/usr/bin XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data' \
        --change 'WORKDIR /srv' --change 'EXPOSE 80' --change 'EXPOSE 443' \
        --change 'CMD ["caddy","run"]' - "$CADDY_IMAGE"
}

lay_sample() {
    mkdir -p "$1"/{bin,data,etc,lib,tmp}
    chmod 1777 "$1/tmp"
    local applet
    for applet in $(busybox --list); do ln -sf busybox "$1/bin/$applet"; done
    rm "$1/bin/busybox" # the list names the program itself
    install -m 755 "$(readlink -f "$(command -v busybox)")" "$1/bin/busybox"
    install -m 755 "$TESTBED"/images/sample/bin/* "$1/bin/"
    install -m 644 "$TESTBED"/images/sample/lib/* "$1/lib/"
    printf 'root:x:0:0::/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n' >"$1/etc/passwd"
    printf 'root:x:0:\napp:x:1000:\n' >"$1/etc/group"
}

# push_sample FOLDER NAME VERSION: into the registry and nowhere else, so that
# whoever uses it pulls it. The stamp is believed only if the registry agrees.
push_sample() {
    local reference=$IMAGE_PREFIX/$2:$3 stamp=$RUN_DIR/images/$2-$3 inputs digest
    inputs="$(checksum "$1") $2 $3"
    digest=$(digest_in_registry "$2" "$3")
    [ -z "$digest" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$inputs $digest" ] || return 0
    note "making $reference"
    pack "$1" | quietly "import-$2" docker import --change "CMD [\"$2\"]" \
        --change "ENV PATH=/bin SAMPLE_VERSION=$3" --change 'WORKDIR /tmp' - "$reference"
    quietly "push-$2" docker push "$reference"
    docker image rm "$reference" >/dev/null 2>&1 || true
    mkdir -p "$RUN_DIR/images"
    echo "$inputs $(digest_in_registry "$2" "$3")" >"$stamp"
}

digest_in_registry() {
    curl --silent --head --max-time 5 \
        --header 'Accept: application/vnd.docker.distribution.manifest.v2+json' \
        "http://$REGISTRY/v2/sample/$1/manifests/$2" |
        tr -d '\r' | sed -n 's/^docker-content-digest: //Ip'
}

# The same files give the same bytes: no times, no owners, sorted names.
pack() {
    tar --directory "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --create .
}

checksum() { (pack "$1" && cat "$TESTBED/machine/images.sh") | sha256sum | cut -c 1-16; }
