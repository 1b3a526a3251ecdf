# What script/test and script/demo share: a workspace of their own, in which an unprivileged user
# builds a copy of the tree and installs it into a private copy of PostgreSQL. To be sourced.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# initdb refuses root: as root, everything that runs a server runs as this user.
unprivileged=postgres

# Runs a command in the workspace as an unprivileged user.
run() {
    (
        cd "$work/tree"
        if [ "$(id -u)" = 0 ]; then
            runuser -u "$unprivileged" -- env HOME="$work" PATH="$PATH" "$@"
        else
            "$@"
        fi
    )
}

# Makes the workspace: $work/tree with the sources, $work/postgres with a private PostgreSQL. Sets
# `work`, and PG_CONFIG to the private one's; removes all of it when the script ends, or is stopped.
make_workspace() {
    # Short, for sockets lie in it, and in /tmp, for the user must be able to reach it.
    work=$(mktemp -d /tmp/snowflake.XXXXXX)
    trap remove_workspace EXIT
    trap 'exit 130' INT TERM HUP
    mkdir "$work/tree"
    tar -C "$root" --exclude=.git --exclude='*.o' --exclude='*.d' --exclude='*.bc' \
        --exclude='*.so' --exclude=build --exclude=tmp_check -cf - . | tar -C "$work/tree" -xf -
    PG_CONFIG=${PG_CONFIG:-$(find_pg_config)}
    PG_CONFIG=$(PG_CONFIG=$PG_CONFIG "$root/script/private-postgres" "$work/postgres")
    export PG_CONFIG
    if [ "$(id -u)" = 0 ]; then
        chown -R "$unprivileged" "$work"
    fi
    chmod 755 "$work"
}

remove_workspace() {
    if [ -n "${server_data:-}" ]; then
        run "$("$PG_CONFIG" --bindir)/pg_ctl" -D "$server_data" -m immediate stop >/dev/null 2>&1 || true
    fi
    rm -rf "$work"
}

find_pg_config() {
    local config
    for config in pg_config /usr/lib/postgresql/*/bin/pg_config; do
        if command -v "$config" >/dev/null && [ -x "$("$config" --bindir)/postgres" ]; then
            command -v "$config"
            return
        fi
    done
    echo "no PostgreSQL server found; set PG_CONFIG" >&2
    return 1
}

# Builds and installs into the private PostgreSQL; prints nothing unless it fails.
build() {
    if ! run make -s -j"$(nproc)" install PG_CONFIG="$PG_CONFIG" "$@" >"$work/build.log" 2>&1; then
        cat "$work/build.log" >&2
        return 1
    fi
}
