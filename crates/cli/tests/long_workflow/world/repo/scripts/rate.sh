#!/bin/bash
# Rates a security review for the issue.
echo "{\"value\": 7, \"issue\": \"${ISSUE_NUMBER-unset}\", \"subject\": \"${SUBJECT-unset}\", \"exposure\": \"${EXPOSURE-unset}\"}"
