/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters. Series are found by labels once; after that by a few comparisons in a list that hangs
 * on the zone of the rule. Lists only grow, so workers read them without a lock. */
#include "plugin/template/count.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "plugin/template/data.h"

struct template_count {
	struct template_count *next;
	const char *server; /* compared as a pointer: the listener's label in this generation */
	const struct template_record *rec; /* NULL: a match */
	enum template_failure what;
	uint32_t cls, type; /* NUMBERLESS: without a mnemonic */
	struct metrics_series *series;
	struct metrics_series *ours; /* replies, those of caches included */
	uint16_t tally;		     /* the number of that one */
};

enum { NUMBERLESS = 1 << 16 };

static const struct metrics_family matches_family = {
	.name = "coredns_template_matches_total",
	.help = "Counter of template regex matches.",
	.kind = METRICS_COUNTER,
	.labels = { "server", "zone", "view", "class", "type" },
};
static const struct metrics_family failure_families[] = {
	[TEMPLATE_FAILED] = {
		.name = "coredns_template_template_failures_total",
		.help = "Counter of go template failures.",
		.kind = METRICS_COUNTER,
		.labels = { "server", "zone", "view", "class", "type", "section", "template" },
	},
	[TEMPLATE_BAD_RECORD] = {
		.name = "coredns_template_rr_failures_total",
		.help = "Counter of mis-templated RRs.",
		.kind = METRICS_COUNTER,
		.labels = { "server", "zone", "view", "class", "type", "section", "template" },
	},
};
static const struct metrics_family answers_family = {
	.name = "fairlead_dns_template_answers_total",
	.help = "Counter of replies made by a template, those sent again from a cache included.",
	.kind = METRICS_COUNTER,
	.labels = { "server", "zone", "view", "class", "type" },
};
static const struct metrics_family errors_family = {
	.name = "fairlead_dns_template_errors_total",
	.help = "Counter of SERVFAIL replies because a template failed, those sent again from a "
		"cache included.",
	.kind = METRICS_COUNTER,
	.labels = { "server", "zone", "view", "class", "type" },
};

static struct template_count *find_count(struct template_count *count,
					 const struct template_count *want)
{
	while (count != NULL && (count->type != want->type || count->cls != want->cls ||
				 count->server != want->server || count->rec != want->rec ||
				 count->what != want->what))
		count = count->next;
	return count;
}

static void get_series(const struct template_run *run, struct template_count *want)
{
	static const char *const sections[] = { [DNS_ANSWER] = "answer",
						[DNS_AUTHORITY] = "authority",
						[DNS_ADDITIONAL] = "additional" };
	/* Both texts come from static tables (or are ""), so they are terminated. */
	const char *values[] = {
		want->server,
		run->zone->text,
		query_view_label(run->q),
		template_class_text(run).p,
		template_type_text(run).p,
		want->rec != NULL ? sections[want->rec->section] : NULL,
		want->rec != NULL ? want->rec->text : NULL,
	};
	bool failed = want->rec != NULL;
	want->series =
		metrics_get(failed ? &failure_families[want->what] : &matches_family, values);
	want->ours = metrics_get(failed ? &errors_family : &answers_family, values);
	want->tally = metrics_number(want->ours);
}

/* Two workers may add the same labels at once: both then count into the same series. */
static NOINLINE struct template_count *add_count(_Atomic(struct template_count *) *head,
						 const struct template_run *run,
						 struct template_count *want)
{
	if (template_class_text(run).n == 0)
		want->cls = NUMBERLESS;
	if (template_type_text(run).n == 0)
		want->type = NUMBERLESS;
	struct template_count *c =
		find_count(atomic_load_explicit(head, memory_order_acquire), want);
	if (c != NULL)
		return c;
	c = xmemdup(want, sizeof(*want));
	get_series(run, c);
	c->next = atomic_load_explicit(head, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(head, &c->next, c, memory_order_release,
						      memory_order_relaxed)) {
	}
	return c;
}

static const struct template_count *count_for(_Atomic(struct template_count *) *head,
					      const struct template_run *run,
					      const struct template_record *rec,
					      enum template_failure what)
{
	struct template_count want = {
		.server = query_server_label(run->q),
		.rec = rec,
		.what = what,
		.cls = template_class(run),
		.type = template_type(run),
	};
	struct template_count *c =
		find_count(atomic_load_explicit(head, memory_order_acquire), &want);
	if (UNLIKELY(c == NULL))
		c = add_count(head, run, &want);
	metrics_add(c->series, query_slot(run->q), 1);
	return c;
}

static void count_reply(struct query *q, const struct template_count *count)
{
	metrics_add(count->ours, query_slot(q), 1);
	q->tally = count->tally;
}

void template_count_match(struct template_run *run)
{
	run->count = count_for(&run->zone->matches, run, NULL, TEMPLATE_FAILED);
}

void template_count_answer(const struct template_run *run)
{
	count_reply(run->q, run->count);
}

void template_count_failure(const struct template_run *run, const struct template_record *rec,
			    enum template_failure what)
{
	count_reply(run->q, count_for(&run->zone->failures, run, rec, what));
}

static void free_list(struct template_count *count)
{
	while (count != NULL) {
		struct template_count *next = count->next;
		free(count);
		count = next;
	}
}

void template_count_done(struct template_zone *zone)
{
	free_list(atomic_load(&zone->matches));
	free_list(atomic_load(&zone->failures));
}
