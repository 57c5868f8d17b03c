#!/bin/sh
# Installs Foretell from this directory: ./install.sh [PREFIX]. The default prefix is /usr/local for root, else ~/.local.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -gt 0 ]; then
    prefix=$1
elif [ "$(id -u)" = 0 ]; then
    prefix=/usr/local
else
    prefix=$HOME/.local
fi
(cd "$here" && find bin include share -type f) | while read -r file; do
    mode=644
    case $file in bin/*) mode=755 ;; esac
    mkdir -p "$prefix/$(dirname "$file")"
    install -m "$mode" "$here/$file" "$prefix/$file"
done
echo "installed: $prefix/bin/foretell ($("$prefix/bin/foretell" --version))"
case :$PATH: in
*:"$prefix/bin":*) ;;
*) echo "note: $prefix/bin is not in PATH" ;;
esac
command -v gcc >/dev/null || command -v clang >/dev/null || echo "note: neither gcc nor clang was found; C and C++ programs need one"
