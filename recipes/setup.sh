# Set-up shared by every command of this repository: source it, with the extras that are needed as arguments.
#
#   . recipes/setup.sh dev        # the environment of the tests
#
# Makes .venv if it is missing and installs what is missing; a second run takes a moment. Afterwards the environment's
# programs are first on PATH. A fairseq that can be imported is left as it is. Variables:
#   PYTHON=python3.12   the interpreter to make .venv with (3.10 to 3.13)
#   VENV=/some/venv     use this existing environment instead of .venv
#   TORCH=...           the torch requirement to install, for example "torch==2.9.1+cpu"; an error where it cannot be had
#   TORCH_INDEX=...     the address of another index that has it

normalign_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
normalign_venv=${VENV:-$normalign_root/.venv}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PIP_DISABLE_PIP_VERSION_CHECK=1

normalign_say() { printf '[set-up] %s\n' "$*" >&2; }
normalign_fail() { printf '[set-up] error: %s\n' "$*" >&2; exit 2; }

# -- the environment --------------------------------------------------------------------------------------------------

normalign_fits() { # whether an interpreter has the right version, and all that an environment with pip needs
  "$1" -c 'import ensurepip, sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

normalign_make_venv() {
  "$normalign_venv/bin/python" -m pip --version >/dev/null 2>&1 && return
  [ -z "${VENV:-}" ] || normalign_fail "VENV=$VENV is not an environment with Python and pip"
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3.11 python3 python3.12 python3.13 python3.10 python; do
    if normalign_fits "$candidate"; then
      normalign_say "making .venv with $("$candidate" --version)"
      rm -rf "$normalign_venv"
      "$candidate" -m venv "$normalign_venv" >/dev/null 2>&1 && return
      normalign_say "$candidate could not make it"
    fi
    [ -z "${PYTHON:-}" ] || normalign_fail "PYTHON=$PYTHON is not a Python from 3.10 to 3.13 with venv and ensurepip"
  done
  normalign_fail "no Python from 3.10 to 3.13 with venv and ensurepip was found; name one with PYTHON=" \
    "(on Debian and Ubuntu the package python3-venv brings them)"
}

normalign_has() { "$normalign_venv/bin/python" -c "$1" >/dev/null 2>&1; }
normalign_is_there() { normalign_has "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)"; }

normalign_pip() { # everything goes into the log; what takes long is shown
  printf '\n== pip %s\n' "$*" >>"$normalign_log"
  "$normalign_venv/bin/python" -m pip "$@" 2>&1 | tee -a "$normalign_log" | normalign_progress
  return "${PIPESTATUS[0]}"
}

normalign_progress() { # pip names each file with its size before it downloads it, and says when it compiles
  local line file
  while IFS= read -r line; do
    case $line in
      *Downloading\ *MB\)* | *Downloading\ *GB\)*)
        file=${line#*Downloading } && normalign_say "  downloading ${file##*/}" ;;
      *Building\ wheel\ for\ *started* | *Running\ setup.py\ install\ for\ *started*)
        file=${line#* for } && normalign_say "  compiling ${file%%[ :(]*}" ;;
      *still\ running*) normalign_say "  ... still compiling" ;;
      *Installing\ collected\ packages*) normalign_say "  unpacking" ;;
    esac
  done
}

# -- torch and fairseq ------------------------------------------------------------------------------------------------

normalign_torch_fits() { # the torch that is installed, beside what is asked for
  normalign_has 'import torch; assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6)' || return
  [ -z "${TORCH:-}" ] || "$normalign_venv/bin/python" - "$TORCH" >/dev/null 2>&1 <<'CHECK'
import sys
from importlib.metadata import version
from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
try:
    asked = Requirement(sys.argv[1]).specifier
except InvalidRequirement:  # the address of a file
    sys.exit(0)
sys.exit(not asked.contains(version("torch"), prereleases=True))
CHECK
}

normalign_has_gpu() { nvidia-smi -L 2>/dev/null | grep -q GPU; }

normalign_torch_index() { # TORCH_INDEX=, for example PyTorch's own index of CPU builds, as options for pip
  if [ -n "${TORCH_INDEX:-}" ]; then printf -- '--extra-index-url %s' "$TORCH_INDEX"; fi
}

normalign_install_torch() {
  normalign_torch_fits && return
  if [ -n "${VENV:-}" ] && normalign_is_there torch; then
    normalign_fail "the torch in VENV=$VENV is not ${TORCH:-torch>=2.6}; change it yourself, or leave VENV out"
  fi
  if [ -n "${TORCH:-}" ]; then
    normalign_say "installing $TORCH"
    normalign_pip install $(normalign_torch_index) "$TORCH" 'numpy>=1.22' ||
      normalign_fail "TORCH=$TORCH could not be installed; see $normalign_log"
    normalign_torch_fits || normalign_fail "TORCH=$TORCH does not give torch 2.6 or later; see $normalign_log"
    return
  fi
  normalign_say "installing torch: 0.2 GB as a CPU build, 2.8 GB where only a CUDA build can be had (TORCH= and TORCH_INDEX= choose)"
  local requirement
  if ! normalign_has_gpu; then
    normalign_pip install $(normalign_torch_index) torch==2.13.0+cpu 'numpy>=1.22' && return
  fi
  for requirement in torch==2.13.0 'torch>=2.6'; do
    normalign_pip install "$requirement" 'numpy>=1.22' && return
  done
  normalign_fail "torch could not be installed; see $normalign_log"
}

normalign_install_fairseq() {
  normalign_has 'import fairseq' && return
  if [ -n "${VENV:-}" ] && normalign_is_there fairseq; then
    normalign_fail "the fairseq in VENV=$VENV cannot be imported; fix or remove it, or leave VENV out"
  fi
  normalign_say "installing fairseq: 80 MB; where no ready-made build is found (Python 3.12 has one), 3 to 10 minutes to compile"
  if normalign_has 'import sys; sys.exit(sys.version_info >= (3, 11))'; then
    # its metadata needs an old pip, and its sources an isolated build: it looks for files it does not ship otherwise
    normalign_pip install 'pip<24.1' && normalign_pip install fairseq==0.12.2 'numpy>=1.22'
  else # built against the torch that is here, never with a second one of its own; what it asks for, but for torchaudio
    normalign_pip install 'setuptools<81' wheel cython 'numpy>=1.22' &&
      normalign_pip install --no-build-isolation --no-deps fairseq-fixed==0.12.3.1 &&
      normalign_requirements fairseq-fixed >"$normalign_venv/.normalign-requirements" &&
      normalign_pip install -r "$normalign_venv/.normalign-requirements" &&
      normalign_install_torchaudio
  fi || normalign_fail "fairseq could not be installed (is there a C++ compiler?); see $normalign_log"
  normalign_has 'import fairseq' || normalign_fail "fairseq was installed and cannot be imported; see $normalign_log"
}

normalign_requirements() { # of an installed distribution, without its extras, torch and torchaudio
  "$normalign_venv/bin/python" - "$1" <<'LIST'
import re
import sys
from importlib.metadata import requires
for line in requires(sys.argv[1]) or []:
    if "extra ==" not in line and re.match(r"[\w.-]+", line)[0] not in ("torch", "torchaudio"):
        print(line)
LIST
}

normalign_install_torchaudio() { # 2 MB; fairseq asks for it, and its text commands do without it
  normalign_pip install --no-deps $(normalign_torch_index) torchaudio || true
}

normalign_remove_broken_torchaudio() { # one that is built for another torch breaks transformers
  normalign_is_there torchaudio || return 0
  normalign_has 'import torchaudio' && return
  if [ -n "${VENV:-}" ]; then
    normalign_say "warning: the torchaudio in VENV=$VENV cannot be imported, which breaks transformers; remove it"
    return
  fi
  normalign_say "removing torchaudio, which cannot be imported beside this torch; fairseq's text commands do without it," \
    "though 'pip check' goes on naming it"
  normalign_pip uninstall -y torchaudio || normalign_fail "torchaudio could not be removed; see $normalign_log"
}

# -- all of it --------------------------------------------------------------------------------------------------------

normalign_install() { # the extras -> an environment that has them
  normalign_make_venv
  normalign_log=$normalign_venv/normalign-setup.log
  normalign_say "installing into $normalign_venv: 0.5 GB of downloads, 2 GB on disk (3 and 5.5 GB with a CUDA torch) and"
  normalign_say "about 10 minutes where nothing is there yet; all that pip says goes to $normalign_log"
  normalign_install_torch
  normalign_install_fairseq
  normalign_say "installing this package${1:+ with [$1]}: up to 170 MB"
  { normalign_has 'import setuptools; assert int(setuptools.__version__.split(".")[0]) >= 77' ||
    normalign_pip install 'setuptools>=77,<81' wheel; } &&
    normalign_pip install --no-build-isolation -e "$normalign_root${1:+[$1]}" ||
    normalign_fail "the package could not be installed; see $normalign_log"
  normalign_remove_broken_torchaudio
}

normalign_setup() {
  local extras wanted stamp
  extras=$(IFS=,; printf '%s' "$*")
  stamp=$normalign_venv/.normalign-setup-${extras:-core}
  wanted=$(cat "$normalign_root/pyproject.toml" "${BASH_SOURCE[0]}" | cksum)$normalign_root${TORCH:-}
  if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || ! "$normalign_venv/bin/python" -c '' 2>/dev/null; then
    normalign_install "$extras"
    printf '%s\n' "$wanted" >"$stamp"
    normalign_say "ready"
  fi
  export PATH=$normalign_venv/bin:$PATH
}

normalign_setup "$@"
