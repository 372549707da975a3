# SPDX-License-Identifier: GPL-3.0-or-later
# For the commands of transcripts.

# watching N WATCH CHANGE: runs WATCH (a kubectl command), CHANGE as soon as it watches, and ends WATCH when it has printed
# N lines.
watching() {
	log=$(mktemp) out=$(mktemp)
	sh -c "exec $2 -v=6" >"$out" 2>"$log" &
	pid=$!
	until grep -qs 'watch=true' "$log" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
	sh -c "$3" >/dev/null
	n=0
	until [ "$(wc -l <"$out")" -ge "$1" ] || [ $n -ge 200 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	cat "$out"
	rm -f "$log" "$out"
}
