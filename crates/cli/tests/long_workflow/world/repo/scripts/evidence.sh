#!/bin/bash
# Says what proves the cause. Three recipes deep, the values of the outer ones are still there.
echo "{\"cause\": \"$1\", \"issue\": \"${ISSUE_NUMBER-unset}\", \"kind\": \"${KIND-unset}\", \"branch\": \"$2\"}"
