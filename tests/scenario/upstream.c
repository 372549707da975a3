/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving the upstreams of a scenario. Sockets are testing/fake_upstream.h's, replies are put
 * together here, because a script says more than that header's replies can. */
#include "upstream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/duration.h"
#include "base/vec.h"
#include "base/err_text.h"
#include "message.h"
#include "testing/fake_upstream.h"
#include "rules.h"

enum { ADDRESS_MAX = 64 };

/* How often a name and type was asked for. */
struct tally {
	char *key;
	unsigned n;
};

struct one {
	char *name;
	char address[ADDRESS_MAX];
	struct fakeup *sockets;
	struct rules *rules;
	VEC(struct tally) tally;
	struct strbuf asked, checks;
	bool stopped;
};

/* A reply that is put together and waits. */
struct waiting {
	size_t upstream;
	unsigned question; /* fakeup_pick */
	uint64_t due_ns;
	uint8_t *bytes;
	size_t n;
	bool close;
};

struct upstreams {
	VEC(struct one) one;
	VEC(struct waiting) waiting;
	struct message *message;
	struct strbuf problem;
	bool told;
};

struct upstreams *upstreams_new(void)
{
	struct upstreams *u = xcalloc(1, sizeof(*u));
	strbuf_init(&u->problem);
	u->message = message_new();
	return u;
}

void upstreams_free(struct upstreams *u)
{
	for (size_t i = 0; i < u->one.n; i++) {
		struct one *o = &u->one.v[i];
		for (size_t k = 0; k < o->tally.n; k++)
			free(o->tally.v[k].key);
		vec_done(&o->tally);
		strbuf_done(&o->asked);
		strbuf_done(&o->checks);
		rules_free(o->rules);
		fakeup_free(o->sockets);
		free(o->name);
	}
	for (size_t i = 0; i < u->waiting.n; i++)
		free(u->waiting.v[i].bytes);
	vec_done(&u->waiting);
	vec_done(&u->one);
	strbuf_done(&u->problem);
	message_free(u->message);
	free(u);
}

static struct one *find(const struct upstreams *u, struct slice name)
{
	for (size_t i = 0; i < u->one.n; i++) {
		if (slice_is(name, u->one.v[i].name))
			return &u->one.v[i];
	}
	return NULL;
}

bool upstreams_set(struct upstreams *u, const char *name, const char *script, struct err_text why)
{
	struct rules *rules = rules_parse(script, why);
	struct one *o = find(u, slice_of(name));
	if (rules == NULL)
		return false;
	if (o == NULL) {
		o = vec_add(&u->one);
		o->name = xstrdup(name);
		o->sockets = fakeup_new();
		strbuf_init(&o->asked);
		strbuf_init(&o->checks);
		snprintf(o->address, sizeof(o->address), "127.0.0.1:%u", fakeup_port(o->sockets));
	}
	rules_free(o->rules);
	o->rules = rules;
	return true;
}

bool upstreams_stop(struct upstreams *u, const char *name)
{
	struct one *o = find(u, slice_of(name));
	if (o == NULL)
		return false;
	fakeup_stop_udp(o->sockets);
	fakeup_stop_tcp(o->sockets);
	o->stopped = true;
	return true;
}

const char *upstreams_address(const struct upstreams *u, struct slice name)
{
	const struct one *o = find(u, name);
	return o != NULL ? o->address : NULL;
}

/* ---- questions ---- */

static unsigned count(struct one *o, const struct rules_query *q)
{
	char key[sizeof(q->name) + sizeof(q->type) + 1];
	snprintf(key, sizeof(key), "%s %s", q->name, q->type);
	for (char *c = key; *c != '\0'; c++)
		*c = ascii_lower(*c);
	for (size_t i = 0; i < o->tally.n; i++) {
		if (strcmp(o->tally.v[i].key, key) == 0)
			return ++o->tally.v[i].n;
	}
	vec_push(&o->tally, (struct tally){ .key = xstrdup(key), .n = 1 });
	return 1;
}

static void record(struct one *o, const struct rules_query *q)
{
	bool check = strcmp(q->name, ".") == 0 && strcmp(q->type, "NS") == 0;
	struct strbuf *out = check ? &o->checks : &o->asked;
	static const char *const names[] = { "qr", "aa", "tc", "rd", "ra", "z", "ad", "cd" };
	strbuf_addf(out, "%s %s %s %s", q->tcp ? "tcp" : "udp", q->name, q->cls, q->type);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if ((q->flags & rules_flag(slice_of(names[i]))) != 0)
			strbuf_addf(out, " %s", names[i]);
	}
	if (q->edns)
		strbuf_addf(out, " edns %u%s", q->udp_size, q->dnssec_ok ? " do" : "");
	strbuf_addc(out, '\n');
}

static void problem(struct upstreams *u, const struct one *o, const char *text)
{
	strbuf_addf(&u->problem, "upstream %s: %s\n", o->name, text);
}

/* Puts the replies together; they leave in upstreams_serve, when they are due. */
static void answer(struct upstreams *u, struct one *o, const struct rules_query *q, uint64_t now_ns)
{
	size_t n;
	const struct rules_reply *r = rules_find(o->rules, q, &n);
	for (size_t i = 0; i < n; i++) {
		const struct rules_reply *reply = &r[i];
		const char *delay = rules_get(reply, "delay");
		int64_t wait_ns = 0;
		if (delay != NULL && duration_parse(slice_of(delay), &wait_ns) < 0)
			problem(u, o, "a delay that is no duration");
		struct waiting w = { .upstream = (size_t)(o - u->one.v),
				     .question = fakeup_taken(o->sockets) - 1,
				     .due_ns = now_ns + (uint64_t)wait_ns,
				     .close = rules_get(reply, "close") != NULL };
		if (!w.close && rules_get(reply, "drop") == NULL)
			w.bytes = message_build(u->message, reply, q, &w.n);
		if (message_error(u->message) != NULL)
			problem(u, o, message_error(u->message));
		if (w.close || w.bytes != NULL)
			vec_push(&u->waiting, w);
	}
}

static bool take(struct upstreams *u, struct one *o, uint64_t now_ns)
{
	bool any = false;
	const char *text;
	while (!o->stopped && (text = fakeup_next(o->sockets)) != NULL) {
		struct rules_query q;
		size_t n;
		const uint8_t *msg = fakeup_query(o->sockets, &n);
		any = true;
		if (!rules_read_query(msg, n, strncmp(text, "tcp", 3) == 0, &q)) {
			problem(u, o, "a query that cannot be read");
			continue;
		}
		q.nth = count(o, &q);
		record(o, &q);
		answer(u, o, &q, now_ns);
	}
	return any;
}

/* ---- replies ---- */

static void deliver(struct upstreams *u, struct waiting *w)
{
	struct one *o = &u->one.v[w->upstream];
	if (!o->stopped) {
		fakeup_pick(o->sockets, w->question);
		if (w->close)
			fakeup_hang_up(o->sockets, false);
		else
			fakeup_raw(o->sockets, w->bytes, w->n, false);
	}
	free(w->bytes);
}

bool upstreams_serve(struct upstreams *u, uint64_t now_ns)
{
	bool any = false;
	for (size_t i = 0; i < u->one.n; i++)
		any = take(u, &u->one.v[i], now_ns) || any;
	size_t kept = 0;
	for (size_t i = 0; i < u->waiting.n; i++) {
		struct waiting w = u->waiting.v[i];
		if (w.due_ns > now_ns) {
			u->waiting.v[kept++] = w;
			continue;
		}
		deliver(u, &w);
		any = true;
	}
	u->waiting.n = kept;
	return any;
}

uint64_t upstreams_due(const struct upstreams *u)
{
	uint64_t due_ns = UINT64_MAX;
	for (size_t i = 0; i < u->waiting.n; i++)
		due_ns = MIN(due_ns, u->waiting.v[i].due_ns);
	return due_ns;
}

const char *upstreams_problem(struct upstreams *u)
{
	if (u->told) {
		strbuf_reset(&u->problem);
		u->told = false;
	}
	u->told = u->problem.n > 0;
	return u->told ? u->problem.s : NULL;
}

bool upstreams_asked(struct upstreams *u, const char *name, bool checks, struct strbuf *out)
{
	struct one *o = find(u, slice_of(name));
	if (o == NULL)
		return false;
	strbuf_adds(out, o->asked.s);
	strbuf_reset(&o->asked);
	if (checks) {
		strbuf_adds(out, o->checks.s);
		strbuf_reset(&o->checks);
	}
	return true;
}
