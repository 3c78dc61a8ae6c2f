#!/bin/bash
# build.sh: builds the peers into build/peers; installs missing Debian packages.
set -euo pipefail

usage() {
  cat <<'END'
usage: bench/peers/build.sh [--no-install] [--force] [PEER...]

Builds the programs weft is compared with into build/peers, only what is
missing or older than its source. Packages that are missing are installed with
apt-get (needs root or sudo).

PEER: go tokio boost tbb erlang pthread loadgen (default: all)
  --no-install   say what is missing instead of installing it
  --force        build again what is already there
Exit code: 0 all built, 1 some failed (the others are still built), 2 bad usage.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/build/peers
all=(pthread go tokio boost tbb erlang loadgen)
install=yes force=no peers=()
for argument in "$@"; do
  case $argument in
    -h | --help) usage; exit 0 ;;
    --no-install) install=no ;;
    --force) force=yes ;;
    go | tokio | boost | tbb | erlang | pthread | loadgen) peers+=("$argument") ;;
    *) echo "build.sh: unknown argument '$argument' (see --help)" >&2; exit 2 ;;
  esac
done
[ ${#peers[@]} -gt 0 ] || peers=("${all[@]}")
mkdir -p "$out"

packages_of() {
  case $1 in
    go) echo golang-go ;;
    tokio)
      echo librust-tokio-dev librust-hyper-dev librust-flume-dev librust-libc-dev
      command -v cargo >/dev/null || echo cargo ;;
    boost) echo g++ libboost-dev libboost-fiber-dev ;;
    tbb) echo g++ libtbb-dev ;;
    erlang) echo erlang-base ;;
    pthread | loadgen) echo g++ ;;
  esac
}

updated=no
# Installs the packages of one peer if any is missing.
ensure_packages() {
  local package missing=() sudo=()
  for package in $(packages_of "$1"); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$install" = no ]; then
    echo "$1: packages missing: ${missing[*]}" >&2
    return 1
  fi
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  echo "$1: installing ${missing[*]}"
  if [ "$updated" = no ]; then
    "${sudo[@]}" apt-get update -qq || return 1
    updated=yes
  fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# True if the target exists and nothing in the given places is newer.
up_to_date() {
  local target=$1
  shift
  [ "$force" = no ] && [ -e "$target" ] && [ -z "$(find "$@" "$here/build.sh" -newer "$target" -print -quit)" ]
}

cxx() { g++ -O2 -DNDEBUG -march=native -std=c++20 -Wall -Wextra -pthread "$@"; }

build_go() {
  (cd "$here/go" && GOFLAGS='' GO111MODULE=on go build -buildvcs=false -o "$out/go_bench" .)
}
build_boost() { cxx "$here"/boost-fiber/*.cpp -o "$out/boost_bench" -lboost_fiber -lboost_context; }
build_tbb() { cxx "$here/tbb/bench.cpp" -o "$out/tbb_bench" -ltbb; }
build_pthread() { cxx "$here"/pthread/*.cpp -o "$out/pthread_bench"; }
build_loadgen() { cxx "$here/loadgen/tcp_load.cpp" -o "$out/tcp_load"; }
build_erlang() { erlc -o "$out" "$here/erlang/bench.erl"; }
# Debian's crate sources, wherever the package put them, replace the public
# ones; a copy is built because cargo writes a lock file beside its manifest.
build_tokio() {
  local crates source=$out/tokio-source
  crates=$(dirname "$(dirname "$(dpkg -L librust-tokio-dev | grep -m1 'Cargo.toml$')")")
  rm -rf "$source"
  cp -r "$here/tokio" "$source"
  (cd "$source" && cargo build -q --release --offline --target-dir "$out/cargo" \
    --config 'source.crates-io.replace-with="debian"' --config "source.debian.directory=\"$crates\"")
  cp "$out/cargo/release/tokio_bench" "$out/tokio_bench"
}

target_of() {
  case $1 in
    erlang) echo "$out/bench.beam" ;;
    loadgen) echo "$out/tcp_load" ;;
    *) echo "$out/$1_bench" ;;
  esac
}
sources_of() {
  case $1 in
    boost) echo boost-fiber common ;;
    tbb | pthread | loadgen) echo "$1" common ;;
    *) echo "$1" ;;
  esac
}

failed=()
for peer in "${peers[@]}"; do
  target=$(target_of "$peer")
  # shellcheck disable=SC2046  # one word per folder
  if (cd "$here" && up_to_date "$target" $(sources_of "$peer")); then
    continue
  fi
  if ! ensure_packages "$peer"; then
    failed+=("$peer")
    continue
  fi
  echo "$peer: building ${target#"$root"/}"
  # A subshell of its own: set -e is off inside a condition.
  set +e
  (set -e; "build_$peer")
  code=$?
  set -e
  [ $code -eq 0 ] || failed+=("$peer")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "build.sh: failed: ${failed[*]}" >&2
  exit 1
fi
