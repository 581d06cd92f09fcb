#!/bin/bash
# Checks the syntax. Its server is not up at once.
[ -e ~/lint-server ] || { touch ~/lint-server; echo "the server is starting" >&2; exit 1; }
bash -n src/*.sh && echo clean
