# shellcheck shell=bash
# Sourced by scripts that try things in a bare Debian: makes one by debootstrap, from the mirror of this machine, and runs
# commands in it. Takes root. Who sources it calls unmount_all at its end.
command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get -qq install -y debootstrap >/dev/null
command -v debootstrap >/dev/null || { echo "${0##*/}: debootstrap is missing" >&2 && exit 4; }
mounted=()
unmount_all() {
  local place
  for place in "${mounted[@]}"; do umount -l "$place"; done
}

# mount_in BASE PLACE...: /PLACE of this machine as that of the base.
mount_in() {
  local base=$1 place
  shift
  for place; do
    mount --rbind "/$place" "$base/$place"
    mount --make-rslave "$base/$place"
    mounted+=("$base/$place")
  done
}

# make_base RELEASE BASE: a bare Debian of that release. The mirror and the options of apt are those of this machine.
make_base() {
  local mirror options
  mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
    sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\(http[^ ]*\) bookworm .*/\2/p' | sed -n 1p) || true
  echo "making a bare Debian $1 of ${mirror:-the default mirror}" >&2
  debootstrap --variant=minbase --include=ca-certificates "$1" "$2" ${mirror:+"$mirror"}
  for options in /etc/apt/apt.conf.d/*; do
    if grep -qE '^Acquire' "$options"; then cp "$options" "$2/etc/apt/apt.conf.d/"; fi
  done
  cp /etc/resolv.conf /etc/hosts "$2/etc/"
  mount_in "$2" proc dev sys
}

inside() {
  local base=$1
  shift
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 chroot "$base" "$@"
}
install_in() {
  local base=$1
  shift
  inside "$base" apt-get -qq update
  inside "$base" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
}
