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

@test "infer --help: examples, then options in groups, the most used first" {
  run "$SPDNN" infer --help
  [ "$status" -eq 0 ]
  [[ "${lines[0]}" == "usage: spdnn infer "* ]]
  [ "${lines[1]}" = "examples:" ]
  [[ "${lines[2]}" == "  spdnn infer --network "*" --inputs "* ]]
  [ "$(grep -oE '^[A-Z][a-z ]+:$' <<<"$output" | tr -d '\n')" = "Options:Network:Images:Results:Timing and memory:What is run:" ]
  [ "$(grep -oE '^  --[a-z-]+' <<<"$output" | tr -d '\n ')" = "--network--generate--neurons--layers--bias--bias-rule--cap--inputs--mnist--images--truth--verify--categories--json--trials--warm-up--compare--precision--batch--device-state--checkpoint--host-memory--device-memory--join-timeout--device--variant--reduce--threads--plan-device--progress" ]
}
