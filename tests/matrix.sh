#!/usr/bin/env bash
# Runs tests/run.sh on every Python found, each from a fresh clone without an environment, and prints one table.
#   bash tests/matrix.sh [arguments for tests/run.sh]
# What is committed is tested. Variables:
#   PYTHONS="3.10 3.13"   these versions only (default: 3.10 to 3.13, on PATH or from pyenv)
#   MATRIX=/some/folder   where clones, environments and logs go (default: a new temporary folder); clones that are
#                         already there are used again, at the commit of now
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
matrix=${MATRIX:-$(mktemp -d "${TMPDIR:-/tmp}/normalign-matrix.XXXXXX")}
mkdir -p "$matrix"

interpreter() { # of a version: the first one that starts
  local candidate
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1"*/bin/python; do
    "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null &&
      { "$candidate" -c 'import sys; print(sys.executable)'; return; }
  done
  return 1
}

clone_of() { # a version -> a folder with the commit of now
  local folder=$matrix/$1
  [ -d "$folder/.git" ] || git clone -q "$root" "$folder"
  git -C "$folder" fetch -q "$root" HEAD
  git -C "$folder" checkout -q --force FETCH_HEAD
  printf '%s\n' "$folder"
}

count() { # of a word ('passed') in pytest's last line
  sed -nE 's/.*[^0-9]([0-9]+) '"$2"'.*/\1/p' <<<" $1"
}

row() { # a version and its log -> one row of the table
  local last ended
  last=$(grep -E '^(=+ )?.*[0-9]+ (passed|failed|error|skipped).* in [0-9.]+s' "$2" | tail -1)
  ended=$(grep -E '^== .*(passed|FAILED)' "$2" | tail -1)
  [ -n "$ended" ] || { printf '| %s | did not finish: see %s |\n' "$1" "$2"; return; }
  printf '| %s | %s | %s | %s | %s | %s |\n' "$1" "$(count "$last" passed || true)" "$(count "$last" failed)" \
    "$(count "$last" 'errors?')" "$(count "$last" skipped)" "${ended#== }"
}

rows=() reasons=() failed=0
for version in ${PYTHONS:-3.10 3.11 3.12 3.13}; do
  if ! python=$(interpreter "$version"); then
    rows+=("| $version | no such interpreter |")
    continue
  fi
  log=$matrix/$version.log
  echo "== Python $version ($python), log: $log"
  folder=$(clone_of "$version")
  started=$SECONDS
  env -u VENV PYTHON="$python" bash "$folder/tests/run.sh" "$@" >"$log" 2>&1 || failed=1
  rows+=("$(row "$version" "$log") $(((SECONDS - started) / 60)) |")
  reasons+=("$(grep -E '^SKIPPED' "$log" | sed "s/^/$version: /" || true)")
done
printf '\n| Python | passed | failed | errors | skipped | all checks | minutes |\n|---|---|---|---|---|---|---|\n'
printf '%s\n' "${rows[@]}"
printf '%s\n' "" "skipped:" "${reasons[@]}"
exit "$failed"
