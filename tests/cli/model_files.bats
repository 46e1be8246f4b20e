#!/usr/bin/env bats
# Files of models: spdnn convert between the forms, files that are damaged or do not fit, writers that are stopped.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  export PYTHONDONTWRITEBYTECODE=1
  /usr/bin/python3 "$root/tests/support/toy_model.py" . 20
}

# logits MODEL: they go into MODEL.npy.
logits() { "$SPDNN" infer --model "$1" --inputs images.npy --logits "$1.npy" --progress never >/dev/null; }

# refused CODE PATTERN ARGUMENT...: exit code, one line that has the pattern, and nothing in the directory `none`.
refused() {
  mkdir -p none
  run "$SPDNN" "${@:3}"
  echo "$output"
  [ "$status" -eq "$1" ]
  [ "${#lines[@]}" -eq 1 ]
  # shellcheck disable=SC2053
  [[ "$output" == $2 ]]
  [ "$(ls none)" = "" ]
}

@test "convert: a model through every form is the same model, with the same logits" {
  mkdir out again
  "$SPDNN" convert model.safetensors m.spdnn
  "$SPDNN" convert m.spdnn n.spdnn
  cmp m.spdnn n.spdnn
  "$SPDNN" convert m.spdnn out/m.safetensors
  "$SPDNN" convert out/m.safetensors again/m.safetensors
  cmp out/m.safetensors again/m.safetensors
  cmp out/architecture.json again/architecture.json
  "$SPDNN" convert m.spdnn m.onnx
  "$SPDNN" convert m.onnx n.onnx
  cmp m.onnx n.onnx
  "$SPDNN" convert m.onnx of_onnx.spdnn
  for model in model.safetensors m.spdnn out/m.safetensors m.onnx of_onnx.spdnn; do
    logits $model
    cmp model.safetensors.npy $model.npy
  done
  run "$SPDNN" inspect m.spdnn --json -
  [ "$status" -eq 0 ]
  [ "$(jq -c .nodes <<<"${lines[-1]}")" = "$("$SPDNN" inspect model.safetensors --json - 2>/dev/null | jq -c .nodes)" ]
  "$SPDNN" generate model --family lenet5 --out l.spdnn
  "$SPDNN" generate model --family lenet5 --out again/m.safetensors
  "$SPDNN" convert again/m.safetensors same.spdnn
  cmp l.spdnn same.spdnn
}

@test "convert: real networks, through every form, give the logits that they were exported with" {
  cnn=$root/../shared/data/cnn
  [ -f "$cnn/trained-1.tar.xz" ] || skip "needs ../shared/data/cnn"
  tar xJf "$cnn/trained-1.tar.xz"
  for network in */model.onnx; do
    network=${network%/model.onnx}
    [ -f "$network/table.npy" ] && continue  # its inputs are tokens, which the run below does not have
    mkdir "$network/out"
    "$SPDNN" convert "$network/model.onnx" a.spdnn
    "$SPDNN" convert a.spdnn "$network/out/b.safetensors"
    "$SPDNN" convert "$network/out/b.safetensors" c.onnx
    "$SPDNN" generate tensors --shape "8,$("$SPDNN" inspect c.onnx --json - 2>/dev/null | jq -r '.inputs[0].shape[1:] | map(tostring) | join(",")')" \
      --out i.npy
    for model in "$network/model.onnx" a.spdnn "$network/out/b.safetensors" c.onnx; do
      "$SPDNN" infer --model "$model" --inputs i.npy --variant conv_reference --logits "$(basename "$model").npy" --progress never >/dev/null
    done
    cmp model.onnx.npy a.spdnn.npy
    cmp model.onnx.npy b.safetensors.npy
    cmp model.onnx.npy c.onnx.npy
    found=yes
  done
  [ "$found" = yes ]
}

@test "convert: --weights sparse leaves zeros out, for the same results and fewer bytes, and inspect shows how many" {
  "$SPDNN" generate model --family lenet5 --sparsity 0.95 --out dense.onnx
  "$SPDNN" convert dense.onnx sparse.onnx --weights sparse
  for model in dense.onnx sparse.onnx; do
    "$SPDNN" generate tensors --shape 3,1,28,28 --out i.npy
    "$SPDNN" infer --model $model --inputs i.npy --logits $model.npy --progress never >/dev/null
    "$SPDNN" inspect $model --json $model.json >/dev/null
  done
  cmp dense.onnx.npy sparse.onnx.npy
  "$SPDNN" convert sparse.onnx again.onnx
  cmp dense.onnx again.onnx
  jq -e --argjson dense "$(stat -c %s dense.onnx)" --argjson sparse "$(stat -c %s sparse.onnx)" \
    '.onnx_bytes | .sparse * 4 < .dense and .dense < $dense and $dense < .dense + 10000 and .sparse < $sparse and $sparse < .sparse + 10000' \
    sparse.onnx.json
}

@test "convert: what is no model's form, would overwrite, or does not go with a model is refused" {
  mkdir out
  "$SPDNN" convert model.safetensors out/m.safetensors
  refused 2 "spdnn: OUT: *.tflite*" convert model.safetensors none/m.tflite
  refused 2 "spdnn: OUT: *none/tsv*" convert model.safetensors none/tsv
  refused 2 "spdnn: OUT *" convert model.safetensors model.safetensors
  refused 2 "spdnn: *architecture*" convert model.safetensors ./other.safetensors
  refused 2 "spdnn: --weights: only .onnx*" convert model.safetensors none/m.spdnn --weights sparse
  refused 2 "spdnn: --weights: 'csr' is neither dense nor sparse*" convert model.safetensors none/m.onnx --weights csr
  refused 2 "spdnn: --neurons*" convert model.safetensors none/m.spdnn --neurons 4
  refused 2 "spdnn: OUT: *" convert images.npy none/m.safetensors
  refused 3 "spdnn: absent.onnx: *" convert absent.onnx none/m.spdnn
  refused 3 "spdnn: absent.spdnn: *" convert absent.spdnn none/m.onnx
  "$SPDNN" generate model --family lenet5 --out lenet5.onnx
  refused 3 "spdnn: out/architecture.json: belongs to another model*" convert lenet5.onnx out/other.safetensors
  "$SPDNN" convert model.safetensors out/twin.safetensors
  cmp out/m.safetensors out/twin.safetensors
  grep -q '"m.safetensors"' out/architecture.json
  "$SPDNN" inspect out/twin.safetensors > shown
  "$SPDNN" inspect out/m.safetensors > shown
}

@test "every command distinguishes packed models from packed networks" {
  "$SPDNN" convert model.safetensors m.spdnn
  "$SPDNN" generate network --family random --neurons 16 --layers 2 --degree 4 --bias 0 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 16 --images 5 --out i.spdnn
  refused 3 "spdnn: m.spdnn: holds no network, but a model*" infer --network m.spdnn --inputs i.spdnn
  refused 3 "spdnn: m.spdnn: holds no images, but a model*" infer --network n.spdnn --inputs m.spdnn
  refused 3 "spdnn: m.spdnn: holds no network, but a model*" inspect --network m.spdnn
  refused 3 "spdnn: n.spdnn: holds no model, but a network or images; omit --model" infer --model n.spdnn --inputs images.npy
  refused 3 "spdnn: i.spdnn: holds no model, but a network or images; omit --model" infer --model i.spdnn --inputs images.npy
  refused 2 "spdnn: OUT: *" convert n.spdnn none/m.safetensors
  refused 2 "spdnn: --kind*" convert m.spdnn none/n --kind network
}

@test "a link to weights in another directory is not written through: their model would be lost" {
  "$SPDNN" convert model.safetensors m.spdnn
  mkdir u v
  "$SPDNN" convert m.spdnn u/real.safetensors
  cp -r u before
  ln -s ../u/real.safetensors v/m.safetensors
  refused 3 "*v/m.safetensors*is a link to *u/real.safetensors*" convert m.spdnn v/m.safetensors
  diff -r u before
  [ "$(ls v)" = m.safetensors ]
  mkdir fresh && cd fresh
  "$SPDNN" convert ../m.spdnn m.safetensors
  [ -e architecture.json ]
}

@test "a damaged packed model is refused by name" {
  "$SPDNN" convert model.safetensors m.spdnn
  local size
  size=$(stat -c %s m.spdnn)
  for length in 0 5 127 200 $((size / 2)) $((size - 1)); do
    head -c $length m.spdnn >cut.spdnn
    refused 3 "spdnn: cut.spdnn: is *" infer --model cut.spdnn --inputs images.npy
    refused 3 "spdnn: cut.spdnn: is *" convert cut.spdnn none/m.spdnn
    refused 3 "spdnn: cut.spdnn: is *" convert cut.spdnn none/m.onnx
  done
  for place in 12 40 130 $((size / 2)) $((size - 3)); do
    cp m.spdnn bad.spdnn
    printf '\377' | dd of=bad.spdnn bs=1 seek="$place" conv=notrunc status=none
    refused 3 "spdnn: bad.spdnn: *" infer --model bad.spdnn --inputs images.npy
  done
}

@test "a written model appears whole or not at all: a full disk, a writer that is killed" {
  "$SPDNN" generate model --family lenet5 --out m.spdnn
  cp m.spdnn before.spdnn
  for trap in '' "trap '' XFSZ;"; do
    run bash -c "$trap ulimit -f 100; '$SPDNN' generate model --family lenet5 --seed 2 --out m.spdnn"
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$output" = "spdnn: m.spdnn: cannot write: File too large" ]
    cmp m.spdnn before.spdnn
  done
  run "$SPDNN" convert m.spdnn /dev/full
  [ "$status" -eq 2 ]
  ln -s /dev/full full.spdnn
  run "$SPDNN" convert m.spdnn full.spdnn
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: full.spdnn: cannot write: No space left on device" ]]
  ln -s /dev/full full.onnx
  run "$SPDNN" convert m.spdnn full.onnx
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: full.onnx: cannot write: No space left on device" ]]
  for form in spdnn onnx safetensors; do
    for _ in {1..20}; do  # until the signal comes before the file is whole
      rm -rf killed && mkdir killed
      "$SPDNN" generate model --family resnet50 --out killed/m.$form &
      while kill -0 $! && [ -z "$(find killed -name '.spdnn*')" ]; do sleep 0.01; done
      kill -TERM $! || true
      status=0
      wait $! || status=$?
      [ "$status" -eq 0 ] || break
    done
    [ "$status" -eq 143 ]
    [ "$(find killed -mindepth 1 | wc -l)" -eq 0 ]
  done
}

@test "convert: a stored program is used whatever the calibration is, then and now" {
  mkdir none
  infer=("$SPDNN" infer --inputs images.npy --variant conv_dense --progress never --batch 4 --threads 1)
  SPDNN_CACHE=$PWD/cache "$SPDNN" convert model.safetensors m.spdnn --program conv_dense --tune --batch 4 --threads 1
  calibrated() {  # FACTOR: of oneDNN's kernels; that of others is its reciprocal
    jq ".factors |= with_entries(.value = if .key | startswith(\"onednn_\") then $1 else 1 / $1 end)" cache/calibration.json
  }
  mkdir slow fast
  calibrated 64 >slow/calibration.json
  calibrated 0.015625 >fast/calibration.json
  SPDNN_CACHE=$PWD/slow "$SPDNN" inspect model.safetensors >out.txt
  grep -q " predicted times are corrected by [1-9].* of $PWD/slow/calibration.json$" out.txt
  SPDNN_CACHE=$PWD/none "$SPDNN" inspect model.safetensors >out.txt
  [ "$(grep -c ' corrected by ' out.txt)" -eq 0 ]
  for then in none slow fast; do
    SPDNN_CACHE=$PWD/$then "$SPDNN" convert model.safetensors $then.spdnn --program conv_dense --batch 4 --threads 1
    for now in none slow fast; do
      SPDNN_CACHE=$PWD/$now "${infer[@]}" --model $then.spdnn --logits $then-$now.npy >out.txt
      grep -q ' the program stored with the model is used$' out.txt
      cmp $then-none.npy $then-$now.npy
    done
  done
}

@test "a calibration that cannot be read counts as none, and a note says that a new one is not kept" {
  tune=("$SPDNN" convert model.safetensors t.spdnn --program conv_dense --tune --batch 4 --threads 1)
  mkdir -p folder/calibration.json pipe
  mkfifo pipe/calibration.json
  touch file
  for cache in folder pipe file; do
    SPDNN_CACHE=$PWD/$cache timeout 60 "$SPDNN" inspect model.safetensors >out.txt
    [ "$(grep -c ' corrected by ' out.txt)" -eq 0 ]
    SPDNN_CACHE=$PWD/$cache timeout 60 "${tune[@]}" 2>err.txt
    grep -q "^spdnn: note: .* is not kept for later runs: $PWD/$cache/calibration.json: " err.txt
  done
  SPDNN_CACHE='' "${tune[@]}" 2>err.txt
  grep -q '^spdnn: note: .* is not kept for later runs: there is no cache directory$' err.txt
}

@test "inspect shows the program of a precision, and refuses one in which no variant computes" {
  "$SPDNN" inspect model.safetensors --precision fp64 >fp64.txt
  grep -q '^variant  *conv_dense  *does not support it: it does not compute in fp64$' fp64.txt
  grep -q '^would run conv_reference fp64 ' fp64.txt
  refused 2 '*does not compute in*tf32*' inspect model.safetensors --precision tf32
  refused 2 "*--precision: 'half' is not one of *" inspect model.safetensors --precision half
  "$SPDNN" convert model.safetensors b.spdnn --program conv_dense --batch 4 --precision bf16 || skip "no bf16 here"
  "$SPDNN" inspect b.spdnn --precision bf16 >bf16.txt
  grep -A 1 '^variant  *conv_dense  *supports it' bf16.txt | grep -q ' the program stored with the model is used$'
  "$SPDNN" inspect b.spdnn >fp32.txt
  grep -q ' the program stored with the model is not used, and another compiled: its precision: bf16, now: fp32$' fp32.txt
}

@test "convert: a packed model with its program runs that, with the same logits, or says why it does not" {
  "$SPDNN" convert model.safetensors m.spdnn
  "$SPDNN" convert model.safetensors p.spdnn --program conv_dense --batch 4 --threads 1
  infer=("$SPDNN" infer --inputs images.npy --variant conv_dense --progress never)
  "${infer[@]}" --model m.spdnn --batch 4 --threads 1 --logits m.npy >m.txt
  "${infer[@]}" --model p.spdnn --batch 4 --threads 1 --logits p.npy >p.txt
  cmp m.npy p.npy
  ! grep -q 'program stored' m.txt
  grep -q ' the program stored with the model is used$' p.txt
  # Another number of images may be computed in another order.
  "${infer[@]}" --model m.spdnn --batch 2 --threads 1 --logits m2.npy >m.txt
  "${infer[@]}" --model p.spdnn --batch 2 --threads 1 --logits p2.npy >p.txt
  grep -q ' the program stored with the model is not used, and another compiled: its images: 4, now: 2$' p.txt
  cmp m2.npy p2.npy
  "${infer[@]}" --model p.spdnn --threads 1 --logits p.npy >p.txt  # as many at a time as the program is for
  grep -q ' 4 images per batch' p.txt
  grep -q ' the program stored with the model is used$' p.txt
  cmp m.npy p.npy
  "$SPDNN" inspect p.spdnn >p.txt
  grep -q '^variant  *conv_dense .* for 4 images at a time$' p.txt
  "$SPDNN" convert model.safetensors q.spdnn --program conv_dense --threads 1 2>q.err
  grep -q '^spdnn: note: the program is for batches of [1-9][0-9]* images; a run of fewer images at a time compiles another$' q.err
  "${infer[@]}" --model q.spdnn --threads 1 >q.txt
  grep -q ' the program stored with the model is not used, and another compiled: its images: [0-9]*, now: 20$' q.txt
  # Each of two threads computes a part of a batch.
  "$SPDNN" convert model.safetensors r.spdnn --program conv_dense --batch 8 --threads 2
  "${infer[@]}" --model r.spdnn --threads 2 >r.txt
  grep -q ' 8 images per batch' r.txt
  grep -q ' the program stored with the model is used$' r.txt
  "$SPDNN" convert p.spdnn n.spdnn
  cmp m.spdnn n.spdnn
  tune=("$SPDNN" convert model.safetensors t.spdnn --program conv_dense --tune --batch 4 --threads 1)
  SPDNN_CACHE=$PWD/cache "${tune[@]}"
  # Factors of other kernels, from an earlier run, are kept; those of kernels that are measured again are not.
  tuned=$(jq -r '[.factors | keys[] | select(startswith("onednn_linear "))][0]' cache/calibration.json)
  jq --arg tuned "$tuned" '.factors += {"another kernel": 3} | .factors[$tuned] = 99' cache/calibration.json >edited.json
  mv edited.json cache/calibration.json
  SPDNN_CACHE=$PWD/cache "${tune[@]}" 2>err.txt
  [ ! -s err.txt ]  # kept without a word
  [ "$(jq '.schema == "spdnn-calibration-1" and .factors["another kernel"] == 3' cache/calibration.json)" = true ]
  [ "$(jq --arg tuned "$tuned" '.factors | length > 2 and .[$tuned] != 99' cache/calibration.json)" = true ]
  SPDNN_CACHE=$PWD/cache "${infer[@]}" --model t.spdnn --batch 4 --threads 1 >t.txt
  grep -q ' kernels by measured times; shortest of ' t.txt
  grep -q ' the program stored with the model is used$' t.txt
  refused 2 '*: --program: only packed models, .spdnn, hold a program' convert model.safetensors none/m.onnx --program auto
  refused 2 '*conv_reference runs no program' convert m.spdnn none/m.spdnn --program conv_reference
  refused 2 '*--batch cannot be used with a model that is stored without --program' \
    convert m.spdnn none/m.spdnn --batch 2
  refused 2 '*--compile-seconds cannot be used with a model that is stored without --program' \
    convert m.spdnn none/m.spdnn --compile-seconds 2
  refused 2 '*--precision cannot be used with a model that is stored without --program' \
    convert m.spdnn none/m.spdnn --precision bf16
  refused 2 "*--precision: 'half' is not one of *" convert m.spdnn none/m.spdnn --program conv_dense --precision half
  refused 2 '*conv_dense *fp16-sums*' convert m.spdnn none/m.spdnn --program conv_dense --precision fp16-sums
  refused 2 "*--compile-seconds: 'soon'*" convert m.spdnn none/m.spdnn --program conv_dense --compile-seconds soon
  refused 2 '*conv_reference: has no choice of kernels that could be measured' \
    convert m.spdnn none/m.spdnn --program conv_reference --tune
  # A changed byte of the program.
  /usr/bin/python3 -c '
data = bytearray(open("p.spdnn", "rb").read())
data[data.index(b"spdnn-program-1")] ^= 1
open("damaged.spdnn", "wb").write(data)'
  refused 3 'spdnn: damaged.spdnn: is corrupted: the checksum of section *' \
    infer --model damaged.spdnn --inputs images.npy
}
