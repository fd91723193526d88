# shellcheck shell=sh
# Sourced by the scripts beside it: timed steps, and one way to fail. The caller sets `stage`.

# shellcheck disable=SC2154 # stage is the caller's
say() { printf '[%s] %s\n' "$stage" "$*"; }

fail() {
  printf '[%s] %s\n' "$stage" "$*" >&2
  exit 2
}

# one_at_a_time SCRIPT: a second run of the script in this folder waits until the first has ended. Two that install or
# build in one place break each other.
one_at_a_time() {
  exec 9<"$1"
  flock -n 9 || {
    say "another $(basename "$1") works in this folder: waiting for it ..."
    flock 9
  }
}

# step WHAT COMMAND...: says what runs, runs it without its output, says how long it took. Where it fails: the end of
# its output, and exit 1.
step() {
  step_what=$1
  shift
  step_log=$(mktemp)
  step_begin=$(date +%s)
  say "$step_what ..."
  if "$@" >"$step_log" 2>&1; then
    rm -f "$step_log"
    say "  done in $(($(date +%s) - step_begin)) s"
  else
    tail -n 40 "$step_log" >&2
    rm -f "$step_log"
    say "failed after $(($(date +%s) - step_begin)) s: $step_what" >&2
    exit 1
  fi
}

# A build step: on a terminal a person sees the compiler's progress, elsewhere only its failure.
build_step() {
  if [ -t 1 ]; then
    step_begin=$(date +%s)
    say "$1 ..."
    shift
    "$@" || exit 1
    say "  done in $(($(date +%s) - step_begin)) s"
  else
    step "$@"
  fi
}

# Parallel compilations: one a core, and 2 GB of memory for each (what a file that includes libtorch may need).
compile_jobs() {
  if [ -n "${SAMEGRAD_JOBS:-}" ]; then
    echo "$SAMEGRAD_JOBS"
    return
  fi
  jobs_cores=$(getconf _NPROCESSORS_ONLN)
  jobs_memory=$(awk '/^MemAvailable:/ { print int($2 / 2000000) }' /proc/meminfo)
  [ "$jobs_memory" -lt "$jobs_cores" ] && jobs_cores=$jobs_memory
  [ "$jobs_cores" -lt 1 ] && jobs_cores=1
  echo "$jobs_cores"
}
