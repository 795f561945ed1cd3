#!/bin/bash
# Builds the images of the lab in docker-compose.yml, starts the containers, and waits up to five
# minutes until all are healthy. Requires Docker, and Go if no image with Go can be pulled.
#
#   integration/lab-up.sh              all servers
#   integration/lab-up.sh vsftpd inn   some of them
#   integration/lab-up.sh machines     only the profile machines
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$*" = machines ]; then
	export COMPOSE_PROFILES=machines
	set -- nats1 nats2 nats3 targets worker1 worker2 worker3
fi
compose=(docker-compose)
# On a busy machine the daemon takes more than a minute to create a container, the limit of version 1.
export COMPOSE_HTTP_TIMEOUT=${COMPOSE_HTTP_TIMEOUT:-600}
docker compose version >/dev/null 2>&1 && compose=(docker compose)

integration/base-image.sh
golang=$(awk '$1 == "FROM" && /golang/ {print $2}' integration/servers/own/Dockerfile)
if ! docker image inspect "$golang" >/dev/null 2>&1 && ! timeout 120 docker pull "$golang" >/dev/null 2>&1; then
	mkdir -p integration/servers/own/bin
	CGO_ENABLED=0 go build -o integration/servers/own/bin/ ./integration/lab/mktree \
		./fetchtest/servers/waisd/cmd/waisd ./fetchtest/servers/prosperod/cmd/prosperod
	if [ -n "${COMPOSE_PROFILES:-}" ]; then
		CGO_ENABLED=0 go build -C queue -o ../integration/servers/machines/bin/ ./cmd/urlget-queue \
			./integration/machines/targets github.com/nats-io/nats-server/v2
	fi
	compose+=(-f docker-compose.yml -f integration/without-golang.yml)
fi
log=$(mktemp)
"${compose[@]}" build --parallel "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
rm -f "$log"
"${compose[@]}" up -d "$@"

for ((i = 0; i < 300; i++)); do
	waiting=()
	for id in $("${compose[@]}" ps -q "$@"); do
		status=$(docker inspect -f '{{index .Config.Labels "com.docker.compose.service"}} {{if .State.Running}}{{with .State.Health}}{{.Status}}{{else}}running{{end}}{{else}}ended{{end}}' "$id")
		case $status in
		*" healthy" | "tree ended") ;; # it ends before the others start
		*) waiting+=("${status/ /: }") ;;
		esac
	done
	if [ ${#waiting[@]} = 0 ]; then
		echo "lab: all healthy"
		exit 0
	fi
	sleep 1
done
printf 'lab: %s\n' "${waiting[@]}" >&2
echo 'lab: see "docker-compose logs SERVICE"' >&2
exit 1
