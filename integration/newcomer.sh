#!/bin/bash
# Clones the repository into an empty folder and runs the commands of README.md and of pages in docs
# there, in order and exactly as printed: the lines of every ```sh block below a line "<!-- run -->". The home folder is empty, and PATH contains little more than Go. Go's caches are those
# of the caller. The script exits with the status of the first command that fails.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && git rev-parse --show-toplevel)
modules=$(go env GOMODCACHE) cache=$(go env GOCACHE)

tmp=$(mktemp -d)
started=()
cleanup() {
	for pid in "${started[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
	rm -rf "$tmp"
}
trap cleanup EXIT

git clone -q "$top" "$tmp/urlget"
mkdir "$tmp/home"
cd "$tmp/urlget"
mapfile -t lines < <(awk '
	inside && /^```/ { inside = 0; next }
	inside { print; next }
	marked && /^```sh$/ { inside = 1 }
	{ marked = ($0 == "<!-- run -->") }
' README.md docs/{howto,faq,proxies,logins,tls,forms,tutorial}.md)
if [ ${#lines[@]} = 0 ]; then
	echo 'newcomer: the documents have no commands to run' >&2
	exit 1
fi

export HOME=$tmp/home PATH=$(dirname "$(command -v go)"):/usr/bin:/bin GOMODCACHE=$modules GOCACHE=$cache
unset GOPATH GOBIN
command=
for line in "${lines[@]}"; do
	command+=$line
	case $command in
	*\\) command+=$'\n'; continue ;; # continues on the next line
	'' | '#'*) command=; continue ;;
	esac
	printf '+ %s\n' "$command"
	status=0
	if [[ $command == *'&' ]]; then
		set -m # with a process group of its own for cleanup
		eval "$command" </dev/null
		started+=($!)
		set +m
	else
		eval "$command" </dev/null || status=$?
	fi
	printf '= %d\n' "$status"
	[ "$status" = 0 ] || exit "$status"
	command=
done
