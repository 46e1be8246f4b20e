#!/usr/bin/env bats
# Outputs: checked before the work, written whole or not at all, with the place and the permissions of the file that they replace.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  "$SPDNN" generate network --family radixnet --neurons 64 --layers 4 --degree 8 --bias -0.2 --out a.spdnn >made
  "$SPDNN" generate network --family random --neurons 64 --layers 3 --degree 8 --seed 2 --bias -0.2 --out b.spdnn >made
  "$SPDNN" generate inputs --family digits --neurons 64 --images 50 --out i.spdnn >made
  rm made
  infer=("$SPDNN" infer --network a.spdnn --inputs i.spdnn --progress never)
}

# refuses STATUS MESSAGE ARGUMENTS...: spdnn ends with that status and prints nothing but that message.
refuses() {
  local expected=$1 message=$2
  shift 2
  run "$SPDNN" "$@"
  [ "$status" -eq "$expected" ] || { echo "status $status: $output"; return 1; }
  [ "$output" = "spdnn: $message" ] || { echo "said: $output"; return 1; }
}

# The directory holds the network of that packed file.
is_network() {
  "$SPDNN" convert "$1" back.spdnn --bias -0.2 && cmp back.spdnn "$2" && rm back.spdnn
}

temporaries() { find . -name '.spdnn-*'; }

needs_root() { [ "$(id -u)" -eq 0 ] || skip "needs root"; }

# Runs a command as an ordinary user, who may enter the test's directory.
as_nobody() {
  local directory=$PWD
  while [ "$directory" != / ]; do
    chmod a+x "$directory"
    directory=$(dirname "$directory")
  done
  setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

@test "an output that is an input or another output is refused" {
  cp i.spdnn truth.tsv
  ln -s i.spdnn link
  ln i.spdnn hard
  sha1sum ./*.spdnn truth.tsv >before
  for name in i.spdnn ./i.spdnn link hard; do
    refuses 2 "--categories $name: would overwrite --inputs i.spdnn, expected another name" \
      infer --network a.spdnn --inputs i.spdnn --categories "$name"
  done
  refuses 2 "--json a.spdnn: would overwrite --network a.spdnn, expected another name" \
    infer --network a.spdnn --inputs i.spdnn --json a.spdnn
  refuses 2 "--categories truth.tsv: would overwrite --truth truth.tsv, expected another name" \
    infer --network a.spdnn --inputs i.spdnn --truth truth.tsv --categories truth.tsv
  mkdir there
  ln -s there here
  refuses 2 "--json here/x: would overwrite --categories there/x, expected another name" \
    infer --network a.spdnn --inputs i.spdnn --categories there/x --json here/x
  "$SPDNN" convert a.spdnn net
  for name in n64-l2.tsv n64-l9.tsv n64-l1-bias.tsv spdnn-network.txt; do
    refuses 2 "--json net/./$name: would be read as part of --network net, expected another name" \
      infer --network net --bias -0.2 --inputs i.spdnn --json "net/./$name"
  done
  ln net/n64-l2.tsv layer
  refuses 2 "--json layer: would overwrite n64-l2.tsv of --network net, expected another name" \
    infer --network net --bias -0.2 --inputs i.spdnn --json layer
  refuses 2 "OUT net/.: would overwrite IN net, expected another name" convert net net/.
  refuses 2 "OUT net: would overwrite IN net/n64-l1.tsv, expected another name" convert net/n64-l1.tsv net
  refuses 2 "OUT i.spdnn: would overwrite IN i.spdnn, expected another name" convert i.spdnn i.spdnn
  refuses 2 "--out truth.tsv: would overwrite --mnist truth.tsv, expected another name" \
    generate inputs --family official --neurons 1024 --mnist truth.tsv --out truth.tsv
  sha1sum --quiet -c before
  is_network net a.spdnn
  "${infer[@]}" --categories /dev/null --json /dev/null >report
}

@test "an output that cannot be written is found before anything is read" {
  mkdir -p taken/x.spdnn
  for arguments in "infer --network no --inputs no --categories" "infer --network no --inputs no --json" \
    "generate network --family official --neurons 1024 --layers 2 --out" "convert b.spdnn" "bench layers --json"; do
    # shellcheck disable=SC2086  # words are meant
    refuses 3 "missing/x.spdnn: cannot write: No such file or directory" $arguments missing/x.spdnn
  done
  refuses 3 "taken/x.spdnn: cannot write: Is a directory" convert b.spdnn taken/x.spdnn
  mv i.spdnn images
  refuses 3 "images: cannot write: it is a file, expected a directory or a new name" convert b.spdnn images
}

@test "a directory where no file can be made, such as /proc, is found before the work by every command" {
  "$SPDNN" generate model --family lenet5 --out m.onnx >/dev/null
  for arguments in "inspect a.spdnn --html" "inspect --model m.onnx --json" "infer --network a.spdnn --inputs i.spdnn --json" \
    "prune m.onnx out.onnx --sparsity 0.5 --html" "bench model m.onnx --html" "bench layers --json" "report missing.json --format md --out" \
    "convert m.onnx" "generate model --family lenet5 --out"; do
    # shellcheck disable=SC2086  # words are meant
    run "$SPDNN" $arguments /proc/x.spdnn
    echo "$arguments: $output"
    [ "$status" -eq 3 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == "spdnn: /proc/x.spdnn: cannot write: "* ]]
  done
  [ ! -e out.onnx ]
  run "$SPDNN" convert b.spdnn /proc/x
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: /proc/x: cannot write: "* ]]
}

@test "where the directory or the file is read-only, it is said before anything is read" {
  needs_root
  mkdir -m 755 mine
  touch mine/c.tsv
  refused() {
    run as_nobody "$SPDNN" infer --network no --inputs no --categories "$1"
    [ "$status" -eq 3 ]
    [ "$output" = "spdnn: $1: cannot write: $2" ] || { echo "$output"; return 1; }
  }
  refused mine/new.tsv "Permission denied"
  refused mine/c.tsv "Permission denied"
  chmod 1777 mine
  chmod 666 mine/c.tsv
  refused mine/c.tsv "Operation not permitted" # a sticky directory
}

@test "the report is printed though a file cannot be written, and the other file is left as it was" {
  echo old >j.json
  run "${infer[@]}" --categories /dev/full --json j.json
  [ "$status" -eq 3 ]
  [[ "$output" == *"verdict          UNVERIFIED"*"spdnn: /dev/full: cannot write: No space left on device" ]]
  [ "$(cat j.json)" = old ]
  echo old >c.tsv
  run "${infer[@]}" --categories c.tsv --json /dev/full
  [ "$status" -eq 3 ]
  [[ "$output" == *"verdict          UNVERIFIED"* ]]
  [ "$(cat c.tsv)" = old ]
  [ -z "$(temporaries)" ]
}

@test "pipes that one reader reads one after another are written so" {
  mkfifo one.tsv two.tsv
  commands=("inspect a.spdnn --json one.tsv --html two.tsv"
    "infer --network a.spdnn --inputs i.spdnn --progress never --categories one.tsv --activations two.tsv")
  for arguments in "${commands[@]}"; do
    { timeout 20 cat one.tsv >first && timeout 20 cat two.tsv >second; } &
    # shellcheck disable=SC2086  # words are meant
    timeout 20 "$SPDNN" $arguments >report
    wait $!
    [ -s first ] && [ -s second ]
  done
}

@test "- is stdout, and what people read goes to stderr" {
  "${infer[@]}" --categories c.tsv --json - >j.json 2>report
  jq -e '.schema == "spdnn-run-1"' j.json
  grep -q '^verdict' report
  "${infer[@]}" --categories - >listed 2>report
  cmp c.tsv listed
  grep -q '^verdict' report
  [ ! -e - ]
  refuses 2 "--categories and --json cannot both be -, which is stdout" \
    infer --network a.spdnn --inputs i.spdnn --categories - --json -
  "$SPDNN" bench layers --neurons 64 --degrees 4 --alive 1,0.5 --images 100 --layers 2 --trials 1 \
    --variants cpu_openmp --json - >lines 2>table
  [ "$(jq -c .schema lines)" = $'"spdnn-layers-1"\n"spdnn-layers-1"' ]
  grep -q '^cpu_openmp' table
}

# Waits until a writer of c.tsv has written to its temporary file. Fails where c.tsv is there first.
await_temporary() {
  until compgen -G '.spdnn-*.tmp' >/dev/null && [ "$(stat -c %s .spdnn-*.tmp)" -gt 0 ]; do
    [ ! -s c.tsv ] || [ "$(cat c.tsv)" = old ] || return 1
  done
}

# kill_writer SIGNAL STATUS: sends the signal when infer has written its categories and waits for somebody to read its JSON
# line.
kill_writer() {
  rm -f pipe
  mkfifo pipe
  echo old >c.tsv
  env --default-signal=INT,TERM,HUP "${infer[@]}" --categories c.tsv --json pipe >report &
  local writer=$!
  await_temporary || { kill "$writer"; return 1; }
  kill -s "$1" "$writer"
  local status=0
  wait "$writer" || status=$?
  [ "$status" -eq "$2" ] || { echo "status $status"; return 1; }
  [ "$(cat c.tsv)" = old ]
}

@test "a signal ends a writer, which leaves no temporary; SIGKILL leaves them to the next run" {
  kill_writer INT 130
  [ -z "$(temporaries)" ]
  kill_writer TERM 143
  [ -z "$(temporaries)" ]
  kill_writer HUP 129
  [ -z "$(temporaries)" ]
  kill_writer KILL 137
  [ -n "$(temporaries)" ]
  "${infer[@]}" --categories other.tsv >report # another file's writer does not touch them
  [ -n "$(temporaries)" ]
  "${infer[@]}" --categories c.tsv >report
  [ -z "$(temporaries)" ]
}

@test "an ignored signal stays ignored" {
  mkfifo pipe
  (trap '' HUP; exec "${infer[@]}" --categories c.tsv --json pipe >report) &
  writer=$!
  await_temporary || { kill "$writer"; return 1; }
  kill -s HUP "$writer"
  jq -e .verdict pipe
  wait "$writer"
  [ -s c.tsv ]
}

@test "an empty directory is filled: the same one, with its mode, also as the current directory" {
  mkdir -m 2700 net
  before=$(stat -c '%i %a %U %G' net)
  "$SPDNN" convert a.spdnn net
  is_network net a.spdnn
  [ "$(stat -c '%i %a %U %G' net)" = "$before" ]
  mkdir in
  (cd in && "$SPDNN" convert ../a.spdnn . && [ -f n64-l1.tsv ] && "$SPDNN" convert ../b.spdnn . && [ -f n64-l1.tsv ])
  is_network in b.spdnn
  [ -z "$(temporaries)" ]
}

@test "a directory in one that may not be written, and a mount point, are filled" {
  needs_root
  cp "$SPDNN" program # where the user may run it
  mkdir scratch scratch/job
  chown 65534:65534 scratch/job
  chmod a+r ./*.spdnn
  as_nobody ./program convert a.spdnn scratch/job
  is_network scratch/job a.spdnn
  as_nobody ./program convert b.spdnn scratch/job
  is_network scratch/job b.spdnn
  [ "$(stat -c %u scratch/job scratch/job/n64-l1.tsv)" = $'65534\n65534' ]
  [ -z "$(temporaries)" ]
  mkdir mounted
  mount -t tmpfs none mounted || skip "mounting is not allowed here: mount points are untested"
  "$SPDNN" convert a.spdnn mounted && is_network mounted a.spdnn && "$SPDNN" convert b.spdnn mounted &&
    is_network mounted b.spdnn
  local status=$?
  umount mounted
  [ "$status" -eq 0 ]
}

@test "owner, group, mode and the set-group-id bit survive" {
  needs_root
  "$SPDNN" convert a.spdnn net
  chown -R 65534:60000 net
  chmod 2750 net
  chmod 640 net/n64-l1.tsv
  "$SPDNN" convert b.spdnn net
  is_network net b.spdnn
  [ "$(stat -c '%u %g %a' net net/n64-l1.tsv)" = $'65534 60000 2750\n65534 60000 640' ]
  echo old >c.tsv
  chown 65534:60000 c.tsv
  chmod 4640 c.tsv
  "${infer[@]}" --categories c.tsv >report
  [ "$(stat -c '%u %g %a' c.tsv)" = "65534 60000 4640" ]
  # Another user cannot keep the owner, and gets no permission that only the file's owner or group had.
  mkdir -m 777 open
  echo old >open/c.tsv
  chown 60000:60000 open/c.tsv
  chmod 6676 open/c.tsv
  cp "$SPDNN" program
  chmod a+r ./*.spdnn
  as_nobody ./program infer --network a.spdnn --inputs i.spdnn --categories open/c.tsv >report
  [ "$(stat -c '%u %g %a' open/c.tsv)" = "65534 65534 666" ]
}

@test ".. is what the system takes it for" {
  mkdir -p deep/er
  ln -s deep/er link
  "$SPDNN" convert a.spdnn link/../out
  is_network deep/out a.spdnn
  [ ! -e out ]
}

@test "a network of another depth replaces one that spdnn wrote, and nothing else that looks like layers" {
  "$SPDNN" convert a.spdnn net
  "$SPDNN" convert b.spdnn net
  is_network net b.spdnn
  cp net/n64-l3.tsv net/n64-l9.tsv
  refuses 3 "net/n64-l9.tsv: is not part of the network to be written there, expected a directory without it" \
    convert a.spdnn net
}

@test "layers of two networks in one directory are refused" {
  "$SPDNN" convert a.spdnn net
  "$SPDNN" convert b.spdnn other
  cp other/n64-l2.tsv net
  refuses 3 "net/n64-l2.tsv: differs from its entry in spdnn-network.txt: it belongs to another network, or was changed after it was written; write the network again, or delete spdnn-network.txt if this is meant" \
    infer --network net --bias -0.2 --inputs i.spdnn
  rm net/spdnn-network.txt
  "$SPDNN" infer --network net --bias -0.2 --inputs i.spdnn >report
}

@test "a manifest that is a pipe, a directory or larger than any network's is an error that names it" {
  "$SPDNN" convert a.spdnn d 2>notes
  mv d/spdnn-network.txt kept
  mkfifo d/spdnn-network.txt
  refuses 3 "d/spdnn-network.txt: cannot read: it is a pipe or device, expected a regular file" inspect d --bias -0.2
  rm d/spdnn-network.txt
  mkdir d/spdnn-network.txt
  refuses 3 "d/spdnn-network.txt: cannot read: it is a directory, expected a file" inspect d --bias -0.2
  rmdir d/spdnn-network.txt
  truncate -s 3G d/spdnn-network.txt
  refuses 3 "d/spdnn-network.txt: 3221225472 bytes, expected at most 67108864" inspect d --bias -0.2
  mv kept d/spdnn-network.txt
  is_network d a.spdnn
}

@test "a lost bias file is an error" {
  mkdir net
  printf '1\t1\t1\n2\t2\t1\n' | tee net/n2-l1.tsv >net/n2-l2.tsv
  printf '1\t-0.1\n2\t-0.1\n' | tee net/n2-l1-bias.tsv >net/n2-l2-bias.tsv
  printf '1\t1\t1\n' >images.tsv
  "$SPDNN" infer --network net --inputs images.tsv >report
  rm net/n2-l2-bias.tsv
  refuses 3 "net/n2-l2-bias.tsv: no such file, expected biases of layers 1..2, as there are those of layer 1" \
    infer --network net --inputs images.tsv
  "$SPDNN" infer --network net --layers 1 --inputs images.tsv >report
  mv net/n2-l1-bias.tsv net/n2-l5-bias.tsv
  refuses 3 "net/n2-l5-bias.tsv: biases without a layer, expected those of layers 1..2" \
    infer --network net --bias 0 --inputs images.tsv
  mv net/n2-l5-bias.tsv net/n2-l1-bias.mtx
  refuses 3 "net/n2-l1-bias.mtx: biases in an unsupported format, expected .tsv or .tsv.gz" \
    infer --network net --bias 0 --inputs images.tsv
}
