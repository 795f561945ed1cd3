#!/bin/bash
# Provides debian:bookworm-slim, the base image of docker-compose.yml. It is the image that Docker
# has, a pulled one, a saved copy, or one made by debootstrap (as root, on Debian or a derivative).
#
#   integration/base-image.sh
#   BASE_IMAGE_TAR=base.tar integration/base-image.sh   # loads or saves the copy
set -euo pipefail

image=debian:bookworm-slim
tar=${BASE_IMAGE_TAR:-}

if docker image inspect "$image" >/dev/null 2>&1; then
	echo "$image: present"
elif timeout 120 docker pull "$image" >/dev/null 2>&1; then
	echo "$image: pulled"
elif [ -n "$tar" ] && [ -s "$tar" ]; then
	docker load -q -i "$tar"
else
	if ! command -v debootstrap >/dev/null; then
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
	fi
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	root=$work/root
	sources=/etc/apt/sources.list.d/debian.sources
	mirror=http://deb.debian.org/debian
	if [ -r $sources ]; then mirror=$(awk '/^URIs:/ {print $2; exit}' $sources); fi
	debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/log" || { tail -20 "$work/log" >&2; exit 1; }
	if [ -r $sources ]; then # the host's mirrors, with security updates
		sed 's/^Types: .*/Types: deb/' $sources >"$root$sources"
		: >"$root/etc/apt/sources.list"
	fi
	# The host's exceptions, for example for a wrong clock.
	apt-config dump | grep -E '^Acquire::Check-(Valid-Until|Date) ' >"$root/etc/apt/apt.conf.d/90host" || true
	cat >"$root/etc/apt/apt.conf.d/docker-clean" <<-'X'
		DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
		Dir::Cache::pkgcache "";
		Dir::Cache::srcpkgcache "";
		Acquire::Languages "none";
	X
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb "$root"/var/cache/apt/*.bin \
		"$root"/usr/share/{doc,man,locale}/*
	tar -C "$root" -c . | docker import -c 'CMD ["bash"]' - "$image" >/dev/null
	echo "$image: made"
fi
if [ -n "$tar" ] && [ ! -s "$tar" ]; then
	docker save "$image" -o "$tar"
fi
