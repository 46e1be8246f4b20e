# Prints queued jobs, failures, and elements that are missing: they have neither result nor failure and are not queued. Exits with
# 1 if there are failures or missing elements. Reads lines of tab-separated fields: `queue INDEX JOB STATE` for a job, `element
# NAME` for each line of sweep.list, `result NAME`, and `failed NAME WHY`, of which the last for a name counts. A job that is
# queued again has not failed.
BEGIN { FS = "\t" }
$1 == "queue" { busy[$2]; busy_job[$3]; ++count[$4] }
$1 == "element" { element[++elements] = $2; index_of[$2] = elements }
$1 == "result" { there[$2] }
$1 == "failed" {
  if (!($2 in why)) name[++names] = $2
  why[$2] = $3
}
function is_busy(name,    job) {
  if (name in index_of && index_of[name] in busy) return 1
  if (!match(why[name], /\(job [0-9_]+, log /)) return 0
  job = substr(why[name], RSTART + 5, RLENGTH - 11)
  return job in busy_job
}
END {
  for (state in count) print "in the queue: " count[state] " " state
  for (i = 1; i <= names; ++i) {
    if (is_busy(name[i])) continue
    print "failed: " name[i] ": " why[name[i]]
    bad = 1
  }
  for (i = 1; i <= elements; ++i) {
    if (element[i] in there || element[i] in why || i in busy) continue
    print "missing: " element[i] ": no result, and not in the queue"
    bad = 1
  }
  exit bad
}
