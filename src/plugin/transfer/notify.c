/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends NOTIFY messages (RFC 1996) to the listed servers, one after the other, on a thread of its
 * own. */
#include "plugin/transfer/notify.h"

#include <pthread.h>
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

#define AREA "plugin/transfer"

enum { TRIES = 3, RCODE_BITS = 15 };
static const uint64_t wait_ns = 2 * NS_PER_S;

struct sending {
	uint8_t zone[DNS_NAME_MAX];
	char *zone_text;
	union net_addr source;
	size_t n_to;
	union net_addr to[];
};

/* RFC 1996 §4.5: the question is the zone's SOA, with AA set. The id is given when it is sent. */
static size_t make_notify(const uint8_t *zone, uint8_t out[DNS_QUERY_MAX])
{
	return dns_message_query(out, 0, DNS_OPCODE_NOTIFY << 11 | DNS_FLAG_AA, zone, DNS_TYPE_SOA);
}

static void notify_server(const struct sending *sending, const union net_addr *to)
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
			return;
		snprintf(why, sizeof(why), "rcode %d", dns_get16(reply + 2) & RCODE_BITS);
	}
	net_addr_str(to, text);
	log_warn(AREA, "notify for zone \"%s\" was not accepted by \"%s\": %s", sending->zone_text,
		 text, why);
}

static void *run_sending(void *arg)
{
	struct sending *s = arg;
	for (size_t i = 0; i < s->n_to; i++)
		notify_server(s, &s->to[i]);
	free(s->zone_text);
	free(s);
	return NULL;
}

void transfer_notify(const struct transfer_notify *notify)
{
	pthread_attr_t attr;
	pthread_t thread;
	if (notify->n_to == 0)
		return;
	struct sending *s = xcalloc(1, sizeof(*s) + notify->n_to * sizeof(s->to[0]));
	memcpy(s->zone, notify->zone, dns_name_len(notify->zone));
	s->zone_text = xstrdup(notify->zone_text);
	s->source = notify->source;
	s->n_to = notify->n_to;
	memcpy(s->to, notify->to, notify->n_to * sizeof(s->to[0]));
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, run_sending, s) != 0) {
		log_warn(AREA, "notify for zone \"%s\" was not sent: no thread for it",
			 s->zone_text);
		free(s->zone_text);
		free(s);
	}
	pthread_attr_destroy(&attr);
}
