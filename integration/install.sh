#!/bin/bash
# Installs both programs from a clone in an empty folder and runs them: in the workspace, each module
# alone, and by version, as users do with "go install ...@latest". The version is a pair of tags in
# the clone, made as in section Releases of CONTRIBUTING.md. Requires Go, and no network if the
# modules are in Go's module cache.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && git rev-parse --show-toplevel)
export GOFLAGS="${GOFLAGS:-} -trimpath" # so that the clone shares the build cache
unset GOWORK

tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
git clone -q "$top" "$tmp/urlget"
cd "$tmp/urlget"

# try runs the programs in the folder $GOBIN. urlget runs the queue program next to it.
try() { # HOW
	"$GOBIN/urlget" version
	"$GOBIN/urlget" queue --help >/dev/null
	[ "$(ls "$GOBIN")" = $'urlget\nurlget-queue' ]
	echo "install: $1: both programs run"
}

# quiet runs a command without its reports of downloads.
quiet() { "$@" 2> >(grep -v '^go: downloading' >&2); }

export GOBIN=$tmp/workspace
go install ./cmd/... ./queue/cmd/...
try "in the workspace"

export GOBIN=$tmp/alone GOWORK=off
go build ./...
go install ./cmd/...
(cd queue && go build ./... && go install ./cmd/...)
try "each module alone"
[ -z "$(git status --porcelain)" ] || { git status; exit 1; }

# Other modules come from the cache, and those of the clone go into a cache that is removed.
version=v1.9999.0
export GOBIN=$tmp/tagged GOPROXY="file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)" GOMODCACHE=$tmp/modules \
	GOPRIVATE='github.com/urlget/*' GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x \
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$tmp/urlget.insteadOf" GIT_CONFIG_VALUE_0=https://github.com/urlget/urlget
git switch -q --detach
git tag $version
(
	cd queue
	go mod edit -dropreplace github.com/urlget/urlget -require github.com/urlget/urlget@$version
	quiet go mod tidy
	git commit -qam "queue: $version"
	git tag queue/$version
)
cd "$tmp"
quiet go install github.com/urlget/urlget/cmd/urlget@latest
quiet go install github.com/urlget/urlget/queue/cmd/urlget-queue@latest
"$GOBIN/urlget" version | grep -q "^urlget $version"
try "by version"
