#!/bin/bash
# Provides the one image that docker-compose.yml is built from,
# debian:bookworm-slim: what Docker has, else what the registry has, else a
# copy saved before, else one made here by debootstrap (as root, on Debian or
# one of its kin), so that nothing else need know where it came from.
#
#   integration/base-image.sh
#   BASE_IMAGE_TAR=base.tar integration/base-image.sh   # loads or saves a copy
set -euo pipefail

image=debian:bookworm-slim
tar=${BASE_IMAGE_TAR:-}

if docker image inspect "$image" >/dev/null 2>&1; then
	echo "$image: there"
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
	if [ -r $sources ]; then # the host's mirrors, security updates among them
		sed 's/^Types: .*/Types: deb/' $sources >"$root$sources"
		: >"$root/etc/apt/sources.list"
	fi
	# The host's exceptions, such as for a clock that is wrong.
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
