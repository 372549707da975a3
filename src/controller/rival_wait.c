/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports that the Lease of a rival is held by another process. */
#include "controller/rival_wait_priv.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

enum { LOG_S = 60 }; /* between two log lines */

void rival_wait_init(struct rival_wait *wait, const struct controller_lease *lease,
		     const char *own_ns, const char *controller, const char *area)
{
	*wait = (struct rival_wait){ .area = area,
				     .controller = controller,
				     .ns = lease->ns != NULL ? lease->ns : own_ns,
				     .lease = lease->name,
				     .limit = { .interval_ns = LOG_S * NS_PER_S } };
	pthread_mutex_init(&wait->lock, NULL);
}

void rival_wait_done(struct rival_wait *wait)
{
	free(wait->holder);
	pthread_mutex_destroy(&wait->lock);
}

static void set_holder(struct rival_wait *wait, char *holder)
{
	pthread_mutex_lock(&wait->lock);
	free(wait->holder);
	wait->holder = holder;
	pthread_mutex_unlock(&wait->lock);
}

void rival_wait_found(void *ctx, const char *holder)
{
	struct rival_wait *wait = ctx;
	set_holder(wait, xstrdup(holder));
	log_limited(&wait->limit, LOG_WARNING, wait->area,
		    "lease '%s' in namespace '%s' is held by '%s': nothing is written until that "
		    "program stops",
		    wait->lease, wait->ns, holder);
}

void rival_wait_over(struct rival_wait *wait)
{
	set_holder(wait, NULL);
}

void rival_wait_note(struct rival_wait *wait, struct strbuf *out)
{
	pthread_mutex_lock(&wait->lock);
	if (wait->holder != NULL)
		strbuf_addf(out,
			    "controller %s waits: lease '%s' in namespace '%s' is held by '%s'\n",
			    wait->controller, wait->lease, wait->ns, wait->holder);
	pthread_mutex_unlock(&wait->lock);
}
