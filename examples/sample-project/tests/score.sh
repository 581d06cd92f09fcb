# Prints how many cases pass, and which do not.
. src/greet.sh
passed=0 total=0
try() {
  total=$((total + 1))
  if [ "$1" = "$2" ]; then passed=$((passed + 1)); else echo "case $total: expected '$2', got '$1'"; fi
}
try "$(greet world)" "Hello, world!"
try "$(echo quiet | upper)" "QUIET"
try "$(greet world | upper)" "HELLO, WORLD!"
echo "score $passed/$total"
