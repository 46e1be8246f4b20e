# shellcheck shell=bash
# Loaded by tests that wait for other processes.

# within SECONDS COMMAND...: whether it succeeds by then. The limits are there for what hangs, not for a busy machine.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}
