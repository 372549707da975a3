/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Server-side apply for tests: does the writes that lines of JSON on standard input say, and
 * answers each with a line of JSON.
 *
 *   {"kind":{...},"step":{...},"live":{...}|null}	see src/api/apply/test_replay.h */
#include <stdio.h>
#include <stdlib.h>

#include "api/apply/test_replay.h"

int main(void)
{
	CLEANUP(freep) char *line = NULL;
	size_t cap = 0;
	while (getline(&line, &cap, stdin) > 0) {
		json_error_t e;
		json_t *cmd = json_loads(line, 0, &e);
		if (cmd == NULL) {
			fprintf(stderr, "kube-applier: %s\n", e.text);
			return 1;
		}
		const json_t *live = json_object_get(cmd, "live");
		json_t *answer =
			replay_step(json_object_get(cmd, "kind"), json_object_get(cmd, "step"),
				    json_is_object(live) ? live : NULL);
		json_dumpf(answer, stdout, JSON_COMPACT);
		putchar('\n');
		fflush(stdout);
		json_decref(answer);
		json_decref(cmd);
	}
	return 0;
}
