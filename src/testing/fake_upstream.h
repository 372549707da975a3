/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scripted upstream for tests: UDP and TCP on one loopback port, driven by the test's own thread.
 * Loopback delivers while the sender is still in its system call, so nothing has to wait: turn the
 * loop, look what was asked, answer, turn the loop again.
 *
 *	struct fakeup *u = fakeup_new();
 *	... forward . 127.0.0.1:PORT (fakeup_port) ...
 *	fake_send(f, &(struct fake_ask){ .name = "a.example" });
 *	assert_string_equal(fakeup_next(u), "udp a.example. IN A");
 *	fakeup_answer(u, "a.example. 60 IN A 192.0.2.1");
 *	fake_advance(f, 0);	(the loop's turn)
 *	fake_next(f) ... */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/addr.h"

struct fakeup;

/* On 127.0.0.1 and a free port, aborts when there is none. */
struct fakeup *fakeup_new(void);
void fakeup_free(struct fakeup *fakeup); /* NULL is fine */
const union net_addr *fakeup_addr(const struct fakeup *fakeup);
uint16_t fakeup_port(const struct fakeup *fakeup);

/* Takes the next question that arrived, UDP first: "udp NAME CLASS TYPE" or "tcp ...", or NULL for
 * none (connections are accepted meanwhile). The text lives until the next call. What follows acts
 * on the question taken last, also on one answered already. */
const char *fakeup_next(struct fakeup *fakeup);
/* The query as it came. */
const uint8_t *fakeup_query(const struct fakeup *fakeup, size_t *ret_n);
/* How many questions fakeup_next has taken. */
unsigned fakeup_taken(const struct fakeup *fakeup);
/* Makes the i-th question taken (from 0) the one that what follows acts on; up to 256 are kept. */
void fakeup_pick(struct fakeup *fakeup, unsigned index);

/* One record a line for the answer section in the form of dns_rrtext, NULL or "": none. The header
 * is the query's with QR and RA set. */
void fakeup_answer(struct fakeup *fakeup, const char *records);
/* Beyond that. Zero: as above. */
struct fakeup_reply {
	const char *answer, *authority, *additional; /* lines of records */
	uint16_t rcode;				     /* 0..15 */
	uint16_t set_flags, clear_flags;	     /* on top of QR and RA */
	bool wrong_id;
	const char *question; /* another name */
	bool no_question;
	bool opt; /* an OPT record of 1232 bytes */
};
void fakeup_reply(struct fakeup *fakeup, const struct fakeup_reply *reply);
/* These bytes (over TCP with their length in front), the first two replaced by the query's id. */
void fakeup_bytes(struct fakeup *fakeup, const uint8_t *data, size_t len);
/* The same, id and all; over UDP from another socket (another port) when `elsewhere`. */
void fakeup_raw(struct fakeup *fakeup, const uint8_t *data, size_t len, bool elsewhere);
/* Bytes as they are on the TCP connection the question came over. */
void fakeup_stream(struct fakeup *fakeup, const void *data, size_t len);
/* Closes that connection; with `reset` by RST. */
void fakeup_hang_up(struct fakeup *fakeup, bool reset);
/* Closes its UDP socket (the kernel then answers "port unreachable") or TCP listener with all
 * connections. */
void fakeup_stop_udp(struct fakeup *fakeup);
void fakeup_stop_tcp(struct fakeup *fakeup);
/* Connections accepted so far, and open now. */
unsigned fakeup_accepted(struct fakeup *fakeup);
unsigned fakeup_open(struct fakeup *fakeup);
