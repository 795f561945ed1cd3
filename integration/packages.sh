#!/bin/bash
# Installs every server of the lab on Debian 12, so that the integration tests can start them as
# child processes:
#
#   integration/packages.sh
#
# Packages that conflict with others (FTP and news servers) or would claim a service name are only
# unpacked, into the folder packages/ of the lab's cache. The cache is $URLGET_LAB_CACHE, or
# $XDG_CACHE_HOME/urlget-lab, or /var/cache/urlget-lab for root (servers drop root and cannot enter
# its home), or ~/.cache/urlget-lab. No server is started. A second run changes nothing and takes less
# than a second.
set -euo pipefail

if [ -n "${URLGET_LAB_CACHE:-}" ]; then cache=$URLGET_LAB_CACHE
elif [ -n "${XDG_CACHE_HOME:-}" ]; then cache=$XDG_CACHE_HOME/urlget-lab
elif [ "$(id -u)" = 0 ]; then cache=/var/cache/urlget-lab
else cache=$HOME/.cache/urlget-lab
fi

# To install: servers without conflicts, and the tools of the tests and benchmarks.
installed=(
	nginx-light libnginx-mod-http-dav-ext pygopherd python3-pyftpdlib python3-openssl dictd dictfmt dictzip yaz
	idzebra-2.0-common idzebra-2.0-utils libidzebra-2.0-mod-grs-marc
	slapd tinyproxy squid microsocks hercules samba smbclient rsync dovecot-pop3d dovecot-imapd
	rpcbind socat openssl curl wget lftp iproute2 procps ca-certificates
)
# To install: the libraries of unpacked packages.
libraries=(
	libpam-pwdfile libwrap0 libcap2 libsodium23 libhiredis0.14 libmemcached11
	libmemcachedutil2 libpcre2-posix3 libacl1 libidn2-0 libcanlock3 libdb5.3
	libperl5.36 libpython3.11 libsqlite3-0 libsasl2-2 libsystemd0 libk5crypto3
	libkrb5-3 libcom-err2 zlib1g libntirpc4.3 libnfsidmap1 liburcu8 libwbclient0
	libdbus-1-3 libblkid1 libuuid1 libgssapi-krb5-2
)
# To unpack: FOLDER: PACKAGES.
unpacked=(
	"vsftpd: vsftpd"
	"proftpd: proftpd-core proftpd-mod-crypto"
	"pure-ftpd: pure-ftpd pure-ftpd-common"
	"openssh: openssh-server openssh-sftp-server openssh-client"
	"ganesha: nfs-ganesha nfs-ganesha-vfs"
	"inn: inn2 inn2-inews"
	"sn: sn"
	"gophernicus: gophernicus"
	"molly-brown: molly-brown"
	"hpa-tftpd: tftpd-hpa" # its in.tftpd must be found before atftpd's
	"tftpd-a: atftpd"
	"telnetd: inetutils-telnetd"
	"fingerd: fingerd"
	"rlogind: rsh-redone-server"
)

export DEBIAN_FRONTEND=noninteractive
updated=
update() {
	[ -n "$updated" ] || apt-get update -qq
	updated=yes
}
has() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

missing=()
for p in "${installed[@]}" "${libraries[@]}"; do
	if has "$p"; then echo "$p: installed"; else missing+=("$p"); fi
done
if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "packages.sh: not root; install by hand: ${missing[*]}" >&2
	else
		if [ ! -e /usr/sbin/policy-rc.d ]; then
			trap 'rm -f /usr/sbin/policy-rc.d' EXIT
			printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
			chmod 755 /usr/sbin/policy-rc.d
		fi
		update
		apt-get install -y -qq --no-install-recommends --no-remove "${missing[@]}" >"/tmp/urlget-lab-apt.$$" 2>&1 ||
			{ cat "/tmp/urlget-lab-apt.$$" >&2; exit 1; }
		rm -f "/tmp/urlget-lab-apt.$$"
		for p in "${missing[@]}"; do echo "$p: installed now"; done
	fi
fi

mkdir -p "$cache/packages"
chmod 755 "$cache" "$cache/packages"
for row in "${unpacked[@]}"; do
	name=${row%%:*}
	read -ra packages <<<"${row#*:}"
	if [ -d "$cache/packages/$name" ]; then
		echo "$name: unpacked"
		continue
	fi
	update
	work=$(mktemp -d "$cache/packages/.$name.XXXXXX")
	chmod 755 "$work"
	(cd "$work" && apt-get -o APT::Sandbox::User=root download -qq "${packages[@]}" >/dev/null)
	mkdir "$work/root"
	for deb in "$work"/*.deb; do dpkg -x "$deb" "$work/root"; done
	mv "$work/root" "$cache/packages/$name"
	rm -rf "$work"
	echo "$name: unpacked now"
done
