#!/bin/sh
# Succeeds when `node` (20 or newer, package.json says so) and `npm` are on PATH.
npm --version >/dev/null 2>&1 && node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null
