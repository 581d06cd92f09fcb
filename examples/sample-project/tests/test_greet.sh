. src/greet.sh
failed=0
expect() {
  if [ "$1" = "$2" ]; then echo "ok: $2"; else echo "FAILED: expected '$2', got '$1'"; failed=1; fi
}
expect "$(greet world)" "Hello, world!"
expect "$(greet "two words")" "Hello, two words!"
exit "$failed"
