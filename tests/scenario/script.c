/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cutting a scenario file into steps. */
#include "script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { SCRIPT_MAX_BYTES = 1 << 20 };

#define MARK   SLICE("--- ")
#define REMARK SLICE("##")

static int read_file(const char *path, struct strbuf *out)
{
	char buf[8192];
	size_t n;
	FILE *f = fopen(path, "re");
	if (f == NULL) {
		fprintf(stderr, "cannot read '%s': %s\n", path, strerror(errno));
		return -errno;
	}
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0 && out->n < SCRIPT_MAX_BYTES)
		strbuf_add(out, buf, n);
	fclose(f);
	return 0;
}

static char *text_of(struct slice s)
{
	return xstrndup(s.p != NULL ? s.p : "", s.n);
}

static struct script_step start_step(struct slice line, unsigned number)
{
	struct slice rest = slice_from(line, MARK.n);
	struct slice verb = slice_cut(&rest, ' ');
	return (struct script_step){ .line = number,
				     .verb = text_of(slice_trim(verb)),
				     .args = text_of(slice_trim(rest)) };
}

static void end_step(struct script_step *s, struct strbuf *body)
{
	while (body->n >= 2 && body->s[body->n - 1] == '\n' && body->s[body->n - 2] == '\n')
		body->s[--body->n] = '\0';
	if (body->n == 1 && body->s[0] == '\n')
		body->n = 0;
	s->body = text_of(strbuf_slice(body));
	strbuf_reset(body);
}

int script_read(const char *path, struct script *ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
	VEC(struct script_step) steps = { 0 };
	int r = read_file(path, &text);
	if (r < 0)
		return r;
	struct slice rest = strbuf_slice(&text);
	for (unsigned number = 1; rest.n > 0; number++) {
		struct slice line = slice_cut(&rest, '\n');
		if (slice_starts(line, MARK)) {
			if (steps.n > 0)
				end_step(&steps.v[steps.n - 1], &body);
			vec_push(&steps, start_step(line, number));
		} else if (steps.n > 0 && !slice_starts(line, REMARK)) {
			strbuf_add_slice(&body, line);
			strbuf_addc(&body, '\n');
		}
	}
	if (steps.n == 0) {
		fprintf(stderr, "%s:1: no step (`--- corefile`) in it\n", path);
		return ERR_PARSE;
	}
	end_step(&steps.v[steps.n - 1], &body);
	*ret = (struct script){ .path = path, .step = steps.v, .n = steps.n };
	return 0;
}

void script_done(struct script *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->step[i].verb);
		free(s->step[i].args);
		free(s->step[i].body);
	}
	free(s->step);
}
