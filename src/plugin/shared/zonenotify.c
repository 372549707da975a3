/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends NOTIFY messages (RFC 1996) to the listed servers, one after the other, on a thread of its
 * own. */
#include "plugin/shared/zonenotify.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "dns/message.h"
#include "resolve/blocking_query.h"
#include "resolve/types.h"

enum { TRIES = 3, RCODE_BITS = 15 };
static const uint64_t wait_ns = 2 * NS_PER_S;

struct sending {
	uint8_t zone[DNS_NAME_MAX];
	char *zone_text;
	const char *area;
	union net_addr source;
	size_t n_to;
	union net_addr to[];
};

/* RFC 1996 §4.5: the question is the zone's SOA, with AA set. The id is given when it is sent. */
static size_t make_notify(const uint8_t *zone, uint8_t out[DNS_QUERY_MAX])
{
	return dns_message_query(out, 0, DNS_OPCODE_NOTIFY << 11 | DNS_FLAG_AA, zone, DNS_TYPE_SOA);
}

/* `silent`: a failure is not logged. */
static bool notify_server(const struct sending *sending, const union net_addr *to, bool silent)
{
	struct resolve_conf conf = { .addr = *to, .source = sending->source };
	uint8_t msg[DNS_QUERY_MAX], reply[512];
	char why[64] = "", text[NET_ADDR_TEXT_MAX];
	size_t n = make_notify(sending->zone, msg);
	for (int i = 0; i < TRIES; i++) {
		int r = resolve_query_blocking(&conf, msg, (uint16_t)n, wait_ns, reply,
					       sizeof(reply));
		if (r < 0) {
			snprintf(why, sizeof(why), "%s", err_str(r));
			continue;
		}
		if ((dns_get16(reply + 2) & RCODE_BITS) == DNS_RCODE_NOERROR)
			return true;
		snprintf(why, sizeof(why), "rcode %d", dns_get16(reply + 2) & RCODE_BITS);
	}
	if (silent)
		return false;
	net_addr_str(to, text);
	log_warn(sending->area, "notify for zone \"%s\" was not accepted by \"%s\": %s",
		 sending->zone_text, text, why);
	return false;
}

static struct sending *new_sending(const struct zonenotify *notify)
{
	struct sending *s = xcalloc(1, sizeof(*s) + notify->n_to * sizeof(s->to[0]));
	memcpy(s->zone, notify->zone, dns_name_len(notify->zone));
	s->zone_text = xstrdup(notify->zone_text);
	s->area = notify->area;
	s->source = notify->source;
	s->n_to = notify->n_to;
	memcpy(s->to, notify->to, notify->n_to * sizeof(s->to[0]));
	return s;
}

static void free_sending(struct sending *sending)
{
	free(sending->zone_text);
	free(sending);
}

static int start_detached(void *(*fn)(void *arg), void *arg, const struct sending *sending)
{
	pthread_attr_t attr;
	pthread_t thread;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	int r = pthread_create(&thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	if (r != 0)
		log_warn(sending->area, "notify for zone \"%s\" was not sent: no thread for it",
			 sending->zone_text);
	return -r;
}

static void *run_sending(void *arg)
{
	struct sending *s = arg;
	for (size_t i = 0; i < s->n_to; i++)
		notify_server(s, &s->to[i], false);
	free_sending(s);
	return NULL;
}

void zonenotify_send(const struct zonenotify *notify)
{
	if (notify->n_to == 0)
		return;
	struct sending *s = new_sending(notify);
	if (start_detached(run_sending, s, s) < 0)
		free_sending(s);
}

/* ---- rounds ---- */

enum round_state { ROUND_NONE, ROUND_RUNS, ROUND_AGAIN };

struct zonenotify_rounds {
	atomic_uint refs; /* the owner's, and that of a round */
	_Atomic enum round_state state;
	struct sending *sending;
	bool *fails; /* each: its last message was not accepted; of the round */
};

static void unref_rounds(struct zonenotify_rounds *rounds)
{
	if (atomic_fetch_sub(&rounds->refs, 1) != 1)
		return;
	free_sending(rounds->sending);
	free(rounds->fails);
	free(rounds);
}

struct zonenotify_rounds *zonenotify_rounds_new(const struct zonenotify *notify)
{
	struct zonenotify_rounds *r = xcalloc(1, sizeof(*r));
	atomic_store(&r->refs, 1);
	r->sending = new_sending(notify);
	r->fails = xcalloc(notify->n_to + 1, sizeof(*r->fails));
	return r;
}

void zonenotify_rounds_free(struct zonenotify_rounds *rounds)
{
	if (rounds != NULL)
		unref_rounds(rounds);
}

static void *run_rounds(void *arg)
{
	struct zonenotify_rounds *r = arg;
	enum round_state was;
	do {
		atomic_store(&r->state, ROUND_RUNS);
		for (size_t i = 0; i < r->sending->n_to; i++)
			r->fails[i] = !notify_server(r->sending, &r->sending->to[i], r->fails[i]);
		was = ROUND_RUNS;
	} while (!atomic_compare_exchange_strong(&r->state, &was, ROUND_NONE));
	unref_rounds(r);
	return NULL;
}

void zonenotify_rounds_send(struct zonenotify_rounds *rounds)
{
	if (atomic_exchange(&rounds->state, ROUND_AGAIN) != ROUND_NONE)
		return;
	atomic_fetch_add(&rounds->refs, 1);
	if (start_detached(run_rounds, rounds, rounds->sending) < 0) {
		atomic_store(&rounds->state, ROUND_NONE);
		unref_rounds(rounds);
	}
}
