#!/bin/sh
# A private authority, and certificates that it has signed: one for each rank.
#
# Usage: sh certificates.sh RANKS FOLDER
set -eu
ranks=$1
mkdir -p "$2"
cd "$2"
umask 077 # what is made here can be read by its owner only

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
  -subj "/CN=authority of the group" -keyout ca.key -out ca.pem

rank=0
while [ "$rank" -lt "$ranks" ]; do
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -subj "/CN=rank $rank" -keyout "rank-$rank.key" -out "rank-$rank.csr"
  openssl x509 -req -in "rank-$rank.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 \
    -out "rank-$rank.pem"
  rm "rank-$rank.csr"
  rank=$((rank + 1))
done
