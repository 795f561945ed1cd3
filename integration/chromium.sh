#!/bin/bash
# Gets the browser of the tests in integration/browser onto a Debian 12 machine:
#
#   integration/chromium.sh
#
# A second run finds it there and does nothing.
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
