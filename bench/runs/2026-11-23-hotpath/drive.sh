#!/bin/sh
# Drives the stories' handlers of a program of bench/gauge, and keeps what it says of them:
#   sh drive.sh PROGRAM PLACE
# PROGRAM is `handlers` built with --features copies, hotpath, hotpath-alloc or hotpath-cpu.
set -eu
program=$1 place=$2 port=8180 admin=8181 theirs=8182
mkdir -p "$place"
HOTPATH_METRICS_PORT=$theirs HOTPATH_LIMIT=0 "$program" --port $port --admin-port $admin > "$place/report.txt" &
process=$!
trap 'kill $process 2> /dev/null || true' EXIT
sleep 1
at=http://127.0.0.1:$port
for path in read fast; do
    wrk -t1 -c200 -d8s --timeout 30s $at/$path | grep Requests/sec | sed "s|^|/$path |"
    # before and after others have taken the same lock
    curl -sf http://127.0.0.1:$theirs/mutexes | python3 -m json.tool > "$place/mutexes-after-$path.json" 2> /dev/null ||
        rm "$place/mutexes-after-$path.json"
done > "$place/wrk.txt"
for path in cpualloc cpu flights flights/shown; do
    wrk -t1 -c2 -d4s --timeout 30s $at/$path | grep Requests/sec | sed "s|^|/$path |"
done >> "$place/wrk.txt"
body=$(mktemp)
head -c 50000000 /dev/zero > "$body"
for path in upload upload/once; do
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do curl -sSf -o /dev/null --data-binary @"$body" $at/$path; done
done
rm "$body"
sleep 1
if curl -sf -o /dev/null http://127.0.0.1:$admin/findings; then
    curl -sSf http://127.0.0.1:$admin/findings | python3 -m json.tool > "$place/findings.json"
    sample() { curl -sSf "http://127.0.0.1:$admin/flame?route=$2&of=$1&as=folded$3" | python3 "$(dirname "$0")/tops.py" > "$place/flame-$1-$4.txt"; }
    sample allocated GET%20/cpualloc "" cpualloc
    sample allocated GET%20/flights "" flights
    sample copied POST%20/upload "" upload
    wrk -t1 -c2 -d4s $at/cpualloc > /dev/null & driver=$!
    sample cpu GET%20/cpualloc "&seconds=3" cpualloc
    wait $driver
    wrk -t1 -c50 -d4s $at/read > /dev/null & driver=$!
    sample waits GET%20/read "&seconds=3" read
    wait $driver
else
    for what in server functions_timing functions_alloc futures threads tokio_runtime; do
        curl -sf http://127.0.0.1:$theirs/$what | python3 -m json.tool > "$place/$what.json" || rm "$place/$what.json"
    done
fi
kill $process
wait $process || true
