/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server for tests: the real chain on a fake network and a fake clock, on the caller's thread.
 *
 *	struct fake *f = fake_new(". {\n whoami\n}");
 *	const char *reply = fake_ask(f, &(struct fake_ask){ .name = "a.example", .type = "A" });
 *	assert_non_null(strstr(reply, "NOERROR qr aa rd\nquestion a.example. IN A\n"));
 *	fake_free(f); */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/handler.h"

struct fake;

/* NULL when the Corefile is refused; fake_error() then tells why ("Corefile:2:3: ..."). */
struct fake *fake_new(const char *corefile);
const char *fake_error(void);
/* Is a block `.` with this stanza refused with an error that begins so? */
bool fake_refuses(const char *stanza, const char *error);
void fake_free(struct fake *fake);
/* Swaps the configuration; false (and fake_error) when it is refused. */
bool fake_reload(struct fake *fake, const char *corefile);

struct fake_ask {
	const char *name;     /* default "example.org." */
	const char *type;     /* default "A" */
	const char *cls;      /* default "IN" */
	const char *client;   /* "ip:port", default "192.0.2.1:5353" */
	const char *local;    /* "ip:port", default the listener's */
	uint16_t listen_port; /* which listener; 0: the first one */
	uint16_t flags;	      /* header bits; 0: RD. DNS_FLAG_Z: none at all */
	uint16_t udp_size;    /* 0: no OPT */
	bool dnssec_ok;
	const uint8_t *options; /* TLVs of the OPT */
	size_t options_n;
	const uint8_t *raw; /* these bytes instead of all the above */
	size_t raw_n;
};

/* Sends one datagram and returns the reply as dns_dump prints it, or NULL for silence (so far). The
 * text lives until the next call. */
const char *fake_ask(struct fake *fake, const struct fake_ask *ask);
/* Sends without looking for a reply. */
void fake_send(struct fake *fake, const struct fake_ask *ask);
/* The next reply that came (of fake_send, or after time went on), or NULL. */
const char *fake_next(struct fake *fake);
/* Bytes of the last reply shown. */
const uint8_t *fake_wire(const struct fake *fake, size_t *ret_n);

/* Moves the clock and lets timers fire. */
void fake_advance(struct fake *fake, uint64_t ns);
/* Everything logged so far (then forgotten); lives until the next call. */
const char *fake_log(struct fake *fake);
/* Value of a metrics line such as `coredns_x_total{a="b"}`, or -1 when there is none. */
double fake_metric(struct fake *fake, const char *line_start);
/* Queries not yet finished. */
unsigned fake_inflight(const struct fake *fake);
struct server *fake_server(struct fake *fake);
