#!/usr/bin/env bash
# The C and C++ compiler for Bazel: the user's, with what recording needs.
#
#   bazel test --repo_env=CC=$PWD/tools/foretell/foretell_cc.sh --spawn_strategy=local \
#     --run_under=//tools/foretell:run //..
#
# Bazel compiles and links C++ with the program that CC names, too, so files and the libraries tell which it is.
# FORETELL: the program (foretell).
set -euo pipefail

language=cc
for word in "$@"; do
  case $word in
    *.cc | *.cpp | *.cxx | *.C | *.c++ | -lstdc++ | -std=c++* | -std=gnu++* | -xc++ | c++) language=c++ ;;
    @*) if grep --quiet --extended-regexp '(^|/)-?(lstdc\+\+|std=(c|gnu)\+\+.*)$' "${word#@}"; then language=c++; fi ;;
  esac
done
exec "${FORETELL:-foretell}" "$language" "$@"
