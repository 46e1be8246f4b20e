# shellcheck shell=bash
# Sourced by the fetch scripts: messages, and downloads that resume.

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$(basename "$0"): $1"
  exit "${2:-3}"
}

need_tools() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || die "this script needs '$tool'" 2
  done
}

# download URL PART: fetches the bytes of URL that PART lacks. Resumes a broken connection; after three failures,
# PART stays for the next call. If the server cannot resume, fetches the whole file.
download() {
  local url=$1 part=$2 attempt status meter=(--silent --show-error)
  if [ -t 2 ]; then meter=(--progress-bar); fi
  for attempt in 1 2 3; do
    status=0
    curl "${meter[@]}" --fail --location --connect-timeout 20 --speed-limit 1000 --speed-time 60 \
      --continue-at - --output "$part" "$url" || status=$?
    case $status in
      0) return 0 ;;
      18 | 28 | 52 | 55 | 56) say "connection broken (curl: $status), attempt $attempt of 3" ;;
      22 | 33 | 36) # refused; if PART has bytes, the server may have rejected the range
        if [ ! -s "$part" ]; then return 1; fi
        rm -f "$part" ;;
      *) return 1 ;;
    esac
  done
  return 1
}
