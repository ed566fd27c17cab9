# Set-up shared by every command of this repository: source it, with the extras that are needed as arguments.
#
#   . recipes/setup.sh dev        # the environment of the tests
#
# Makes .venv if it is missing and installs what is missing; a second run takes a moment. Afterwards the environment's
# programs are first on PATH. Variables:
#   PYTHON=python3.12   the interpreter to make .venv with (3.10 to 3.13)
#   VENV=/some/venv     use this existing environment instead of .venv
#   TORCH=...           the torch requirement to install where torch is missing, for example "torch==2.9.1+cpu"

normalign_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
normalign_venv=${VENV:-$normalign_root/.venv}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PIP_DISABLE_PIP_VERSION_CHECK=1

normalign_say() { printf '[set-up] %s\n' "$*" >&2; }
normalign_fail() { printf '[set-up] error: %s\n' "$*" >&2; exit 2; }

normalign_python() { # the first interpreter that fits
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3.11 python3 python3.12 python3.13 python3.10 python; do
    "$candidate" -c 'import sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null &&
      { printf '%s\n' "$candidate"; return; }
    [ -z "${PYTHON:-}" ] || normalign_fail "PYTHON=$PYTHON is not a Python from 3.10 to 3.13 with venv"
  done
  normalign_fail "no Python from 3.10 to 3.13 with venv was found; name one with PYTHON="
}

normalign_make_venv() {
  "$normalign_venv/bin/python" -m pip --version >/dev/null 2>&1 && return
  [ -z "${VENV:-}" ] || normalign_fail "VENV=$VENV is not an environment with Python and pip"
  local python
  python=$(normalign_python) || exit 2
  normalign_say "making .venv with $("$python" --version)"
  rm -rf "$normalign_venv"
  "$python" -m venv "$normalign_venv" || normalign_fail "$python could not make $normalign_venv"
}

normalign_pip() { "$normalign_venv/bin/python" -m pip "$@" >>"$normalign_log" 2>&1; }
normalign_has() { "$normalign_venv/bin/python" -c "$1" >/dev/null 2>&1; }

normalign_install_torch() {
  normalign_has 'import torch; assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6)' && return
  normalign_say "installing torch (a CPU build where one can be had)"
  local requirement
  for requirement in ${TORCH:+"$TORCH"} torch==2.13.0+cpu torch==2.13.0 'torch>=2.6'; do
    normalign_pip install "$requirement" 'numpy>=1.22' && return
  done
  normalign_fail "torch could not be installed; see $normalign_log"
}

normalign_install_fairseq() { # built against the torch that is here: never with a second one of its own
  normalign_has 'import fairseq' && return
  if normalign_has 'import sys; sys.exit(sys.version_info >= (3, 11))'; then
    normalign_say "installing fairseq 0.12.2 (a few minutes: it compiles)"
    # its metadata needs an old pip, and its sources an isolated build: it looks for files it does not ship otherwise
    normalign_pip install 'pip<24.1' && normalign_pip install fairseq==0.12.2 'numpy>=1.22'
  else
    normalign_say "installing fairseq (a few minutes: it compiles)"
    normalign_pip install 'setuptools<81' wheel cython 'numpy>=1.22' &&
      normalign_pip install --no-build-isolation fairseq-fixed==0.12.3.1
  fi || normalign_fail "fairseq could not be installed (is there a C++ compiler?); see $normalign_log"
}

normalign_setup() {
  local extras wanted stamp
  extras=$(IFS=,; printf '%s' "$*")
  normalign_log=$normalign_venv/normalign-setup.log
  stamp=$normalign_venv/.normalign-setup-${extras:-core}
  wanted=$(cat "$normalign_root/setup.py" "${BASH_SOURCE[0]}" | cksum)$normalign_root
  if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || ! "$normalign_venv/bin/python" -c '' 2>/dev/null; then
    normalign_make_venv
    normalign_say "writing what pip says to ${normalign_log#"$normalign_root"/}"
    normalign_install_torch
    normalign_install_fairseq
    normalign_say "installing this package${extras:+ with [$extras]}"
    { normalign_has 'import setuptools, wheel' || normalign_pip install 'setuptools<81' wheel; } &&
      normalign_pip install --no-build-isolation -e "$normalign_root${extras:+[$extras]}" ||
      normalign_fail "the package could not be installed; see $normalign_log"
    printf '%s\n' "$wanted" >"$stamp"
    normalign_say "ready"
  fi
  export PATH=$normalign_venv/bin:$PATH
}

normalign_setup "$@"
