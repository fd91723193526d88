#!/bin/sh
# Installs what the tests need, builds, runs all tests. The last line is `N passed, N failed, N skipped`; exit 0 only
# where some passed and none failed.
set -eu
stage="test"
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/steps.sh"
[ $# -eq 0 ] || fail "argument: '$1'; none is allowed (one test: ctest --test-dir build/dev -R NAME)"
one_at_a_time "$root/scripts/test.sh"

sh "$root/scripts/setup.sh" tests
cd "$root"
step "configure (preset dev)" cmake --preset dev
build_step "build" ninja -C build/dev -j "$(compile_jobs)"

# Results of an earlier run must not be counted.
rm -rf build/dev/junit
mkdir -p build/dev/junit
begin=$(date +%s)
say "ctest ..."
ctest_code=0
if [ -t 1 ]; then
  ctest --test-dir build/dev -j 2 --progress --output-junit junit/ctest.xml || ctest_code=$?
else
  ctest --test-dir build/dev -j 2 --output-junit junit/ctest.xml >build/dev/ctest.log 2>&1 || ctest_code=$?
fi
say "  done in $(($(date +%s) - begin)) s"
exec .venv/bin/python tests/count_results.py build/dev/junit "$ctest_code"
