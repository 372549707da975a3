/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of each host: a counter of those that run, a list of those that wait. */
#include "http/client/host_queue_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/client/transfer_priv.h"

struct http_host {
	struct http_host *next;
	char *name; /* the host of `origin` */
	struct http_url origin;
	unsigned running;
	struct http_transfer *first, **end; /* of those that wait */
};

static struct http_host *find_host(struct http_host_queue *queue, const struct http_url *to)
{
	for (struct http_host *host = queue->hosts; host != NULL; host = host->next)
		if (http_url_same_origin(&host->origin, to))
			return host;
	struct http_host *host = xcalloc(1, sizeof(*host));
	host->name = xstrndup(to->host.p, to->host.n);
	host->origin = *to;
	host->origin.host.p = host->name;
	host->origin.rest = (struct slice){ 0 };
	host->end = &host->first;
	host->next = queue->hosts;
	queue->hosts = host;
	return host;
}

static void forget_host(struct http_host_queue *queue, struct http_host *host)
{
	struct http_host **at = &queue->hosts;
	while (*at != host)
		at = &(*at)->next;
	*at = host->next;
	free(host->name);
	free(host);
}

bool http_host_enter(struct http_host_queue *queue, struct http_transfer *transfer)
{
	struct http_host *host = find_host(queue, &transfer->to);
	assert(transfer->host == NULL && queue->max != 0);
	transfer->host = host;
	if (host->running < queue->max) {
		host->running++;
		return true;
	}
	transfer->waits = true;
	transfer->wait_next = NULL;
	transfer->wait_link = host->end;
	*host->end = transfer;
	host->end = &transfer->wait_next;
	return false;
}

static void stop_waiting(struct http_host *host, struct http_transfer *transfer)
{
	assert(transfer->waits && *transfer->wait_link == transfer);
	*transfer->wait_link = transfer->wait_next;
	if (transfer->wait_next != NULL)
		transfer->wait_next->wait_link = transfer->wait_link;
	else
		host->end = transfer->wait_link;
	transfer->waits = false;
}

struct http_transfer *http_host_leave(struct http_host_queue *queue, struct http_transfer *transfer)
{
	struct http_host *host = transfer->host;
	struct http_transfer *next = NULL;
	transfer->host = NULL;
	if (transfer->waits) {
		stop_waiting(host, transfer);
		return NULL;
	}
	assert(host->running != 0);
	host->running--;
	if (host->first != NULL) {
		next = host->first;
		stop_waiting(host, next);
		host->running++;
	} else if (host->running == 0) {
		forget_host(queue, host);
	}
	return next;
}
