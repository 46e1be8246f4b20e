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
  [[ "$output" == *"'infre' is not a command"* ]]
}

@test "an unknown option is a usage error" {
  run "$SPDNN" variants --no-such-option
  [ "$status" -eq 2 ]
}

@test "infer --help of a network: examples, then options in groups, the most used first" {
  run "$SPDNN" infer --network any --help
  [ "$status" -eq 0 ]
  [[ "${lines[0]}" == "usage: spdnn infer "* ]]
  [[ "$output" == *$'\nexamples:\n  spdnn infer --network '*" --inputs "*$'\nNetwork:\n'* ]]
  [ "$(grep -oE '^[A-Z][a-z ]+:$' <<<"$output" | tr -d '\n')" = "Network:Images:Results:Timing and memory:Run:" ]
  first=(--network --generate --inputs --mnist --truth --verify --trials --warm-up --device --variant)
  [ "$(grep -oE '^  --[a-z-]+' <<<"$output" | grep -oxF -e "$(printf '  %s\n' "${first[@]}")" | tr -d ' ')" = "$(printf '%s\n' "${first[@]}")" ]
}
