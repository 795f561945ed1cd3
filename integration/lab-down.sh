#!/bin/bash
# Stops the lab of docker-compose.yml. Images and the fixture tree are kept.
#
#   integration/lab-down.sh            all services
#   integration/lab-down.sh machines   only the profile machines
set -euo pipefail
cd "$(dirname "$0")/.."
compose=(docker-compose)
docker compose version >/dev/null 2>&1 && compose=(docker compose)
export COMPOSE_PROFILES=machines
if [ "$*" = machines ]; then
	exec "${compose[@]}" rm --force --stop -v nats1 nats2 nats3 targets worker1 worker2 worker3
fi
"${compose[@]}" down -t 1 "$@"
