#!/usr/bin/env bash
# Builds the documentation as a site in site/ (or the folder given); a broken link is an error.
#   bash docs/build.sh [FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || command -v python3)}
if ! "$python" -c 'import material' 2>/dev/null; then
  echo "docs/build.sh: error: mkdocs-material is missing: $python -m pip install 'mkdocs-material>=9.5'" >&2
  exit 2
fi
export NO_MKDOCS_2_WARNING=1
PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} "$python" -m mkdocs build --strict ${1:+--site-dir "$(realpath -m "$1")"}
echo "${1:-site}/index.html"
