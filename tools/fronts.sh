#!/bin/sh
# Installs Firefox and WebKitGTK with its driver for `make test-fronts`, with apt where that needs no password. Never
# fails: without them their tests are skipped, each by name.

missing=
command -v firefox-esr >/dev/null || command -v firefox >/dev/null || missing="firefox-esr"
command -v WebKitWebDriver >/dev/null || missing="$missing webkit2gtk-driver"
command -v xvfb-run >/dev/null || missing="$missing xvfb xauth"
[ -z "$missing" ] && exit 0

as_root=
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if command -v apt-get >/dev/null && { [ -z "$as_root" ] || sudo -n true 2>/dev/null; }; then
    echo "Installing $missing"
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "Install your system's packages $missing: the tests that need them will be skipped"
fi
exit 0
