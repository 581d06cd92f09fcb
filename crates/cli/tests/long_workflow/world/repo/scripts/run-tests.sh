#!/bin/bash
# Runs the tests; says which ones fail.
. src/theme.sh
failed=0
for test in tests/*.sh; do
  . "$test" || { echo "FAILED: $test"; failed=1; }
done
[ $failed = 1 ] || echo "all tests passed"
exit $failed
