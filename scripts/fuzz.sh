#!/bin/sh
# Long runs of the fuzz targets (tests/fuzz): scripts/fuzz.sh [SECONDS [TARGET...]]
# Builds build/fuzz with clang, then runs each target for SECONDS (60), by default all of them. What it learns is kept in
# build/fuzz/learnt; an input that breaks a reader ends the script with 1 and is left as build/fuzz/found-TARGET-*: mend
# the reader, and add the input to tests/fuzz/corpus/TARGET, where the tests replay it.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=${*:-$(find tests/fuzz -name '*_fuzz.cpp' | sed 's,.*/,,; s,_fuzz.cpp,,' | grep -v control | sort)}
cmake --preset fuzz >build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
# A program that a fault ends leaves its files.
TMPDIR=$(mktemp -d -p /dev/shm)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' HUP INT TERM  # of itself a signal ends sh without the line above
failed=0
for target in $targets; do
  nice ninja -C build/fuzz -j1 "fuzz_$target" >build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
  mkdir -p "build/fuzz/learnt/$target"
  # detect_leaks=0: the leak checker cannot work under a tracer, and memory is bounded by the two limits.
  if ASAN_OPTIONS=detect_leaks=0 nice "build/fuzz/bin/fuzz/fuzz_$target" "build/fuzz/learnt/$target" "tests/fuzz/corpus/$target" \
      -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=1024 -malloc_limit_mb=256 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/found-$target-" >"build/fuzz/$target.log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$target.log") inputs in $seconds s, no fault"
  else
    echo "$target: FOUND a fault; the end of build/fuzz/$target.log:"
    tail -n 25 "build/fuzz/$target.log"
    failed=1
  fi
done
exit $failed
