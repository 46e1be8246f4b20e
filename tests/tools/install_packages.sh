#!/usr/bin/env bash
# Installs the Debian packages named, those that are missing. Without the right to, prints the one line to run and stops.
set -euo pipefail
if ! command -v dpkg-query >/dev/null; then
  echo "no Debian packages on this system; needed are what Debian calls: $*" >&2
  exit 0
fi
missing=()
for package in "$@"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "packages are missing; run this once, then make again:" >&2
  echo "  sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
install() { apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null; }
install 2>/dev/null || { apt-get -qq update && install; }
