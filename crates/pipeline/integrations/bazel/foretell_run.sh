#!/usr/bin/env bash
# Hunts in a test that Bazel runs: `bazel test --run_under=//tools/foretell:run //..`.
#
# Bazel starts this with the test's command. The test fails if Foretell finds something. Reports are among the test's
# undeclared outputs: bazel-testlogs/<target>/test.outputs.
#
# FORETELL: the program (foretell). FORETELL_HUNT: more options for `foretell hunt`.
set -euo pipefail

if [ "$#" -eq 0 ]; then
  echo "usage: $0 TEST [ARGUMENTS..]" >&2
  exit 2
fi
outputs=${TEST_UNDECLARED_OUTPUTS_DIR:-${TEST_TMPDIR:-/tmp}}
# Bazel kills a test whose time is up, and then there is no report: the hunt gets two thirds of it.
timeout=$(( ${TEST_TIMEOUT:-90} * 2 / 3 ))
options=(--results "$outputs/foretell" --timeout "$timeout")
# The file in which Bazel expects cases, if it does.
[ -z "${XML_OUTPUT_FILE:-}" ] || options+=(--junit "$XML_OUTPUT_FILE")
# shellcheck disable=SC2086
"${FORETELL:-foretell}" hunt "${options[@]}" ${FORETELL_HUNT:-} -- "$@" || status=$?
case ${status:-0} in
  # Nothing found, but the time was up.
  3) exit 0 ;;
  *) exit "${status:-0}" ;;
esac
