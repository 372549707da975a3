/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rig of tests of forward: the plugin in its chain, three scripted upstreams on loopback, and a
 * clock that tests move. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "dns/request.h"
#include "dns/test_names.h"
#include "testing/fake_server.h"
#include "testing/fake_upstream.h"

enum { UPS = 3 };

struct env {
	struct fakeup *up[UPS];
	struct fake *f;
	unsigned probes[UPS];	/* health checks seen */
	unsigned probe_at[UPS]; /* number of the last one among all questions */
	unsigned last[UPS];	/* number of the last question that was none */
};

static inline int start(void **state)
{
	struct env *e = calloc(1, sizeof(*e));
	for (int i = 0; i < UPS; i++)
		e->up[i] = fakeup_new();
	*state = e;
	return 0;
}

static inline int stop(void **state)
{
	struct env *e = *state;
	fake_free(e->f);
	for (int i = 0; i < UPS; i++)
		fakeup_free(e->up[i]);
	free(e);
	return 0;
}

/* A Corefile in which @0, @1, @2 stand for the upstreams. */
static inline const char *corefile(const struct env *e, const char *text)
{
	static char out[4096];
	size_t n = 0;
	for (; *text != '\0'; text++) {
		if (*text != '@') {
			out[n++] = *text;
			continue;
		}
		text++;
		n += (size_t)snprintf(out + n, sizeof(out) - n, "127.0.0.1:%u",
				      fakeup_port(e->up[*text - '0']));
	}
	out[n] = '\0';
	return out;
}

static inline void serve(struct env *e, const char *text)
{
	e->f = fake_new(corefile(e, text));
	if (e->f == NULL)
		fail_msg("%s", fake_error());
}

static inline void ask(struct env *e, const char *name)
{
	fake_send(e->f, &(struct fake_ask){ .name = name });
}

/* The loop's turns until what was sent on loopback has been handled. */
static inline void settle(struct env *e)
{
	for (int i = 0; i < 4; i++)
		fake_advance(e->f, 0);
}

static inline const char *reply(struct env *e)
{
	settle(e);
	const char *text = fake_next(e->f);
	return text != NULL ? text : "(none)";
}

static inline void seconds(struct env *e, double s)
{
	fake_advance(e->f, (uint64_t)(s * 1e9));
	settle(e);
}

/* The next question that is no health check. */
static inline const char *question(struct env *e, int i)
{
	const char *q;
	while ((q = fakeup_next(e->up[i])) != NULL && strcmp(q + 4, ". IN NS") == 0) {
		e->probe_at[i] = fakeup_taken(e->up[i]) - 1;
		e->probes[i]++;
	}
	if (q != NULL)
		e->last[i] = fakeup_taken(e->up[i]) - 1;
	return q;
}

static inline void answer(struct env *e, int i)
{
	fakeup_pick(e->up[i], e->last[i]);
	fakeup_answer(e->up[i], "");
}

/* Which upstream has a question; -1: none. */
static inline int asked(struct env *e, const char *want)
{
	for (int i = 0; i < UPS; i++) {
		const char *q = question(e, i);
		if (q != NULL) {
			assert_string_equal(q, want);
			return i;
		}
	}
	return -1;
}

#define A_ORG "udp a.example.org. IN A"

#define T(fn) cmocka_unit_test_setup_teardown(fn, start, stop)
