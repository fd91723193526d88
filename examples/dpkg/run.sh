#!/bin/sh
# Trains a small model on this machine's package database, and shows what it learned.
#   sh examples/dpkg/run.sh [--run DIR] [OPTIONS OF samegrad train]
# DIR holds data and results (default: build/dpkg). Needs the program: `sh scripts/demo.sh` builds it, or SAMEGRAD_BIN names
# the folder it is in.
set -eu
example=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$example/../.." && pwd)
samegrad=${SAMEGRAD_BIN:-$root/build/release/bin}/samegrad
if [ ! -x "$samegrad" ]; then
  echo "[dpkg] program: none at $samegrad; run \`sh scripts/demo.sh\`, or set SAMEGRAD_BIN to the folder it is in" >&2
  exit 2
fi
run=$root/build/dpkg
if [ "${1:-}" = --run ]; then
  run=${2:?"--run: a folder is missing"}
  shift 2
fi
mkdir -p "$run"
cd "$run"

python3 "$example/make_dataset.py" data
"$samegrad" train --config "$example/dpkg.yaml" --set data.train=data/train.jsonl \
  --set data.validation=data/validation.jsonl --nproc 2 "$@"
echo
python3 "$example/unigram.py" data/train.jsonl data/validation.jsonl --metrics outputs/metrics.jsonl
echo
prompt='libexample-dev (libdevel) needs libc6-dev
'
printf 'A package that is in no file. Prompt: %s' "$prompt"
"$samegrad" generate --prompt "$prompt"
