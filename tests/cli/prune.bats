#!/usr/bin/env bats
# `spdnn prune`: sparse models from dense ones, its report, and its refusals.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  make_dense 28
}

# make_dense SIZE: a dense model of images of SIZE x SIZE, and 48 of these. The largest layer has 25000 weights for 16 x 16, and
# 400000 for 28 x 28, which take ten times as long to fit.
make_dense() {
  "$SPDNN" generate model --family lenet5 --shape "1,$1,$1" --sparsity 0 --seed 3 --out dense.onnx >/dev/null
  "$SPDNN" generate tensors --shape "48,1,$1,$1" --out images.npy >/dev/null
}

# refused CODE PATTERN ARGUMENT...: exit code, one line that has the pattern, and no file that was to be written.
refused() {
  run "$SPDNN" prune "${@:3}"
  echo "$output"
  [ "$status" -eq "$1" ]
  [ "${#lines[@]}" -eq 1 ]
  # shellcheck disable=SC2053
  [[ "$output" == $2 ]]
  [ ! -e out.onnx ]
  [ ! -e out.json ]
}

# zeros FILE: of each node with weights, how many weights are zero.
zeros() { "$SPDNN" inspect "$1" --json - 2>/dev/null | jq -c '[.nodes[] | select(.weights > 0) | .weights - .nonzeros]'; }

@test "each layer has its share of zeros, and the file has what the report says" {
  "$SPDNN" prune dense.onnx out.onnx --sparsity 0.8 --json out.json >text
  [ "$(zeros out.onnx)" = '[0,20000,320000,4000]' ]
  [ "$(jq -c '[.layers[] | .weights - .nonzeros.after]' out.json)" = '[0,20000,320000,4000]' ]
  [ "$(jq -c '[.layers[].pruned]' out.json)" = '[false,true,true,true]' ]
  jq -e '.schema == "spdnn-prune-1" and .measured == null and .calibrated == 0' out.json
  jq -e '.predicted_seconds.after < .predicted_seconds.before' out.json
  jq -e '([.layers[].predicted_seconds.before] | add) <= .predicted_seconds.before' out.json
  jq -e '.timed_runs >= 5 and .measured_seconds.after > 0 and ([.layers[].measured_seconds.before] | min) > 0' out.json
  jq -e '([.layers[].measured_seconds.before] | add) <= .measured_seconds.before' out.json
  grep -qE '^timed +[0-9.e-]+ s -> [0-9.e-]+ s: .* the shortest of [0-9]+ runs for each node$' text
  grep -qE '^ +[0-9]+ linear +400000 +0\.00 +80\.00 ' text
  grep -q 'left as it is' text
  PYTHONDONTWRITEBYTECODE=1 "$root/tests/tools/check_lines.py" out.json
}

@test "one share for all layers together, uniform rows, 2:4 and shares by layer" {
  "$SPDNN" prune dense.onnx a.spdnn --sparsity 0.9 --scope global >/dev/null
  [ "$(zeros a.spdnn | jq 'add')" -eq 387000 ]
  "$SPDNN" prune dense.onnx b.onnx --sparsity 0.9 --pattern uniform >/dev/null
  "$SPDNN" inspect b.onnx --json - 2>/dev/null | jq -e '[.nodes[] | select(.weights > 500) | .row_nonzeros | .min == .max] | all'
  "$SPDNN" prune dense.onnx c.onnx --pattern 2:4 >/dev/null
  [ "$(zeros c.onnx)" = '[0,12500,200000,2500]' ]
  printf '# half of the first\n1 0.5\n' >shares
  "$SPDNN" prune dense.onnx d.onnx --per-layer shares >/dev/null
  [ "$(zeros d.onnx)" = '[250,0,0,0]' ]
}

@test "repair brings the outputs closer to the dense model's, and the loss is measured on other images" {
  make_dense 16
  for repair in none all; do
    "$SPDNN" prune dense.onnx $repair.onnx --sparsity 0.7 --repair $repair --inputs images.npy --json $repair.json >text
    "$SPDNN" infer --model $repair.onnx --inputs images.npy --predictions $repair.txt >/dev/null
  done
  jq -es '.[1].measured.distance < 0.9 * .[0].measured.distance' none.json all.json
  jq -es 'map(.calibrated == 24 and .measured.first == 25 and .measured.images == 24) | all' none.json all.json
  jq -e '[.layers[] | select(.pruned) | .output_error | .after < .before] | all' all.json
  "$SPDNN" infer --model dense.onnx --inputs images.npy --predictions dense.txt >/dev/null
  same=$(paste dense.txt all.txt | tail -24 | awk '$1 == $2' | wc -l)
  [ "$(jq '.measured.agreement * 24 | round' all.json)" -eq "$same" ]
  # The dense model's predictions as labels: the accuracy is the agreement.
  "$SPDNN" prune dense.onnx labelled.onnx --sparsity 0.7 --inputs images.npy --labels dense.txt --json labelled.json >text
  PYTHONDONTWRITEBYTECODE=1 "$root/tests/tools/check_lines.py" labelled.json none.json
  jq -e '.measured.accuracy.before == 1 and .measured.accuracy.after == .measured.agreement' labelled.json
  cmp all.onnx labelled.onnx
  "$SPDNN" prune dense.onnx same.onnx --sparsity 0.7 --inputs images.npy --calibrate 48 --json - 2>text.all |
    jq -e '.calibrated == 48 and .measured.images == 48'
  grep -qE '^accuracy +1\.0000 -> ' text
}

@test "the search keeps the accuracy, and leaves layers dense that gain no time" {
  make_dense 16
  search=(prune dense.onnx out.onnx --inputs images.npy --threads 1 --json out.json)
  "$SPDNN" "${search[@]}" --min-accuracy 0.6 >text
  jq -e '.measured.agreement >= 0.6' out.json
  PYTHONDONTWRITEBYTECODE=1 "$root/tests/tools/check_lines.py" out.json
  [ "$(jq -c '[.layers[].trials | length]' out.json)" = '[0,5,5,5]' ]
  jq -e '[.layers[] | .trials[-1].predicted as $least | select(.pruned) | $least < .predicted_seconds.before] | all' out.json
  jq -e '[.layers[] | select(.pruned) | .predicted_seconds | .after < .before] | length > 0 and all' out.json
  grep -qE '^note .* steps that save time keep the agreement at 0.6 or above' text
  rm out.onnx out.json
  printf '9\n%.0s' {1..48} >labels.txt
  refused 2 "*the dense model has 0.*, less than 0.999*" dense.onnx out.onnx --inputs images.npy --labels labels.txt --min-accuracy 0.999
  refused 2 "*--min-accuracy*1.5, expected more than 0 and at most 1*" dense.onnx out.onnx --inputs images.npy --min-accuracy 1.5
  refused 2 "*needs --inputs*" dense.onnx out.onnx --min-accuracy 0.5
  refused 2 "*expected one of --sparsity*" dense.onnx out.onnx --inputs images.npy --min-accuracy 0.5 --sparsity 0.5
}

@test "a model appears with its reports or not at all" {
  for option in --html --json; do
    refused 3 "*/dev/full: cannot write: No space left on device" dense.onnx out.onnx --sparsity 0.5 $option /dev/full
  done
}

@test "the model and its reports are in place before the text, whose reader may be gone" {
  status=0
  stdbuf -o0 "$SPDNN" prune dense.onnx out.onnx --sparsity 0.5 --html out.html --json out.json >/dev/full 2>stderr || status=$?
  cat stderr
  [ "$status" -eq 3 ]
  [ "$(cat stderr)" = "spdnn: cannot write to stdout: No space left on device" ]
  [ -s out.onnx ]
  [ -s out.html ]
  [ -s out.json ]
}

@test "the report's page works in a browser, without a network" {
  for command in chromium chromedriver /usr/lib/python3/dist-packages/selenium; do
    [ -n "${CI:-}" ] || command -v $command >/dev/null || [ -e $command ] || skip "needs $command: make deps"
  done
  "$SPDNN" prune dense.onnx out.onnx --min-accuracy 0.6 --inputs images.npy --threads 1 --html out.html --json - >out.json
  jq -e '.timed_runs > 0' out.json
  run /usr/bin/python3 "$root/tests/report/browser.py" out.html
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == "3 charts drawn"* ]]
}

@test "a pruned network keeps its accuracy" {
  cnn=$root/../shared/data/cnn
  [ -f "$cnn/trained-1.tar.xz" ] || skip "needs ../shared/data/cnn"
  tar xJf "$cnn/trained-1.tar.xz" textcnn-dense
  textcnn=(textcnn-dense/model.onnx out.onnx --sparsity 0.8 --scope global --inputs textcnn-dense/test_tokens.npy
    --table textcnn-dense/table.npy --divide 16 --labels textcnn-dense/test_labels.npy --calibrate 256 --first 1256)
  "$SPDNN" prune "${textcnn[@]}" --json out.json >/dev/null
  jq -e '.measured.accuracy.before - .measured.accuracy.after < 0.02' out.json
}

@test "convert --to rounds weights: smaller files, the same zeros, verified by the reference" {
  "$SPDNN" prune dense.onnx pruned.onnx --sparsity 0.95 >/dev/null
  "$SPDNN" convert pruned.onnx fp32.spdnn
  size() { stat -c %s "$1.spdnn"; }
  for form in fp16 int8 codebook4 codebook6; do
    "$SPDNN" convert pruned.onnx $form.spdnn --to $form 2>note
    grep -q '^spdnn: note: the weights of 4 nodes were rounded, which changed them by ' note
    [ "$(size $form)" -lt "$(size fp32)" ]
    [ "$(zeros $form.spdnn | jq 'add')" -ge "$(zeros pruned.onnx | jq 'add')" ]
    "$SPDNN" infer --model $form.spdnn --inputs images.npy --first 8 --verify all >report
    grep -q '^verdict *PASSED' report
  done
  [ $((8 * $(size codebook4))) -lt "$(stat -c %s dense.onnx)" ]
  "$SPDNN" inspect codebook4.spdnn | grep -qE '^weights +csr f32 palette of '
  run "$SPDNN" convert codebook4.spdnn again.spdnn --to int8
  [ "$status" -eq 3 ]
  [[ "$output" == *"its weights are quantised already"* ]]
  refused 3 "*its weights are quantised already*" codebook4.spdnn out.onnx --sparsity 0.99
  for wrong in "pruned.onnx again.onnx --to fp16" "pruned.onnx again.spdnn --to int4" "pruned.onnx again.spdnn --to codebook9"; do
    # shellcheck disable=SC2086  # words are meant
    run "$SPDNN" convert $wrong
    [ "$status" -eq 2 ]
    [ ! -e again.spdnn ]
  done
}

@test "convert --to int8 writes ONNX with integers, and with images rounds values, too" {
  "$SPDNN" convert dense.onnx weights.onnx --to int8
  "$SPDNN" convert dense.onnx both.onnx --to int8 --inputs images.npy 2>note
  grep -q '^spdnn: note: 4 values are quantised to 8 bits, with ranges of [0-9]* images$' note
  for file in weights both; do
    [ $((3 * $(stat -c %s $file.onnx))) -lt "$(stat -c %s dense.onnx)" ]
    "$SPDNN" infer --model $file.onnx --inputs images.npy --first 8 --verify all --predictions $file.npy >$file.txt
    grep -q '^verdict *PASSED' $file.txt
  done
  grep -q '4 values are quantised' both.txt
  ! grep -q 'values are quantised' weights.txt
  "$SPDNN" convert both.onnx again.spdnn
  "$SPDNN" infer --model again.spdnn --inputs images.npy --first 8 --predictions again.npy >/dev/null
  cmp both.npy again.npy
  run "$SPDNN" convert both.onnx more.onnx --to int8
  [ "$status" -eq 3 ]
  [[ "$output" == *"the model's values are quantised already and it cannot be rounded again"* ]]
  refused 3 "*values are quantised already*" both.onnx out.onnx --sparsity 0.5
  /usr/bin/python3 -c 'import numpy
numpy.save("none.npy", numpy.zeros((0, 1, 28, 28), "float32"))
numpy.save("large.npy", numpy.full((2, 1, 28, 28), 3e38, "float32"))
numpy.full((2, 28, 28), 200, "uint8").tofile("pixels")'
  printf "\0\0\10\3\0\0\0\2\0\0\0\34\0\0\0\34" | cat - pixels >bytes.idx
  for wrong in "--inputs images.npy" "--to codebook4 --inputs images.npy" "--to int8 --inputs none.npy" "--to int8 --inputs absent.npy" "--to fp16" \
    "--to int8 --subtract 73" "--to int8 --first 4" "--to int8 --inputs large.npy"; do
    # shellcheck disable=SC2086  # words are meant
    run "$SPDNN" convert dense.onnx more.onnx $wrong
    echo "$output"
    [[ "$status" -eq 2 || "$status" -eq 3 ]]
    [ ! -e more.onnx ]
  done
  [[ "$output" == *"is not finite for one of the images 1 to 2"* ]]
  run "$SPDNN" convert dense.onnx more.onnx --to int8 --inputs absent.npy
  [[ "$output" != *"were rounded"* ]]
  "$SPDNN" convert dense.onnx more.onnx --to int8 --inputs bytes.idx 2>note
  grep -q 'note: .*unscaled' note
}

@test "convert --to 2:4 is exact, orders channels, and refuses a model that does not fit with its worst rows" {
  "$SPDNN" prune dense.onnx groups.onnx --pattern 2:4 >/dev/null
  "$SPDNN" prune dense.onnx tenth.onnx --sparsity 0.9 >/dev/null
  for name in groups tenth; do
    "$SPDNN" convert $name.onnx $name.spdnn --to 2:4 2>$name.note
    "$SPDNN" convert $name.spdnn again.onnx
    "$SPDNN" convert $name.onnx same.onnx
    cmp again.onnx same.onnx
  done
  grep -q '^spdnn: note: the weights of 3 nodes are stored as 2:4, .* instead of [0-9.]* [kM]B; 1 node with filters of fewer than 32 weights not$' groups.note
  "$SPDNN" inspect groups.spdnn | grep -qE '^weights +2:4 f32 .* of 3 nodes'
  grep -q '; 3 of them by orders of the input channels;' tenth.note
  run "$SPDNN" convert dense.onnx refused.spdnn --to 2:4
  [ "$status" -eq 3 ]
  [[ "$output" == *"beyond 2 of four input channels, "*": row 1 with 250, row 2 with 250, row 3 with 250; spdnn prune "* ]]
  [ ! -e refused.spdnn ]
}

# back_from_groups MODEL: 2:4 and the way back give the bytes of ONNX that come back from the plain packed form.
back_from_groups() {
  "$SPDNN" convert "$1" groups.spdnn --to 2:4 2>note
  "$SPDNN" convert groups.spdnn back.onnx
  "$SPDNN" convert "$1" plain.spdnn
  "$SPDNN" convert plain.spdnn same.onnx
  cmp back.onnx same.onnx
}

@test "convert --to 2:4: a model of 60 % zeros is split, with the overhead and the worst rows" {
  "$SPDNN" prune dense.onnx split.onnx --sparsity 0.6 >/dev/null
  back_from_groups split.onnx
  grep -qE '3 nodes are stored as 2:4, 1.0 MB in memory instead of 1.4 MB' note
  grep -qE '^spdnn: note: [0-9]+ of 172000 weights \([1-9][0-9]* %\) do not fit and are stored beside, as CSR; most of node 8 "fc1" \(linear\): row [0-9]+ with [0-9]+, row' note
  "$SPDNN" infer --model groups.spdnn --inputs images.npy --verify all --first 4 | grep -q '^verdict *PASSED'
}

@test "convert --to 2:4: trained networks of 90 % zeros lose no weight" {
  cnn=$root/../shared/data/cnn
  [ -f "$cnn/trained-2.tar.xz" ] || skip "needs ../shared/data/cnn"
  tar xJf "$cnn/trained-1.tar.xz" --wildcards 'lenet5-95/model.onnx' 'textcnn-875/model.onnx'
  tar xJf "$cnn/trained-2.tar.xz" --wildcards '*/model.onnx'
  for model in */model.onnx; do
    [[ "$model" != *dense/* ]] || continue
    back_from_groups "$model"
    "$SPDNN" inspect groups.spdnn | grep -q '^weights *2:4 f32'
    [ "$(grep 'do not fit' note | grep -cv '4 of 173900 weights (0.0023 %)')" -eq 0 ]
    tested+=" ${model%/*}"
  done
  [ "$tested" = " lenet5-95 textcnn-875 vgg8-90 vgg8-95 vgg8-95uniform" ]
}

@test "shares, patterns, files and images that do not fit are refused" {
  for share in 1 1.5 -0.1; do refused 2 "*--sparsity: $share is outside \[0, 1)*" dense.onnx out.onnx --sparsity $share; done
  refused 2 "*--sparsity: 'x' is not a*" dense.onnx out.onnx --sparsity x
  refused 2 "*expected one of --sparsity S, --per-layer FILE, --min-accuracy A and --pattern N:M*" dense.onnx out.onnx
  refused 2 "*'4:2' is neither free, uniform nor N:M*" dense.onnx out.onnx --pattern 4:2
  refused 2 "*the pattern 2:4 fixes it*" dense.onnx out.onnx --pattern 2:4 --sparsity 0.5
  refused 2 "*--scope global needs --sparsity*" dense.onnx out.onnx --pattern 2:4 --scope global
  refused 2 "*activations needs --inputs*" dense.onnx out.onnx --sparsity 0.5 --score activations
  refused 2 "*repair*needs --inputs*" dense.onnx out.onnx --sparsity 0.5 --repair weights
  refused 2 "*labels*needs --inputs*" dense.onnx out.onnx --sparsity 0.5 --labels images.npy
  refused 2 "*--calibrate: 0 is outside*" dense.onnx out.onnx --sparsity 0.5 --inputs images.npy --calibrate 0
  refused 2 "*calibrate*49 of 48 images*" dense.onnx out.onnx --sparsity 0.5 --inputs images.npy --calibrate 49
  refused 2 "*OUT: 'out.txt' does not end in*" dense.onnx out.txt --sparsity 0.5
  refused 2 "*MODEL*" dense.onnx dense.onnx --sparsity 0.5
  printf 'conv9 0.5\n' >shares
  refused 3 "*shares:1: there is no node 'conv9'*" dense.onnx out.onnx --per-layer shares
  refused 3 "*missing*" dense.onnx out.onnx --per-layer missing
  printf '1\n2\n' >labels.txt
  refused 3 "*labels.txt*" dense.onnx out.onnx --sparsity 0.5 --inputs images.npy --labels labels.txt --json out.json
  /usr/bin/python3 -c 'import numpy
numpy.save("none.npy", numpy.zeros((0, 1, 28, 28), "float32"))
numpy.save("nan.npy", numpy.full((4, 1, 28, 28), numpy.nan, "float32"))
numpy.save("large.npy", numpy.full((4, 1, 28, 28), 3e38, "float32"))
numpy.save("short.npy", numpy.zeros(47, int))
numpy.save("eleven.npy", numpy.full(48, 11))
numpy.save("real.npy", numpy.zeros(48))'
  for share in 0.5 "0.5 --repair norms" "0.5 --score activations"; do
    # shellcheck disable=SC2086  # words are meant
    refused 3 "*none.npy: holds no images*" dense.onnx out.onnx --sparsity $share --inputs none.npy --json out.json
    # shellcheck disable=SC2086
    refused 3 "*nan.npy: number 1 is nan*" dense.onnx out.onnx --sparsity $share --inputs nan.npy --json out.json
  done
  refused 3 "*node 4 \"conv2\" (convolution): what it reads*is too large to fit weights to it*" dense.onnx out.onnx --sparsity 0.5 \
    --inputs large.npy --json out.json
  refused 3 "*none.npy: holds no images*" dense.onnx out.onnx --min-accuracy 0.5 --inputs none.npy
  for labels in "short.npy: 47 labels, expected 48" "eleven.npy: number 1 is label 11, expected 0 to 9" "real.npy: *expected integers"; do
    refused 3 "*$labels*" dense.onnx out.onnx --sparsity 0.5 --inputs images.npy --labels "${labels%%:*}" --json out.json
  done
  : >empty
  refused 3 "*empty: no node*" dense.onnx out.onnx --per-layer empty
  for share in 1 -0.1 nan; do
    printf '# zeros\n4 %s\n' $share >shares
    refused 3 "*shares:2: '$share' is not a share of zeros in \[0, 1)*" dense.onnx out.onnx --per-layer shares
  done
  "$SPDNN" generate tensors --shape 4,3,28,28 --out other.npy >/dev/null
  refused 3 "*other.npy*" dense.onnx out.onnx --sparsity 0.5 --inputs other.npy
}
