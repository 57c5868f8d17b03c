#!/usr/bin/env bash
# Four connections to a web server at the same time, which ask for files: web_client.sh PORT PATH..
port=$1
shift
for path in "$@" "$@"; do
    (
        exec 3<>"/dev/tcp/127.0.0.1/$port"
        printf 'GET %s HTTP/1.0\r\n\r\n' "$path" >&3
        cat <&3 >/dev/null
    ) &
done
wait
