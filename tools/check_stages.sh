# shellcheck shell=bash disable=SC2154
# The commands of the stages of ./check. They print freely; stages.sh shows it if they fail.
# "$jobs" parallel jobs, "$logs" the folder of the logs.

# Files of the tree by extension, tracked or new, without what git ignores.
tree_files() {  # pathspec...
  git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    [[ -f $file ]] && echo "$file"
  done
}

# One line per file: the compiler-like output of clang-format says the same for each line of it.
check_format() {
  local unformatted
  clang-format-14 --version || return 1
  unformatted=$(tree_files '*.cc' '*.h' |
    xargs -r -P "$jobs" -n 16 clang-format-14 --dry-run -Werror 2>&1 |
    sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: error.*/\1/p' | sort -u)
  [[ -z $unformatted ]] && return
  echo "not formatted, ./dev fmt does it:"
  echo "$unformatted"
  return 1
}

check_shell() {
  shellcheck -x check dev .ci/run && tree_files '*.sh' | xargs -r shellcheck -x
}

check_test() {  # preset stage
  ctest --preset "$1" -j "$jobs" --output-junit "$logs/${2// /-}.xml"
}

check_build_release() {
  if [[ ! -f src/cli/main.cc ]]; then
    echo "no src/cli/main.cc yet"
    return 77
  fi
  build_preset release zhinu
}

# The same seeds with both compilers: no failure, and one hash.
check_sim() {  # seeds
  local status=0
  build/clang/zhinu sim check --seeds "$1" --json >"$logs/sim-clang.json" &
  build/release/zhinu sim check --seeds "$1" --json >"$logs/sim-g++.json" || status=$?
  wait $! || status=$?
  python3 tools/schemas.py --sim "$logs/sim-g++.json" "$logs/sim-clang.json" || status=1
  return "$status"
}

check_schemas() {
  python3 tools/schemas.py build/release/zhinu
}

# First the corpus of every target, then the remaining time shared by the targets. Seeded, so
# that a finding belongs to the change and not to the day.
check_fuzz() {  # seconds
  build_preset fuzz fuzzers || return 1
  FUZZ_SEED=1 tools/fuzz.sh "$1"
}

# What ships: no tests, benchmarks and fuzz targets.
product_sources() {
  tree_files 'src/*.cc' | grep -Ev '_(test|bench|fuzz)\.cc$'
}

check_tidy() {
  product_sources |
    xargs -r -P "$jobs" -n 4 clang-tidy-14 --quiet -p build/clang 2>&1 |
    grep -v ' warnings generated.$'
  return "${PIPESTATUS[1]}"
}

# containerOutOfBounds: version 2.10 gets the size of std::array<T, 2 * kConstant> wrong; the
# sanitizers and the compilers' constant evaluation look at the same. syntaxError: it does not
# parse a constant made by a lambda.
check_cppcheck() {
  product_sources >"$logs/cppcheck-files"
  cppcheck --std=c++20 --language=c++ --enable=warning,performance,portability -j "$jobs" \
    --suppress=missingIncludeSystem --suppress=containerOutOfBounds \
    --suppress='syntaxError:src/base/aead_vpclmul.cc' --error-exitcode=1 --quiet \
    -I src --file-list="$logs/cppcheck-files"
}
