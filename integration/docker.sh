#!/bin/bash
# Provides Docker with its compose command for integration/lab-up.sh, and the commands with which
# tests set up networks. As root, it installs missing ones from Debian's packages, and starts the
# daemon if it does not run. If that is not possible, it exits with status 1 and the reason.
#
#   integration/docker.sh
#   integration/docker.sh stop   # stops the daemon if this script started it
set -euo pipefail

pidfile=/run/urlget-lab-dockerd.pid
log=/var/log/urlget-lab-dockerd.log

answers() { timeout 10 docker version >/dev/null 2>&1; }
composes() { docker-compose version >/dev/null 2>&1 || docker compose version >/dev/null 2>&1; }
fail() {
	echo "docker: $*" >&2
	exit 1
}

if [ "${1:-}" = stop ]; then
	if [ -s $pidfile ]; then
		kill "$(cat $pidfile)" || true
		rm -f $pidfile
	fi
	exit
fi

missing=()
command -v docker >/dev/null || missing+=(docker.io iptables)
composes || missing+=(docker-compose)
command -v ip >/dev/null || missing+=(iproute2)
command -v iptables >/dev/null || missing+=(iptables)
if [ ${#missing[@]} -gt 0 ]; then
	[ "$(id -u)" = 0 ] || fail "not root; install by hand: ${missing[*]}"
	command -v apt-get >/dev/null || fail "no apt-get; install by hand: ${missing[*]}"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
if ! answers; then
	[ "$(id -u)" = 0 ] || fail "the daemon does not respond, and only root can start it"
	command -v dockerd >/dev/null || fail "the daemon does not respond, and dockerd is not installed"
	setsid dockerd --pidfile $pidfile >$log 2>&1 </dev/null &
	daemon=$!
	for ((i = 0; i < 60; i++)); do
		if answers; then break; fi
		kill -0 $daemon 2>/dev/null || break
		sleep 0.5
	done
	answers || {
		tail -n 3 $log >&2
		kill $daemon 2>/dev/null || true
		fail "the daemon does not start: see $log"
	}
fi
echo "docker: $(docker version -f '{{.Server.Version}}') is running"
