#!/bin/sh
# Installs what samegrad needs and is not there yet.
#   sh scripts/setup.sh runtime   compiler, libraries, and the part of the torch wheel that a CPU program links (1.3 GB)
#   sh scripts/setup.sh tests     also GoogleTest and the whole wheel: PyTorch is the tests' oracle (4.7 GB)
# Tested on Debian 12, x86-64; meant for Ubuntu 24.04 too (untested). Run it again at any time: it does what is missing.
set -eu
stage=setup
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/steps.sh"

mode=${1:-}
packages="g++ cmake ninja-build ccache git python3 python3-venv libyaml-cpp-dev nlohmann-json3-dev libcli11-dev"
packages="$packages libsimdjson-dev libxxhash-dev libssl-dev librsvg2-bin fonts-dejavu-core"
torch="torch==2.11.0"
# libtorch_cpu.so needs these two even where there is no GPU.
runtime_wheels="$torch nvidia-cuda-runtime==13.0.* nvidia-cuda-cupti==13.0.*"
tests_wheels="$torch numpy safetensors pytest accelerate==1.15.0"
case $mode in
  runtime) ;;
  tests) packages="$packages libgtest-dev libgmock-dev librapidcheck-dev shellcheck iproute2 strace" ;;
  *) fail "mode: '$mode'; allowed are runtime and tests: sh scripts/setup.sh runtime" ;;
esac
[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || fail "machine: $(uname -s) $(uname -m); samegrad runs on Linux x86_64"
one_at_a_time "$root/scripts/setup.sh"

missing_packages() {
  # shellcheck disable=SC2086 # a list of words
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null | awk -v wanted="$packages" '
    $1 == "installed" { there[$2] = 1 }
    END { n = split(wanted, w); for (i = 1; i <= n; ++i) if (!(w[i] in there)) printf " %s", w[i] }'
}

# Where packages cannot be installed: names what is needed, and goes on if the tools at least are there.
need_by_hand() {
  say "$1; needed are (Debian's names): $2"
  for tool in c++ cmake ninja python3; do
    command -v "$tool" >/dev/null || fail "$tool: not found; install the packages named above"
  done
  say "the tools are there: going on; what is missing is named by the build"
}

install_packages() {
  as_root=
  if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || { need_by_hand "not root, and no sudo" "$1"; return; }
  fi
  apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300"
  # shellcheck disable=SC2086 # lists of words
  step "package lists (apt-get update)" $apt update
  # shellcheck disable=SC2086
  step "packages:$1" $apt install -y --no-install-recommends $1
}

python_is_usable() { "$1" -c "import sys; import $2; sys.exit(sys.version_info < (3, 10))" >/dev/null 2>&1; }

make_venv() {
  python_is_usable "$venv/bin/python" pip && return
  if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import pip' >/dev/null 2>&1; then
    fail "$venv: its Python is older than 3.10; remove the folder and run again"
  fi
  for python in python3 /usr/bin/python3 none; do
    python_is_usable "$python" "venv, ensurepip" && break
  done
  [ "$python" != none ] || fail "python3: none with venv and at least version 3.10; install python3 and python3-venv"
  # Over what a broken-off run may have left: venv completes a folder in place.
  step "virtual environment .venv" "$python" -m venv "$venv"
}

install_wheels() {
  # Packages that a broken-off pip left half unpacked look installed; the mark says that they may be there.
  again=
  [ ! -e "$venv/samegrad-installing" ] || again=--ignore-installed
  : >"$venv/samegrad-installing"
  # shellcheck disable=SC2086 # lists of words; the wildcards are pip's
  (
    set -f
    if [ "$mode" = runtime ]; then
      step "libtorch, CPU part (1.3 GB)" "$venv/bin/python" -m pip install $again --no-deps $runtime_wheels
    else
      step "PyTorch and pytest (4.7 GB)" "$venv/bin/python" -m pip install $again $tests_wheels
    fi
  )
  rm "$venv/samegrad-installing"
}

# What the stamp file of a mode holds when its wheels are there.
stamp_text() {
  if [ "$1" = runtime ]; then echo "$runtime_wheels"; else echo "$tests_wheels"; fi
}

wheels_are_there() {
  [ ! -e "$venv/samegrad-installing" ] && ls "$venv"/lib/python3*/site-packages/torch/lib/libtorch_cpu.so >/dev/null 2>&1 &&
    for stamp in "$mode" tests; do
      if [ "$(cat "$venv/samegrad-$stamp" 2>/dev/null)" = "$(stamp_text "$stamp")" ]; then return 0; fi
    done
  return 1
}

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  missing=$(missing_packages)
  [ -z "$missing" ] || install_packages "$missing"
else
  need_by_hand "no apt-get on this system (tested is Debian 12)" "$packages"
fi

venv=$root/.venv
if ! wheels_are_there; then
  make_venv
  install_wheels
  stamp_text "$mode" >"$venv/samegrad-$mode"
fi
say "all that '$mode' needs is there"
