/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends one question to an address over UDP, repeatedly, until the callback ends it. Runs on one
 * thread's loop and never blocks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/request.h"
#include "net/addr.h"
#include "net/loop.h"

struct loop_probe;

/* One try is over, with a reply or without one in time; true: that was the last one. */
typedef bool (*loop_probe_fn)(struct loop_probe *probe, bool answered);

struct loop_probe {
	/* To be set before loop_probe_start; the rest zeroed. */
	union net_addr to;
	uint8_t name[DNS_NAME_MAX];
	uint16_t qtype;
	loop_probe_fn over;
	void *ctx;

	struct loop *loop;
	struct loop_fd io; /* valid while `asked` */
	struct loop_timer timer;
	bool asked; /* else the timer counts down to the next try */
	uint16_t id;
};

/* First try after `delay_ns`; a try has 2 s, the next follows a second after it. */
void loop_probe_start(struct loop_probe *probe, struct loop *loop, uint64_t delay_ns);
/* Also one that was never started. */
void loop_probe_stop(struct loop_probe *probe);
