#!/bin/bash
# Sends an announcement. Sending it twice would be noticed.
set -eu
echo "$1 $2 with ${#DEPLOY_TOKEN} characters" >>~/announcements
stop-point announce
echo sent
