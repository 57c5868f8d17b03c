#!/usr/bin/env bash
# A client of memcached, with three connections at the same time: memcached_client.sh PORT
set -e
exec 3<>"/dev/tcp/127.0.0.1/$1" 4<>"/dev/tcp/127.0.0.1/$1" 5<>"/dev/tcp/127.0.0.1/$1"
for round in 1 2 3; do
    for connection in 3 4 5; do
        printf 'set key%s 0 0 1\r\n%s\r\nincr key%s 1\r\nget key1 key2\r\ndelete key2\r\nstats\r\n' \
            "$round" "$round" "$round" >&$connection
    done
    for connection in 3 4 5; do
        while read -r line <&$connection; do
            case $line in
            *STAT\ evictions*) break ;;
            esac
        done
    done
done
for connection in 3 4 5; do printf 'quit\r\n' >&$connection; done
