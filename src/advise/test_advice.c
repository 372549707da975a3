/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Advice. PD-M4: pods with random search lists look random names up in random zones, model clients of
 * this file write the log, and the same pods with the advised ndots get the same answers from the
 * same zones. The models here are others than those of the product. Then single cases. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advise/advice.h"
#include "advise/replay.h"
#include "advise/report.h"
#include "base/hash.h"
#include "base/rng_test.h"
#include "base/strbuf.h"

#define ZONE "cluster.local"

/* ---- zones ---- */

enum kind { NONE, BOTH, ONLY_A, ONLY_AAAA, EMPTY, FAILS, HALF_FAILS, REFUSED };

struct world {
	uint64_t seed;
	unsigned none_percent; /* of names in the cluster */
	bool is_harsh;	       /* has names that fail */
};

/* The kind of a name follows from the seed. */
static enum kind kind_of(const struct world *world, const char *name)
{
	struct hash_key key = { world->seed, 1 };
	uint64_t hash = hash_bytes(&key, name, strlen(name));
	struct slice text = slice_of(name);
	bool is_inside = slice_ends(text, SLICE("." ZONE)) || slice_ends(text, SLICE("corp.test"));
	if (hash % 100 < (is_inside ? world->none_percent : 30))
		return NONE;
	hash /= 100;
	if (!world->is_harsh)
		return (enum kind)(BOTH + hash % 3);
	return (enum kind)(BOTH + hash % 7);
}

static enum advise_outcome outcome_of(const struct world *world, const char *name,
				      enum advise_type type)
{
	bool is_a = type == ADVISE_TYPE_A;
	switch (kind_of(world, name)) {
	case NONE:
		return ADVISE_NXDOMAIN;
	case BOTH:
		return ADVISE_DATA;
	case ONLY_A:
		return is_a ? ADVISE_DATA : ADVISE_NODATA;
	case ONLY_AAAA:
		return is_a ? ADVISE_NODATA : ADVISE_DATA;
	case EMPTY:
		return ADVISE_NODATA;
	case FAILS:
		return ADVISE_SERVFAIL;
	case HALF_FAILS:
		return is_a ? ADVISE_DATA : ADVISE_SERVFAIL;
	case REFUSED:
		return ADVISE_OTHER;
	}
	abort();
}

/* ---- model clients ---- */

struct pod {
	const char *ns;
	char address[16];
	bool is_musl;
	unsigned ndots;
	char list[6][64];
	size_t n_list;
};

struct lookup {
	const struct pod *pod;
	char base[64];
	bool has_final_dot;
	unsigned types; /* 1: A, 2: AAAA, 3: both */
	size_t first_line;
};

struct log {
	struct strbuf lines[4096];
	size_t n;
	bool has_answers, has_namespaces;
};

struct session {
	const struct world *world;
	const struct pod *pod;
	unsigned types;
	struct log *log; /* NULL: no lines */
	char end[400];	 /* how the look-up ended, and where */
	bool no_data, again;
};

static void write_line(struct session *session, const char *name, enum advise_type type)
{
	static const char *const rcodes[] = { [ADVISE_DATA] = "NOERROR",
					      [ADVISE_NODATA] = "NOERROR",
					      [ADVISE_NXDOMAIN] = "NXDOMAIN",
					      [ADVISE_SERVFAIL] = "SERVFAIL",
					      [ADVISE_OTHER] = "REFUSED" };
	struct log *log = session->log;
	if (log == NULL)
		return;
	assert_true(log->n < sizeof(log->lines) / sizeof(log->lines[0]));
	enum advise_outcome outcome = outcome_of(session->world, name, type);
	struct strbuf *out = &log->lines[log->n++];
	strbuf_reset(out);
	strbuf_addf(out, "[INFO] %s:4711 - 21 \"%s IN %s. udp 40 false 512\" %s qr,rd 300 0.00012s",
		    session->pod->address, type == ADVISE_TYPE_A ? "A" : "AAAA", name,
		    rcodes[outcome]);
	if (log->has_answers)
		strbuf_addf(out, " answer=%s",
			    outcome == ADVISE_NODATA ? "NODATA" : rcodes[outcome]);
	if (log->has_namespaces)
		strbuf_addf(out, " namespace=%s", session->pod->ns);
}

enum step { STEP_STOP, STEP_NEXT };

/* Asks for one name; whether the search goes on. */
static enum step ask_name(struct session *session, const char *name)
{
	unsigned seen[2] = { 0 };
	bool has_data = false;
	for (unsigned i = 0; i < 2; i++) {
		if ((session->types & 1U << i) == 0)
			continue;
		enum advise_type type = i == 0 ? ADVISE_TYPE_A : ADVISE_TYPE_AAAA;
		write_line(session, name, type);
		seen[i] = outcome_of(session->world, name, type);
		has_data |= seen[i] == ADVISE_DATA;
	}
	unsigned all = seen[0] | seen[1];
	bool is_failure = (all & ADVISE_SERVFAIL) != 0;
	if (all == ADVISE_OTHER) {
		snprintf(session->end, sizeof(session->end), "refused");
		return STEP_STOP;
	}
	if (session->pod->is_musl && is_failure) {
		snprintf(session->end, sizeof(session->end), "again");
		return STEP_STOP;
	}
	if (has_data) {
		snprintf(session->end, sizeof(session->end), "found %s%s", name,
			 is_failure ? " half" : "");
		return STEP_STOP;
	}
	session->no_data |= all == ADVISE_NODATA;
	session->again |= is_failure;
	snprintf(session->end, sizeof(session->end), "%s",
		 is_failure		? "again"
		 : all == ADVISE_NODATA ? "no data"
					: "no name");
	return session->pod->is_musl && all != ADVISE_NXDOMAIN ? STEP_STOP : STEP_NEXT;
}

static enum step ask_domains(struct session *session, const char *base)
{
	for (size_t i = 0; i < session->pod->n_list; i++) {
		char name[300];
		snprintf(name, sizeof(name), "%s.%s", base, session->pod->list[i]);
		if (ask_name(session, name) == STEP_STOP)
			return STEP_STOP;
	}
	return STEP_NEXT;
}

static void look_up_musl(struct session *session, const char *base, bool is_bare)
{
	if (is_bare || ask_domains(session, base) == STEP_NEXT)
		ask_name(session, base);
}

static void look_up_glibc(struct session *session, const char *base, bool is_bare, bool is_only)
{
	char first[400] = "";
	if (is_bare) {
		if (ask_name(session, base) == STEP_STOP || is_only)
			return;
		snprintf(first, sizeof(first), "%s", session->end);
	}
	session->no_data = session->again = false;
	if (ask_domains(session, base) == STEP_STOP)
		return;
	bool no_data = session->no_data, again = session->again;
	if (!is_bare && ask_name(session, base) == STEP_STOP)
		return;
	if (is_bare)
		snprintf(session->end, sizeof(session->end), "%s", first);
	else if (no_data || again)
		snprintf(session->end, sizeof(session->end), "%s", no_data ? "no data" : "again");
}

/* How a look-up ends with an ndots; the lines go to the log, unless that is NULL. */
static void look_up(const struct world *world, const struct lookup *lookup, unsigned ndots,
		    struct log *log, char end[400])
{
	struct session session = {
		.world = world, .pod = lookup->pod, .types = lookup->types, .log = log
	};
	unsigned dots = 0;
	for (const char *p = lookup->base; *p != '\0'; p++)
		dots += *p == '.';
	bool is_bare = lookup->has_final_dot || dots >= ndots;
	if (lookup->pod->is_musl)
		look_up_musl(&session, lookup->base, is_bare);
	else
		look_up_glibc(&session, lookup->base, is_bare, lookup->has_final_dot);
	memcpy(end, session.end, sizeof(session.end));
}

/* ---- random cases ---- */

struct play {
	struct world world;
	struct pod pods[6];
	size_t n_pods;
	struct lookup lookups[60];
	size_t n_lookups;
	size_t first_line, last_line; /* of the log, that are read */
	unsigned ndots;		      /* that the adviser assumes */
	unsigned ns_ndots[3];	      /* what the namespaces have; less where the log names them */
	unsigned libcs;
	bool final_dots, tells_searches, has_namespaces;
	char searches[3][64];
	size_t n_searches;
};

static bool draw(struct rng *rng, unsigned percent)
{
	return rng_below(rng, 100) < percent;
}

/* Few labels, some of which are namespaces and parts of domains, so that names can be misread. */
static const char *draw_label(struct rng *rng)
{
	static const char *const labels[] = { "a", "b", "c", "shop", "x", "org", "svc", "corp" };
	return labels[rng_below(rng, ARRAY_LEN(labels))];
}

static void draw_searches(struct rng *rng, struct play *play)
{
	static const char *const domains[] = { "corp.test", "lab.corp.test", "x.svc.cluster.local",
					       "org" };
	play->n_searches = rng_below(rng, 3);
	size_t first = rng_below(rng, ARRAY_LEN(domains));
	for (size_t i = 0; i < play->n_searches; i++)
		snprintf(play->searches[i], sizeof(play->searches[i]), "%s",
			 domains[(first + i) % ARRAY_LEN(domains)]);
}

static void draw_pod(struct rng *rng, struct play *play, struct pod *pod)
{
	static const char *const namespaces[] = { "shop", "x", "lab" };
	size_t ns = rng_below(rng, ARRAY_LEN(namespaces));
	*pod = (struct pod){ .ns = namespaces[ns],
			     .is_musl = (play->libcs & 1U << ADVISE_GLIBC) == 0 ||
					((play->libcs & 1U << ADVISE_MUSL) != 0 && draw(rng, 50)),
			     .ndots = play->ns_ndots[ns] };
	/* Addresses are used again, also by pods of other namespaces. */
	snprintf(pod->address, sizeof(pod->address), "10.0.0.%u", rng_below(rng, 8));
	snprintf(pod->list[0], sizeof(pod->list[0]), "%s.svc." ZONE, pod->ns);
	snprintf(pod->list[1], sizeof(pod->list[1]), "svc." ZONE);
	snprintf(pod->list[2], sizeof(pod->list[2]), ZONE);
	pod->n_list = 3;
	/* Not all nodes have all domains. */
	bool is_odd = !play->tells_searches && draw(rng, 20);
	for (size_t i = 0; i < play->n_searches; i++) {
		if (!(is_odd && draw(rng, 50)) && strcmp(play->searches[i], pod->list[0]) != 0)
			memcpy(pod->list[pod->n_list++], play->searches[i], sizeof(pod->list[0]));
	}
}

static void draw_lookup(struct rng *rng, const struct play *play, struct lookup *lookup)
{
	static const unsigned types[] = { 3, 3, 3, 3, 1, 2 };
	*lookup = (struct lookup){ .pod = &play->pods[rng_below(rng, (uint32_t)play->n_pods)],
				   .has_final_dot = draw(rng, 8),
				   .types = types[rng_below(rng, ARRAY_LEN(types))] };
	unsigned labels = 1 + rng_below(rng, 4);
	size_t len = 0;
	for (unsigned i = 0; i < labels; i++)
		len += (size_t)snprintf(lookup->base + len, sizeof(lookup->base) - len, "%s%s",
					i > 0 ? "." : "", draw_label(rng));
	/* The same names by other pods, and with a dot. */
	const struct lookup *other = &play->lookups[rng_below(rng, (uint32_t)play->n_lookups)];
	if (draw(rng, 30) && other < lookup) {
		memcpy(lookup->base, other->base, sizeof(lookup->base));
		return;
	}
	if (draw(rng, 5)) /* a whole name of the cluster */
		snprintf(lookup->base + len, sizeof(lookup->base) - len, ".shop.svc." ZONE);
}

static void draw_play(struct rng *rng, struct play *play)
{
	static const unsigned libcs[] = { 3, 3, 1U << ADVISE_GLIBC, 1U << ADVISE_MUSL };
	play->world = (struct world){ .seed = rng_u64(rng),
				      .none_percent = 70 + rng_below(rng, 30),
				      .is_harsh = draw(rng, 40) };
	play->ndots = draw(rng, 80) ? 5 : 1 + rng_below(rng, 6);
	play->libcs = libcs[rng_below(rng, ARRAY_LEN(libcs))];
	play->final_dots = draw(rng, 50);
	play->tells_searches = draw(rng, 30);
	play->has_namespaces = draw(rng, 30);
	for (size_t i = 0; i < ARRAY_LEN(play->ns_ndots); i++)
		play->ns_ndots[i] = play->has_namespaces && !play->final_dots && draw(rng, 30)
					    ? 1 + rng_below(rng, play->ndots)
					    : play->ndots;
	draw_searches(rng, play);
	play->n_pods = 1 + rng_below(rng, 6);
	for (size_t i = 0; i < play->n_pods; i++)
		draw_pod(rng, play, &play->pods[i]);
	play->n_lookups = 1 + rng_below(rng, draw(rng, 50) ? 12 : 60);
	for (size_t i = 0; i < play->n_lookups; i++)
		draw_lookup(rng, play, &play->lookups[i]);
}

static void write_log(struct rng *rng, struct play *play, struct log *log)
{
	char end[400];
	log->n = 0;
	log->has_answers = draw(rng, 50);
	log->has_namespaces = play->has_namespaces;
	for (size_t i = 0; i < play->n_lookups; i++) {
		play->lookups[i].first_line = log->n;
		look_up(&play->world, &play->lookups[i], play->lookups[i].pod->ndots, log, end);
	}
	play->first_line = draw(rng, 20) ? rng_below(rng, (uint32_t)log->n) : 0;
	play->last_line = log->n - (draw(rng, 20) ? rng_below(rng, (uint32_t)log->n) : 0);
}

static void read_log(const struct play *play, const struct log *log, struct advise_trace *trace)
{
	CLEANUP(strbuf_done) struct strbuf scratch = STRBUF_INIT;
	for (size_t i = play->first_line; i < play->last_line; i++) {
		struct advise_line line;
		assert_int_equal(advise_line_parse(strbuf_slice(&log->lines[i]), &scratch, &line),
				 0);
		advise_trace_add(trace, &line);
	}
}

static struct advise_options options_of(const struct play *play)
{
	struct advise_options options = { .zone = SLICE(ZONE),
					  .ndots = play->ndots,
					  .libcs = play->libcs,
					  .has_final_dots = play->final_dots,
					  .has_searches = play->tells_searches };
	for (size_t i = 0; play->tells_searches && i < play->n_searches; i++)
		options.searches.domain[options.searches.n++] = slice_of(play->searches[i]);
	return options;
}

static void fail_play(const struct play *play, const struct log *log, const struct lookup *lookup,
		      const char *before, const char *after)
{
	for (size_t i = play->first_line; i < play->last_line; i++)
		fprintf(stderr, "%s\n", log->lines[i].s);
	fail_msg("%s pod of %s at %s, list of %zu, ndots %u: '%s'%s ended with '%s', now '%s'",
		 lookup->pod->is_musl ? "musl" : "glibc", lookup->pod->ns, lookup->pod->address,
		 lookup->pod->n_list, lookup->pod->ndots, lookup->base,
		 lookup->has_final_dot ? " with a dot" : "", before, after);
}

/* Whether no look-up of the log ends otherwise with the advised ndots. */
static void check_answers(const struct play *play, const struct log *log,
			  const struct advise_advice *advice)
{
	for (size_t i = 0; i < play->n_lookups; i++) {
		const struct lookup *lookup = &play->lookups[i];
		const struct advise_namespace *ns =
			map_get(&advice->by_name, slice_of(lookup->pod->ns));
		char before[400], after[400];
		if (ns == NULL || ns->verdict != ADVISE_LOWER ||
		    lookup->first_line < play->first_line || lookup->first_line >= play->last_line)
			continue;
		look_up(&play->world, lookup, lookup->pod->ndots, NULL, before);
		look_up(&play->world, lookup, ns->ndots, NULL, after);
		/* With a wrong ndots the adviser may turn one failure into another. */
		bool is_told = lookup->pod->ndots == play->ndots;
		bool is_found = strncmp(before, "found", 5) == 0 || strncmp(after, "found", 5) == 0;
		if (strcmp(before, after) != 0 && (is_told || is_found))
			fail_play(play, log, lookup, before, after);
	}
}

static size_t check_replays(const struct advise_advice *advice)
{
	size_t lowered = 0;
	for (size_t i = 0; i < advice->namespaces.n; i++) {
		const struct advise_namespace *ns = advice->namespaces.v[i];
		lowered += ns->verdict == ADVISE_LOWER;
		for (unsigned libc = 0; ns->verdict == ADVISE_LOWER && libc < ADVISE_LIBCS;
		     libc++) {
			struct advise_replay replay;
			if ((advice->options.libcs & 1U << libc) == 0)
				continue;
			advise_replay(advice, ns, (enum advise_libc)libc, &replay);
			assert_int_equal(replay.changed + replay.unproven, 0);
			assert_true(replay.after <= replay.before);
		}
		if (ns->verdict == ADVISE_LOWER)
			assert_true(ns->saved > 0 && ns->ndots < advice->options.ndots);
		else
			assert_non_null(ns->why);
	}
	assert_true(advise_report_is_proven(advice));
	return lowered;
}

static size_t run_play(uint64_t seed, struct play *play, struct log *log)
{
	struct rng rng;
	struct advise_trace trace;
	struct advise_advice advice;
	rng_init_seed(&rng, seed);
	draw_play(&rng, play);
	write_log(&rng, play, log);
	struct advise_options options = options_of(play);
	advise_trace_init(&trace);
	read_log(play, log, &trace);
	advise_advice_init(&advice, &trace, &options);
	check_answers(play, log, &advice);
	size_t lowered = check_replays(&advice);
	advise_advice_done(&advice);
	advise_trace_done(&trace);
	return lowered;
}

static void no_answer_changes(void **state)
{
	(void)state;
	enum { PLAYS = 20000 };
	struct play *play = xcalloc(1, sizeof(*play));
	struct log *log = xcalloc(1, sizeof(*log));
	const char *more = getenv("FAIRLEAD_PLAYS");
	size_t plays = more != NULL ? strtoul(more, NULL, 10) : PLAYS, lowered = 0;
	for (size_t i = 0; i < sizeof(log->lines) / sizeof(log->lines[0]); i++)
		strbuf_init(&log->lines[i]);
	for (size_t i = 0; i < plays; i++)
		lowered += run_play(i, play, log);
	print_message("%zu namespaces with advice in %zu plays\n", lowered, plays);
	/* An adviser that says nothing is sound, too. */
	assert_true(lowered > plays / 10);
	for (size_t i = 0; i < sizeof(log->lines) / sizeof(log->lines[0]); i++)
		strbuf_done(&log->lines[i]);
	free(log);
	free(play);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_answer_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
