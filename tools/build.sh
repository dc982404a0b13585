# shellcheck shell=bash
# Configure and build one preset. Sourced by ./check and ./dev, which set "$jobs".

# build_preset PRESET [TARGET...]: builds all it can, and prints only what went wrong.
build_preset() {
  local preset=$1 log=build/$1.log
  shift
  mkdir -p build
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log"; return 1; }
  cmake --build --preset "$preset" -j "${jobs:?}" ${1:+--target "$@"} -- -k 0 >"$log" 2>&1 ||
    { build_errors <"$log"; return 1; }
}

# The compilers' messages of a log of ninja: no commands, and paths from the root of the tree.
build_errors() {
  grep -Ev '^\[[0-9]+/[0-9]+\]|^FAILED|^ninja: |^/usr/bin/(cmake|ccache|c\+\+|g\+\+|clang)|^: && ' |
    sed 's,\.\./\.\./,,g'
}
