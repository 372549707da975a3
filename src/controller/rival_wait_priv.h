/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a controller reports while it waits for the Lease of a rival: to the log, and on /readyz. */
#pragma once

#include <pthread.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "controller/controller.h"

struct rival_wait {
	const char *area;	/* of log lines; borrowed, as the rest */
	const char *controller; /* its name */
	const char *ns;		/* of the Lease */
	const char *lease;	/* its name; NULL: there is none to wait for */
	struct log_limit limit;
	pthread_mutex_t lock; /* guards `holder` */
	char *holder;	      /* NULL: nobody is waited for */
};

/* The strings outlive it. */
void rival_wait_init(struct rival_wait *wait, const struct controller_lease *lease,
		     const char *own_ns, const char *controller, const char *area);
void rival_wait_done(struct rival_wait *wait);
/* The rival holds its Lease: logs it now and then. `ctx` is the struct; any thread. */
void rival_wait_found(void *ctx, const char *holder);
/* We lead: nobody is waited for. */
void rival_wait_over(struct rival_wait *wait);
/* Adds a line while the rival is waited for. Any thread. */
void rival_wait_note(struct rival_wait *wait, struct strbuf *out);
