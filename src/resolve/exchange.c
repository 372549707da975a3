/* How an exchange ends: by an error, or by a message that is looked at first. */
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "resolve/resolve_priv.h"

void exchange_detach(struct resolver *r, struct resolve_exchange *x)
{
	if (x->state == X_READY) {
		xlist_remove(&r->ready, x);
		x->state = X_IDLE;
		return;
	}
	wheel_remove(r, x);
	if (x->state == X_WAITING)
		stream_pool_unwait(resolver_pool(r, x->up), x);
	if (x->state == X_QUEUED)
		xlist_remove(&x->link->queued, x);
	if (x->state == X_SENT && x->link != NULL && x->link->keeps_sent)
		xlist_remove(&x->link->sent, x);
	if (x->link != NULL)
		link_remove(x->link, x);
	dns_put16(x->msg, x->asked_id);
	if (x->random_case)
		check_flip_case(x->msg + DNS_HEADER_BYTES, x->question_n - 4U, x->case_bits);
	x->state = X_IDLE;
}

static void drop(struct resolve_exchange *x)
{
	if (x->state == X_SENT && x->link != NULL && x->link->ops->dropped != NULL)
		x->link->ops->dropped(x->link, x);
}

/* Errors are logged with both ends, and rare enough for a system call. */
static void note_local(struct resolve_exchange *x)
{
	socklen_t len = sizeof(x->local);
	memset(&x->local, 0, sizeof(x->local));
	if (x->state != X_SENT || x->link == NULL || x->link->io.fd < 0 ||
	    getsockname(x->link->io.fd, &x->local.sa, &len) != 0)
		x->local.family = AF_UNSPEC;
}

void exchange_fail(struct resolver *r, struct resolve_exchange *x, enum resolve_result result,
		   int code)
{
	note_local(x);
	drop(x);
	exchange_detach(r, x);
	x->result = result;
	x->error = code;
	x->error_text = resolve_error_text(code);
	x->state = X_READY;
	xlist_append(&r->ready, x);
	resolver_arm(r);
}

/* What could not be read whole becomes an empty reply with TC, as CoreDNS makes of it: the client
 * asks again over TCP. */
static size_t truncate_reply(const struct resolve_exchange *x, uint8_t *msg)
{
	dns_put16(msg + 2, dns_get16(msg + 2) | DNS_FLAG_TC);
	memset(msg + 6, 0, 6);
	return (size_t)DNS_HEADER_BYTES + x->question_n;
}

static enum resolve_result judge(struct resolver *r, struct resolve_exchange *x, uint8_t *msg,
				 size_t *n, bool cut)
{
	switch (check_reply(x->msg, x->question_n, msg, *n, x->random_case, n)) {
	case CHECK_OK:
		if (!cut)
			return RESOLVE_OK;
		break;
	case CHECK_CUT:
		break;
	case CHECK_GARBLED:
		if (cut)
			break;
		r->stats.garbled++;
		return RESOLVE_GARBLED;
	case CHECK_MISMATCH:
		r->stats.mismatched++;
		return RESOLVE_MISMATCH;
	}
	if (x->proto != RESOLVE_UDP) {
		r->stats.garbled++;
		return RESOLVE_GARBLED;
	}
	*n = truncate_reply(x, msg);
	x->reply_tc = true;
	return RESOLVE_OK;
}

void exchange_reply(struct resolver *r, struct resolve_exchange *x, uint8_t *msg, size_t n,
		    bool cut)
{
	struct resolve_pool *p = x->link->pool;
	x->result = judge(r, x, msg, &n, cut);
	if (x->result == RESOLVE_OK) {
		x->rtt_ns = loop_now(r->env.loop) - x->sent_ns;
		upstream_measured(p, x->rtt_ns);
		if (x->random_case)
			check_flip_case(msg + DNS_HEADER_BYTES, x->question_n - 4U, x->case_bits);
	}
	exchange_detach(r, x);
	dns_put16(msg, x->asked_id);
	x->reply = msg;
	x->reply_n = (uint16_t)n;
	x->error = x->result == RESOLVE_OK ? 0 : ERR_PARSE;
	x->error_text = x->result == RESOLVE_OK ? NULL : resolve_error_text(ERR_PARSE);
	x->done(x);
}

void resolve_cancel(struct resolver *r, struct resolve_exchange *x)
{
	if (x->state == X_IDLE)
		return;
	drop(x);
	exchange_detach(r, x);
	resolver_bury(r);
}
