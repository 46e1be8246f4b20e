#!/usr/bin/env bats
# The front door: help, version, unknown commands.

@test "--version says what the build has" {
  run "$SPDNN" --version
  [ "$status" -eq 0 ]
  [[ "$output" == *"CUDA:"* && "$output" == *"MPI:"* ]]
}

@test "an unknown command is a usage error" {
  run "$SPDNN" infre
  [ "$status" -eq 2 ]
  [[ "$output" == *"'infre' is no command"* ]]
}

@test "an unknown option is a usage error" {
  run "$SPDNN" variants --no-such-option
  [ "$status" -eq 2 ]
}
