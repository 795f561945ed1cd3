#!/bin/bash
# Takes the lab of docker-compose.yml down. Images and the fixture tree stay.
set -euo pipefail
cd "$(dirname "$0")/.."
compose=(docker-compose)
docker compose version >/dev/null 2>&1 && compose=(docker compose)
"${compose[@]}" down -t 1 "$@"
