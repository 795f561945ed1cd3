#!/bin/bash
# Installs the browsers for the tests in integration/browser on Debian 12:
#
#   integration/chromium.sh
#
# If they are installed, the script does nothing.
set -euo pipefail

if command -v chromium lynx w3m curl python3 >/dev/null; then
	echo "chromium, lynx, w3m, curl, python3: installed"
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo "chromium.sh: not root; install by hand: chromium fonts-dejavu-core lynx w3m curl python3" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core lynx w3m curl python3 >/dev/null
echo "chromium, lynx, w3m, curl, python3: installed now"
