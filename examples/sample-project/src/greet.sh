# Greets somebody.
greet() { printf 'Hello, %s!\n' "$1"; }
# Turns stdin into capitals, some day.
upper() { cat; }
