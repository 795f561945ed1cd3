#!/bin/bash
# Brings the lab of docker-compose.yml up: the base image, the fixture tree,
# the images, the containers; and waits until all are healthy, five minutes at
# most. Needs Docker and Go.
#
#   integration/lab-up.sh              all servers
#   integration/lab-up.sh vsftpd inn   some of them
set -euo pipefail
cd "$(dirname "$0")/.."
compose=(docker-compose)
docker compose version >/dev/null 2>&1 && compose=(docker compose)

integration/base-image.sh
go run ./integration/lab/mktree integration/tree
for own in waisd prosperod; do
	CGO_ENABLED=0 go build -o "integration/servers/$own/$own" "./internal/testserver/$own/cmd/$own"
done
log=$(mktemp)
"${compose[@]}" build --parallel "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
rm -f "$log"
"${compose[@]}" up -d "$@"

for ((i = 0; i < 300; i++)); do
	waiting=()
	for id in $("${compose[@]}" ps -q "$@"); do
		status=$(docker inspect -f '{{index .Config.Labels "com.docker.compose.service"}} {{if .State.Running}}{{.State.Health.Status}}{{else}}ended{{end}}' "$id")
		[ "${status#* }" = healthy ] || waiting+=("${status/ /: }")
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
