# JSON lines as spdnn infer writes them, made up. For: load.

# line NEURONS LAYERS VARIANT PASSES SECONDS TRIALS [FILTER]: prints one, changed by a jq filter if one is given.
line() {
  jq -nc --argjson n "$1" --argjson l "$2" --arg v "$3" --arg p "$4" --argjson s "$5" --argjson t "$6" '
    {"1024": "-0.3", "4096": "-0.35", "16384": "-0.4", "65536": "-0.45"}[$n | tostring] as $bias | ($n * $l * 32) as $e |
    {schema: "spdnn-run-1", problem: {neurons: $n, layers: $l, bias: $bias, cap: 32, images: 60000, edges: $e},
     variant: $v, passes: $p, notes: [], precision: "fp32", trials: $t, batch: 60000, stored_edges: $e,
     seconds: {read: 0.5, plan: 0.25, upload: 0.125, infer: {min: $s, median: $s, max: $s}, gather: 0, write: 0, total: 2},
     rate: ($e * 60000 / $s), rate_end_to_end: ($e * 30000),
     verdict: {status: "PASSED", against: "list", categories: 1812}, alive: [50000, 20000, 1812, 1812],
     machine: {host: "h", cpu: "C", device: "D", threads: 1},
     build: {version: "0", commit: "abc", dirty: false}} | '"${7:-.}"
}
export -f line
