#!/bin/bash
# Installs the browsers for the tests in integration/browser on Debian 12:
#
#   integration/chromium.sh
#
# If they are installed, the script does nothing.
set -euo pipefail

programs=(chromium lynx w3m curl python3)
missing=()
for program in "${programs[@]}"; do
	command -v "$program" >/dev/null || missing+=("$program")
done
if [ ${#missing[@]} = 0 ]; then
	echo "${programs[*]}: installed"
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo "chromium.sh: not root; install by hand: ${missing[*]} fonts-dejavu-core" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" fonts-dejavu-core >/dev/null
echo "${missing[*]}: installed now"
