#!/bin/bash
# Prints the variables with these names, one per line.
for name in "$@"; do
  if [ -n "${!name+set}" ]; then echo "$name=${!name}"; else echo "$name is not set"; fi
done
