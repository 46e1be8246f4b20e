#!/usr/bin/env bats
# A model's answers for pictures: the classes in the report, their names, files of answers in the form given by their
# ending, and notes on the scaling of numbers.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  export PYTHONDONTWRITEBYTECODE=1
  "$SPDNN" generate model --family lenet5 --sparsity 0.9 --seed 3 --out model.onnx >made
  pictures
  printf 'name %s\n' zero one two three four five six seven eight nine >names.txt
  infer=("$SPDNN" infer --model model.onnx --progress never)
}

# pictures: a.png to c.png of 28 x 28, in the folder as well, and array.npy, the same numbers.
pictures() {
  mkdir folder
  /usr/bin/python3 - <<'PY'
import struct, zlib, numpy
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
images = numpy.random.default_rng(5).integers(0, 256, (3, 1, 28, 28)).astype("uint8")
for name, image in zip("abc", images):
    rows = b"".join(b"\0" + bytes(row) for row in image[0])
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0))
    png += chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    for place in (f"{name}.png", f"folder/{name}.png"):
        open(place, "wb").write(png)
numpy.save("array.npy", images)
numpy.save("doubles.npy", images.astype("float64") / 3)
PY
}

# same_numbers FILE FILE: two .npy files hold equal numbers.
same_numbers() {
  /usr/bin/python3 -c "import numpy, sys; sys.exit(not numpy.array_equal(numpy.load('$1'), numpy.load('$2')))"
}

@test "a picture, several pictures and a directory of them give what an array of them gives" {
  "${infer[@]}" --inputs array.npy --divide 255 --logits array-logits.npy
  "${infer[@]}" --inputs folder --divide 255 --logits folder.npy
  "${infer[@]}" --inputs a.png b.png c.png --divide 255 --logits several.npy
  "${infer[@]}" --inputs a.png --divide 255 --inputs b.png --inputs=c.png --logits repeated.npy
  for found in folder several repeated; do same_numbers array-logits.npy $found.npy; done
  "${infer[@]}" --inputs b.png --divide 255 --logits one.npy
  /usr/bin/python3 -c "
import numpy
one = numpy.load('one.npy')
assert one.shape == (1, 10) and numpy.allclose(one[0], numpy.load('array-logits.npy')[1], atol=1e-5)"
  "${infer[@]}" --inputs c.png a.png --divide 255 --predictions turned.csv
  [ "$(cut -d, -f1 turned.csv | paste -sd' ')" = "image c.png a.png" ]
}

@test "the report shows the five largest classes of each picture, with the names and kinds of their numbers" {
  run "${infer[@]}" --inputs folder --divide 255 --names names.txt --logits logits.npy
  [ "$status" -eq 0 ]
  echo "$output"
  /usr/bin/python3 - "$output" <<'PY'
import sys, numpy
names = open("names.txt").read().splitlines()
lines = [line for line in sys.argv[1].splitlines() if "folder/" in line]
assert len(lines) == 3, lines
for name, line, row in zip("abc", lines, numpy.load("logits.npy")):
    best = numpy.argsort(-row)[:5]
    expected = "; ".join(f"{names[k]} (class {k}), logit {row[k]:.4g}" for k in best)
    assert line.endswith(f"folder/{name}.png: {expected}"), (line, expected)
PY
  run "${infer[@]}" --inputs array.npy --divide 255
  [[ "$output" == *"answers          image 1: class "*", logit "* ]]
  [[ "$output" != *"name "* ]]
}

@test "the numbers of a softmax are called probabilities" {
  "$SPDNN" convert model.onnx plain.safetensors
  jq '.nodes += [{"op": "softmax", "name": "shares", "inputs": [.nodes[-1].name], "axis": 1}] | .output = "shares"' architecture.json >with
  mv with architecture.json
  run "$SPDNN" infer --model plain.safetensors --inputs a.png --divide 255
  echo "$output"
  [[ "$output" == *"a.png: class "*", probability 0."* ]]
}

@test "of many images ten are shown, and the report says so" {
  "$SPDNN" generate tensors --shape 12,1,28,28 --out many.npy
  run "${infer[@]}" --inputs many.npy
  [ "$(grep -c ' image [0-9]*: class' <<<"$output")" -eq 10 ]
  [[ "$output" == *"the first 10 of 12 images; --predictions FILE writes all"* ]]
}

@test "predictions and logits are written as their ending says, and read back as labels" {
  "${infer[@]}" --inputs folder --divide 255 --predictions p.npy --logits l.npy
  "${infer[@]}" --inputs folder --divide 255 --predictions p.txt --logits l.txt
  "${infer[@]}" --inputs folder --divide 255 --predictions p.csv --logits l.csv --names names.txt
  for form in npy txt csv; do
    run "${infer[@]}" --inputs folder --divide 255 --labels p.$form --min-accuracy 1
    [ "$status" -eq 0 ]
    [[ "$output" == *PASSED* ]]
  done
  /usr/bin/python3 - <<'PY'
import csv, numpy
classes, logits = numpy.load("p.npy"), numpy.load("l.npy")
assert (numpy.loadtxt("p.txt", dtype=int) == classes).all()
assert (numpy.loadtxt("l.txt", dtype="float32") == logits).all()
names = open("names.txt").read().splitlines()
rows = list(csv.DictReader(open("p.csv")))
assert [r["image"] for r in rows] == ["folder/a.png", "folder/b.png", "folder/c.png"]
assert [int(r["class"]) for r in rows] == list(classes) and [r["name"] for r in rows] == [names[k] for k in classes]
table = list(csv.reader(open("l.csv")))
assert table[0] == ["image"] + names
assert (numpy.array([row[1:] for row in table[1:]], "float32") == logits).all()
PY
  "${infer[@]}" --inputs array.npy --divide 255 --predictions numbered.csv
  [ "$(cut -d, -f1 numbered.csv | paste -sd' ')" = "image 1 2 3" ]
}

@test "labels in a .csv file are checked, with the place of what is wrong" {
  printf 'image,class\n1,3\n2,x\n3,1\n' >bad.csv
  run "${infer[@]}" --inputs array.npy --labels bad.csv
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: bad.csv:3:3: expected a whole number" ]
  printf 'image,label\n1,3\n' >bad.csv
  run "${infer[@]}" --inputs array.npy --labels bad.csv
  [ "$output" = "spdnn: bad.csv:1: no column is headed \`class\`" ]
  printf 'image,class\n1,3\n2\n3,1\n' >bad.csv
  run "${infer[@]}" --inputs array.npy --labels bad.csv
  [ "$output" = "spdnn: bad.csv:3: 1 fields, expected 2" ]
}

@test "other endings are refused before any work" {
  declare -A endings=([--logits]='.npy, .npz, .csv, .txt' [--predictions]='.npy, .csv, .txt')
  for option in --logits --predictions; do
    for name in out.bin out.json out out.tsv; do
      run "$SPDNN" infer --model none.onnx --inputs none "$option" "$name"
      [ "$status" -eq 2 ]
      [ "$output" = "spdnn: $option $name: expected a name that ends in ${endings[$option]}, or - for stdout" ]
      [ ! -e "$name" ]
    done
  done
  "${infer[@]}" --inputs array.npy --predictions p.npy
  "${infer[@]}" --inputs array.npy --predictions - 2>report | cmp - p.npy
  "${infer[@]}" --inputs array.npy --predictions /dev/null >report
}

@test "on a terminal - prints lines, and no bytes of an array" {
  type script || skip "needs script"
  "${infer[@]}" --inputs array.npy --predictions p.txt
  script -qec "${infer[*]} --inputs array.npy --predictions - 2>report" typescript </dev/null
  tr -d '\r' <typescript | grep -E '^[0-9]+$' | cmp - p.txt
}

@test "names must be one for each class, and go with classes alone" {
  head -9 names.txt >few.txt
  run "${infer[@]}" --inputs array.npy --names few.txt
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: few.txt: 9 names, expected 10, one for each class" ]
  sed '4s/.*//' names.txt >gap.txt
  run "${infer[@]}" --inputs array.npy --names gap.txt
  [ "$output" = "spdnn: gap.txt:4: an empty line, expected the name of class 3" ]
  run "${infer[@]}" --inputs array.npy --names names.txt --predictions names.txt
  [ "$status" -eq 2 ]
  [[ "$output" == *"would overwrite --names names.txt"* ]]
  run "${infer[@]}" --inputs a.png b.png --predictions b.png
  [ "$status" -eq 2 ]
}

@test "several files are pictures, and a picture of another size is refused with a way to scale it" {
  run "${infer[@]}" --inputs a.png array.npy
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: array.npy: expected a PNG or JPEG image, as several files are given" ]
  "$SPDNN" generate model --family lenet5 --shape 1,32,40 --sparsity 0.9 --out larger.onnx
  run "$SPDNN" infer --model larger.onnx --inputs a.png
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: a.png: an image of 28 x 28, expected 32 x 40 (height x width); "*"-resize 40x32! OUT.png" ]]
}

@test "a note says where raw pixels run unscaled, and where fp64 is rounded" {
  for inputs in folder a.png array.npy; do
    run "${infer[@]}" --inputs $inputs
    [ "$(grep -c 'pixels go in as they are stored, unscaled' <<<"$output")" -eq 1 ]
    for scaled in "--divide 255" "--mean 0.5" "--subtract 127.5 --divide 127.5"; do
      # shellcheck disable=SC2086  # words are meant
      run "${infer[@]}" --inputs $inputs $scaled
      [ "$status" -eq 0 ]
      [[ "$output" != *unscaled* ]]
    done
  done
  run "${infer[@]}" --inputs doubles.npy --json run.json
  [ "$(grep -c 'doubles.npy: float64 numbers are rounded to float32' <<<"$output")" -eq 1 ]
  jq -e '.notes | map(select(test("rounded to float32"))) | length == 1' run.json
  [[ "$output" != *unscaled* ]]
  "${infer[@]}" --inputs array.npy --divide 255 --logits l.npy
  /usr/bin/python3 -c "import numpy; numpy.save('l64.npy', numpy.load('l.npy').astype('float64'))"
  run "${infer[@]}" --inputs array.npy --divide 255 --expected l64.npy
  [ "$(grep -c 'l64.npy: float64 numbers are rounded to float32' <<<"$output")" -eq 1 ]
  run "${infer[@]}" --inputs array.npy --divide 255
  [[ "$output" != *rounded* ]]
}
