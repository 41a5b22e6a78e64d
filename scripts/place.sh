# Where fika is published and under which names, in this one place; other scripts read it.
# It is published nowhere yet, so what names a place is empty: whoever publishes it sets
# that here or in the environment. docs/INSTALL.md says what each is for.
BASE_URL=${BASE_URL:-}   # folder of the archives, SHA256SUMS and SHA256SUMS.sig: https://…
HOMEPAGE=${HOMEPAGE:-}   # for the packages; without one they name none
MAINTAINER=${MAINTAINER:-whoever built this <root@localhost>} # of the packages
NPM_NAME=${NPM_NAME:-fika} # of the npm package; those with the binaries are NAME-linux-x64 …
SIGN_KEY=${SIGN_KEY:-}   # file of the private SSH key that signs SHA256SUMS; without one nothing is signed
