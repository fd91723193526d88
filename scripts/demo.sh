#!/bin/sh
# Installs what is missing, builds, and runs the whole lesson on two CPU processes.
#   sh scripts/demo.sh [--run DIR]   DIR holds the lesson's outputs/ and artifacts/ (default: the current folder)
set -eu
stage=demo
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/steps.sh"

run=$PWD
while [ $# -gt 0 ]; do
  case $1 in
    --run)
      [ $# -ge 2 ] || fail "--run: a folder is missing; sh scripts/demo.sh --run DIR"
      run=$2
      shift 2
      ;;
    -h | --help)
      sed -n '2,3s/^# //p' "$0"
      exit 0
      ;;
    *) fail "argument: '$1'; allowed is --run DIR" ;;
  esac
done
mkdir -p "$run" || fail "--run: cannot make the folder '$run'"
run=$(cd "$run" && pwd)

one_at_a_time "$root/scripts/demo.sh"
sh "$root/scripts/setup.sh" runtime
build=$root/build/release
if [ -x "$build/bin/samegrad" ] && [ ! -w "$build" ]; then
  say "$build cannot be written: what was built before is used"
else
  cd "$root"
  [ -e "$build/build.ninja" ] || step "configure (preset release)" cmake --preset release
  build_step "build" ninja -C "$build" -j "$(compile_jobs)"
fi
exec 9<&-  # building is over: the next may start
cd "$run"
exec "$build/bin/samegrad" demo --run "$run"
