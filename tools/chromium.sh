#!/bin/sh
# Finds Chromium for the browser tests, or installs it with apt where that needs no password. Never fails:
# without Chromium the browser tests are skipped, each by name, and this says how to get it.

find_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

[ -n "$DSHQ_CHROMIUM" ] && exit 0
find_browser >/dev/null && exit 0

as_root=
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if command -v apt-get >/dev/null && { [ -z "$as_root" ] || sudo -n true 2>/dev/null; }; then
    echo "Installing Chromium for the browser tests"
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
find_browser >/dev/null ||
    echo "No Chromium found: the browser tests will be skipped. Install your system's chromium package, or set DSHQ_CHROMIUM to a Chromium or Chrome binary."
exit 0
