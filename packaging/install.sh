#!/bin/sh
# Installs the program `lockgate` for this user. It needs no root, checks what it fetched, and says how to undo it.
#
#   sh install.sh [--version VERSION] [--from ADDRESS_OR_FOLDER] [--to FOLDER]
#
# --version   a release such as 0.2.0 [default: the newest]
# --from      where the archive and SHA256SUMS are: an https address or a folder [default: the releases of the project]
# --to        the folder of the program [default: ~/.local/bin]
#
# Exit 0: installed, 1: not installed, and nothing was changed, 2: a wrong option.
set -eu

RELEASES=https://github.com/lockgate/lockgate/releases

say() { printf '%s\n' "$*"; }
fail() {
  printf 'error: %s\nnothing was changed\n' "$*" >&2
  exit 1
}
wrong() {
  printf 'error: %s; try sh install.sh --help\n' "$*" >&2
  exit 2
}
has() { command -v "$1" >/dev/null 2>&1; }

help() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

main() {
  version='' from='' to=''
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --from | --to)
        [ $# -gt 1 ] && [ -n "$2" ] || wrong "$1 needs a value"
        case $1 in
          --version) version=${2#v} ;;
          --from) from=${2%/} ;;
          --to) to=${2%/} ;;
        esac
        shift 2
        ;;
      -h | --help)
        help
        exit 0
        ;;
      *) wrong "there is no option \`$1\`" ;;
    esac
  done
  if [ -z "$to" ]; then
    [ -n "${HOME:-}" ] || fail 'the home folder is not known; say --to FOLDER'
    to=$HOME/.local/bin
  fi
  if [ -z "$from" ]; then
    if [ -n "$version" ]; then from=$RELEASES/download/v$version; else from=$RELEASES/latest/download; fi
  fi

  archive=lockgate-$(target).tar.gz
  scratch=$(mktemp -d) || fail 'no temporary folder can be made'
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM
  fetch "$from" SHA256SUMS "$scratch"
  fetch "$from" "$archive" "$scratch"
  check "$scratch" "$archive"
  tar -xzf "$scratch/$archive" -C "$scratch" lockgate || fail "$archive cannot be unpacked"
  found=$("$scratch/lockgate" --version) || fail "the program of $archive does not run on this machine"
  if [ -n "$version" ]; then
    case $found in
      "lockgate $version" | "lockgate $version "*) ;;
      *) fail "$archive holds $found, not version $version" ;;
    esac
  fi
  put "$scratch/lockgate" "$to"
  say "installed $found as $to/lockgate"
  case :${PATH:-}: in
    *":$to:"*) say 'next: lockgate init' ;;
    *) say "next: add $to to PATH, such as with: export PATH=\"$to:\$PATH\"; then: lockgate init" ;;
  esac
  say "to undo it: lockgate uninstall (takes its hooks out of agents), then rm $to/lockgate"
}

# The archive for this machine.
target() {
  system=$(uname -s) machine=$(uname -m)
  case $machine in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no program for the processor $machine; cargo install --locked --path crates/cli builds one" ;;
  esac
  case $system in
    Linux) say "$machine-unknown-linux-musl" ;;
    Darwin) say "$machine-apple-darwin" ;;
    *) fail "there is no archive for $system; on Windows, use the zip file of the release" ;;
  esac
}

# Takes the origin, the file and the folder to put it into.
fetch() {
  case $1 in
    https://* | http://127.0.0.1:* | http://localhost:*)
      if has curl; then
        curl --fail --silent --show-error --location --proto '=https,http' --max-time 300 --output "$3/$2" "$1/$2" ||
          fail "$1/$2 could not be fetched"
      elif has wget; then
        wget --quiet --timeout=60 --output-document="$3/$2" "$1/$2" || fail "$1/$2 could not be fetched"
      else
        fail 'there is neither curl nor wget here'
      fi
      ;;
    *://*) fail "only https is trusted: $1" ;;
    *)
      [ -f "$1/$2" ] || fail "there is no $1/$2"
      cp "$1/$2" "$3/$2" || fail "$1/$2 cannot be read"
      ;;
  esac
}

# Takes the folder and the archive in it.
check() {
  wanted=$(awk -v name="$2" '$2 == name || $2 == "*" name { print $1 }' "$1/SHA256SUMS")
  [ -n "$wanted" ] || fail "SHA256SUMS does not name $2"
  if has sha256sum; then
    is=$(sha256sum "$1/$2")
  elif has shasum; then
    is=$(shasum -a 256 "$1/$2")
  elif has openssl; then
    is=$(openssl dgst -sha256 -r "$1/$2")
  else
    fail 'there is nothing here to check the archive with: sha256sum, shasum or openssl'
  fi
  [ "${is%% *}" = "$wanted" ] || fail "$2 is not the file that SHA256SUMS names; it was changed or is not whole"
}

# Takes the program and the folder. A hook that runs meanwhile finds the old program or the new one, never half of one.
put() {
  mkdir -p "$2" 2>/dev/null || fail "the folder $2 cannot be made; say --to FOLDER"
  draft=$2/.lockgate.$$
  if ! { cp "$1" "$draft" && chmod 755 "$draft" && mv -f "$draft" "$2/lockgate"; } 2>/dev/null; then
    rm -f "$draft" 2>/dev/null || :
    fail "$2/lockgate cannot be written; say --to FOLDER"
  fi
}

# Behind a function: a script that arrives only in part does nothing.
main "$@"
