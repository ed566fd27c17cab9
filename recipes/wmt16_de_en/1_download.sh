#!/usr/bin/env bash
# Fetches the archives of files.tsv, or goes on where it was interrupted. With CORPUS= there is nothing to fetch.
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
download_step "$HERE/files.tsv"
