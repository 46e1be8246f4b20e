#!/usr/bin/env bats
# The pages agree with the repository: links and paths exist, make targets exist, and all state one version.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$root" || return 1
}

@test "every link and every path named in the pages exists" {
  run python3 tests/tools/dead_links.py
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a dead link and a path that does not exist are found" {
  mkdir -p "$BATS_TEST_TMPDIR/docs" "$BATS_TEST_TMPDIR/src/io"
  printf 'See [a](docs/b.md), [c](https://example.org/x), `src/io` and `src/{io,nothing}/none.hpp`.\n' \
    >"$BATS_TEST_TMPDIR/README.md"
  printf '# Title here\n[up](../README.md) [to](b.md#title-here) [not](b.md#elsewhere)\n' >"$BATS_TEST_TMPDIR/docs/b.md"
  run python3 tests/tools/dead_links.py "$BATS_TEST_TMPDIR"
  echo "$output"
  [ "$status" -eq 1 ]
  [ "${#lines[@]}" -eq 3 ]
  [[ "$output" == *"README.md:1: src/io/none.hpp"* ]]
  [[ "$output" == *"README.md:1: src/nothing/none.hpp"* ]]
  [[ "$output" == *"b.md:2: b.md#elsewhere"* ]]
}

@test "the make targets that make help and the pages name exist" {
  targets=$({
    make help | sed -n 's/^  \([a-z][a-z, -]*[a-z]\)  .*/\1/p' | tr -d ','
    grep -ohP '(^|`| {4})make \K[a-z-]+' README.md docs/*.md
  } | sort -u)
  for target in all test lint fuzz test-gpu results; do [[ $targets =~ (^|[[:space:]])$target([[:space:]]|$) ]]; done
  # STEPS: a dry run is not to count what a run would do.
  # shellcheck disable=SC2086
  run make -n STEPS=1 $targets
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the citation has the version of the build" {
  version=$(sed -n 's/^version: //p' CITATION.cff)
  [ -n "$version" ]
  [[ "$("$SPDNN" --version)" == *"$version"* ]]
}
