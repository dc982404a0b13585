# shellcheck shell=bash
# The table of ./check: runs one stage after the other, keeps its output in a log, counts tests.
#
# A stage is a command. What it prints goes to $logs/<stage>.log and is shown only if it fails.
# A stage that leaves $logs/<stage>.xml (JUnit) counts as the tests in it, any other as one test.
# Exit 77 is "skipped", the log's last line says why.

stages_begin() {  # logs-folder title
  logs=$1
  rm -rf "$logs"
  mkdir -p "$logs"
  declare -gA stage_result=()
  total_passed=0 total_failed=0 total_skipped=0
  bold='' green='' red='' yellow='' dim='' reset=''
  if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' yellow=$'\e[33m' dim=$'\e[2m' reset=$'\e[0m'
  fi
  printf '%s%s%s\n\n' "$bold" "$2" "$reset"
  printf '%s  %-16s %-6s %9s   %s%s\n' "$dim" stage result time tests "$reset"
}

# stage NAME "stages it needs" COMMAND...
stage() {
  local name=$1 needs=$2 need log began=$EPOCHREALTIME status=0 counts note=''
  shift 2
  log=$logs/${name// /-}
  for need in $needs; do
    if [[ ${stage_result[${need//_/ }]:-} != ok ]]; then
      stage_row "$name" skip 0 "needs ${need//_/ }"
      ((++total_skipped))
      return
    fi
  done
  [[ -t 1 ]] && printf '  %-16s %srunning%s\r' "$name" "$dim" "$reset"
  "$@" >"$log.log" 2>&1 </dev/null || status=$?
  local took=$((10#${EPOCHREALTIME/./} - 10#${began/./}))
  if [[ -f $log.xml ]]; then
    counts=$(python3 tools/junit.py "$log.xml" "$log.log" "$status" "$log.failed") || counts='0 1 0'
  else
    case $status in 0) counts='1 0 0' ;; 77) counts='0 0 1' ;; *) counts='0 1 0' ;; esac
    [[ $status == 77 ]] && note=$(tail -n 1 "$log.log")
    cp "$log.log" "$log.failed"
  fi
  local passed failed skipped
  read -r passed failed skipped <<<"$counts"
  ((total_passed += passed, total_failed += failed, total_skipped += skipped))
  [[ -f $log.xml ]] && note="$passed passed" && ((failed)) && note+=", $failed failed"
  [[ -f $log.xml ]] && ((skipped)) && note+=", $skipped skipped"
  if ((failed)); then
    stage_row "$name" FAIL "$took" "$note"
    tail -n 120 "$log.failed" | sed 's/^/      /'
  elif ((passed == 0)) && [[ $status == 77 ]]; then
    stage_row "$name" skip "$took" "$note"
  else
    stage_row "$name" ok "$took" "${note:-$(stage_note "$log.log")}"
  fi
}

# A stage may end its log with "note: ..." for the last column.
stage_note() {
  tail -n 1 "$1" | sed -n 's/^note: //p'
}

stage_row() {  # name result microseconds note
  local colour=$green
  [[ $2 == FAIL ]] && colour=$red
  [[ $2 == skip ]] && colour=$yellow
  stage_result[$1]=$2
  printf '  %-16s %s%-6s%s %7d.%d s%s\n' "$1" "$colour" "$2" "$reset" \
    $(($3 / 1000000)) $(($3 / 100000 % 10)) "${4:+   $4}"
}

# The last line, and the exit status.
stages_end() {
  local now=$EPOCHREALTIME
  printf '\n%s  logs: %s, %d s in all%s\n' "$dim" "$logs" \
    $(((10#${now/./} - 10#${stages_began/./}) / 1000000)) "$reset"
  echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
  ((total_failed == 0))
}
stages_began=$EPOCHREALTIME
