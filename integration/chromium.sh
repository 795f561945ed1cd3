#!/bin/bash
# Installs the browser for the tests in integration/browser on Debian 12:
#
#   integration/chromium.sh
#
# If it is installed, the script does nothing.
set -euo pipefail

if command -v chromium >/dev/null; then
	echo "chromium: installed"
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo "chromium.sh: not root; install by hand: chromium fonts-dejavu-core" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
echo "chromium: installed now"
