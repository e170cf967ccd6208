#!/bin/sh
# Creates the certificates of the fault matrix again, with OpenSSL 3; silent unless it fails.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

selfSigned() { # files, subject, extension
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 \
    -keyout "$1.key" -out "$1.pem" -subj "/CN=$2" -addext "$3" 2>>"$work/log"
}

server() { # name, authority, subject, first day, last day
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout "$1.key" -out "$work/request.pem" -subj "/CN=$1" 2>>"$work/log"
  : > "$work/index"
  cat > "$work/config" <<CONFIG
[ca]
default_ca = it
[it]
new_certs_dir = $work
database = $work/index
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = server
[any]
commonName = supplied
[server]
subjectAltName = $3
extendedKeyUsage = serverAuth
CONFIG
  openssl ca -batch -notext -config "$work/config" -cert "$2.pem" -keyfile "$2.key" \
    -startdate "$4" -enddate "$5" -in "$work/request.pem" -out "$1.pem" 2>>"$work/log"
}

selfSigned authority 'Tollgate test authority' 'keyUsage=critical,keyCertSign'
selfSigned "$work/stranger" 'An authority nobody trusts' 'keyUsage=critical,keyCertSign'
selfSigned self-signed 127.0.0.1 'subjectAltName=IP:127.0.0.1'
server good authority IP:127.0.0.1 20260101000000Z 21260101000000Z
server expired authority IP:127.0.0.1 20010101000000Z 20011231000000Z
server wrong-host authority DNS:other.example 20260101000000Z 21260101000000Z
server unknown-authority "$work/stranger" IP:127.0.0.1 20260101000000Z 21260101000000Z
rm authority.key
