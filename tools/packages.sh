# shellcheck shell=bash
# Debian packages: which are missing, and their installation. Sourced by ./check and ./dev.

# Prints the packages of the list files "$@" that are not installed.
packages_missing() {
  local package
  cat "$@" | while read -r package; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done
}

# Installs what is missing of the list files "$@". Returns 5 where that needs a privilege.
packages_install() {
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system, nothing is installed; needed are the equivalents of" >&2
    sort "$@" | tr '\n' ' ' >&2
    return 0
  fi
  local missing as_root=()
  mapfile -t missing < <(packages_missing "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    as_root=(sudo)
    if ! sudo -n true 2>/dev/null && ! { command -v sudo >/dev/null && [[ -t 0 ]]; }; then
      echo "neither root nor sudo here. Run this as root, then try again:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      return 5
    fi
  fi
  echo "installing ${#missing[@]} packages: ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
             apt-get -o DPkg::Lock::Timeout=900 -y -q)
  "${apt[@]}" install --no-install-recommends "${missing[@]}" ||
    { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; }
}
