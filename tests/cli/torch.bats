#!/usr/bin/env bats
# Blocks of well-known CNNs, as PyTorch exports them: spdnn reads, runs, verifies and writes them, and computes the same.

@test "blocks exported by PyTorch: equal outputs, also of the files written of them" {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  [ -e /usr/lib/python3/dist-packages/torch ] || skip "needs Debian's python3-torch, which nothing installs"
  export PYTHONDONTWRITEBYTECODE=1
  run nice -n 5 /usr/bin/python3 "$root/tests/peers/torch_agrees.py" "$SPDNN" --sets 16 --blocks \
    focus yolov5-head yolov8-head shufflenetv2-2 efficientnet unet-bilinear convnext vit vit-by-heads
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$output" = "17 of 17 files agree, 1 refused as they should be" ]
}
