#!/bin/sh
# Git's hook `post-checkout` and `post-merge`: notebooks below a folder `lessons` are for reading.
# Work is saved elsewhere, so the next pull finds nothing to merge.
case "$PWD" in
*/lessons) find . -name '*.ipynb' -type f -exec chmod a-w {} + ;;
esac
