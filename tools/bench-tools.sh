#!/bin/sh
# Installs the programs that `just bench others` compares with, pinned, unless they are there already, and prints the
# directory they are in: PATH=$(tools/bench-tools.sh):$PATH. What cannot be had is named, and the others are installed.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$here/target/bench-tools}
mkdir -p "$dir/bin"
export PIP_ROOT_USER_ACTION=ignore

# PROGRAM PACKAGE VERSION: a wheel of PyPI that holds the binary itself; a wrapper in a scripting language would be measured too
from_pypi() {
    [ "$(cat "$dir/$2/version" 2>/dev/null)" = "$3" ] && return
    rm -rf "${dir:?}/$2"
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --target "$dir/$2" "$2==$3" >&2 ||
        { echo "warning: \`$1\` is not installed: pip cannot get $2 $3" >&2; return; }
    ln -sf "../$2/bin/$1" "$dir/bin/$1"
    echo "$3" >"$dir/$2/version"
}

# a system without `make`, where it cannot be installed for everybody: the package of Debian, unpacked
make_from_debian() {
    { command -v make || [ -x "$dir/bin/make" ]; } >/dev/null && return
    (mkdir -p "$dir/make" && cd "$dir/make" && apt-get download make && dpkg -x make_*.deb .) >&2 ||
        { echo "warning: \`make\` is not installed: apt-get cannot get it" >&2; return; }
    ln -sf ../make/usr/bin/make "$dir/bin/make"
}

from_pypi just rust-just 1.59.0
from_pypi task go-task-bin 3.54.0
make_from_debian
echo "$dir/bin"
