# shellcheck shell=bash
# Sourced by common.sh and again.sh.

# try COUNT COMMAND...: repeats a command that fails, after 1, 2, 4, ... seconds, until it has run COUNT times.
try() {
  local count=$1 pause=1
  shift
  until "$@"; do
    [ $((count -= 1)) -gt 0 ] || return 1
    sleep "$pause"
    pause=$((2 * pause))
  done
}
