/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the outcome of a query to the bytes of its reply, and to the socket. */
#pragma once

#include <stdint.h>

struct query;
struct worker;

/* EDNS and failure rules; before `done` of the plugins and before encoding. */
void reply_complete(struct query *q);
/* Encodes q->resp and sends it, or nothing after V_DROP. UDP replies leave with reply_flush. */
void reply_send(struct query *q);
/* A reply without a parsed question: FORMERR, NOTIMP, SERVFAIL. */
void reply_bare(struct query *q, uint16_t rcode);
/* Sends the UDP replies that were collected. */
void reply_flush(struct worker *worker);
