#!/usr/bin/env bash
# Runs the fuzz targets of the fuzz build: tools/fuzz.sh SECONDS [TARGET...]
# The targets share the seconds and the cores. An input that crashes is left in
# build/fuzz/crashes/; put it into tests/fuzz/corpus/TARGET/ and every build replays it.
# FUZZ_SEED makes a run from a clean build/fuzz repeat itself; without it each run is another.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

# One target: its kept corpus first, then new inputs. The log goes to build/fuzz/TARGET.log.
# shellcheck disable=SC2317  # xargs calls it
fuzz_target() {  # target seconds
  local found=build/fuzz/corpus/$1 kept=tests/fuzz/corpus/$1
  mkdir -p "$found" build/fuzz/crashes
  local folders=("$found")
  [[ -d $kept ]] && folders+=("$kept")
  # A machine that is lent out may stand still for seconds: that is no endless loop.
  # Without the other options, half of the time goes into statistics of rare features (entropic),
  # fresh memory each time (quarantine) and stacks of allocations, which a crash has when run again.
  ASAN_OPTIONS=quarantine_size_mb=8:malloc_context_size=0:${ASAN_OPTIONS:-} \
    "build/fuzz/bin/$1_fuzz" -seed="${FUZZ_SEED:-0}" -max_total_time="$2" -timeout=60 \
    -rss_limit_mb=2048 -verbosity=0 -entropic=0 \
    -artifact_prefix="build/fuzz/crashes/$1-" "${folders[@]}" >"build/fuzz/$1.log" 2>&1
}
export -f fuzz_target

seconds=${1:?usage: tools/fuzz.sh SECONDS [TARGET...]}
shift
targets=("$@")
if ((${#targets[@]} == 0)); then
  for program in build/fuzz/bin/*_fuzz; do
    [[ -x $program ]] && targets+=("$(basename "${program%_fuzz}")")
  done
fi
if ((${#targets[@]} == 0)); then
  echo "no fuzz targets yet"
  exit 77
fi

parallel=$(nproc)
((parallel > ${#targets[@]})) && parallel=${#targets[@]}
share=$((seconds * parallel / ${#targets[@]}))
((share > 0)) || share=1
status=0
printf '%s\n' "${targets[@]}" |
  xargs -P "$parallel" -I TARGET bash -c 'fuzz_target TARGET '"$share" || status=1
for target in "${targets[@]}"; do
  echo "== $target"
  # What was found, with the input as text; not what coverage suggests as a dictionary.
  grep -vE '^(INFO|\s+NEW_FUNC)|# Uses:|^#####' "build/fuzz/$target.log"
done
echo "note: ${#targets[@]} targets, $share s each"
exit "$status"
