#!/usr/bin/env bash
# Runs the fuzz targets of the fuzz build: tools/fuzz.sh SECONDS [TARGET...]
# The seconds are shared by the targets. An input that crashes is left in build/fuzz/crashes/; put
# it into tests/fuzz/corpus/TARGET/ and every build replays it from then on.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

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

share=$((seconds / ${#targets[@]}))
((share > 0)) || share=1
mkdir -p build/fuzz/crashes
status=0
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target kept=tests/fuzz/corpus/$target
  mkdir -p "$corpus"
  folders=("$corpus")
  [[ -d $kept ]] && folders+=("$kept")
  echo "== $target, $share s"
  "build/fuzz/bin/${target}_fuzz" -max_total_time="$share" -timeout=10 -rss_limit_mb=2048 \
    -verbosity=0 -artifact_prefix="build/fuzz/crashes/$target-" \
    "${folders[@]}" || status=1
done
echo "note: ${#targets[@]} targets, $share s each"
exit "$status"
