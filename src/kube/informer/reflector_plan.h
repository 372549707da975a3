/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which request a reflector sends next, and when: decisions without I/O.
 *
 * Glossary
 *   stream  a streaming list: a watch that begins with everything there is, then goes on
 *   list    pages of a list
 *   watch   changes after a version we have
 *   rv      resource version */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

/* Zero: the default, client-go's number. */
struct kube_times {
	uint64_t watch_min_ns, watch_max_ns; /* how long a watch is asked for: 300 to 600 s */
	uint64_t watch_grace_ns;	     /* beyond which we end it ourselves: 30 s */
	uint64_t silence_ns;		     /* of a watch, then its peer counts as dead: 150 s */
	uint64_t list_ns;		     /* for one page: 60 s */
	uint64_t short_ns; /* a watch that ends sooner, without events, has failed: 1 s */
	uint64_t backoff_min_ns, backoff_max_ns; /* 0.8 s, doubled to 30 s; up to twice by jitter */
	/* The same where no answer came: 2 s. A server that restarts is asked again, and listed
	 * again where it has forgotten (410), within 5 s of its first answer; to ask one that does
	 * not listen costs nobody anything. */
	uint64_t away_max_ns;
	uint64_t backoff_reset_ns; /* without failures: 2 min */
	uint64_t stream_again_ns;  /* a server that cannot stream is asked again after: 1 h */
	/* Objects of a page: 10 000, not client-go's 500, which servers ignore in the lists it
	 * sends: the first page comes from the server's memory, those behind it from etcd once a
	 * kind was quiet for five minutes. What we hold of a page does not grow with it. */
	unsigned page;
};

/* What the reflectors of one server share: until when it is not asked for streaming lists. */
struct kube_server_memory {
	_Atomic uint64_t no_stream_until_ns;
};

/* Each kind of failure has a back-off of its own: a server that was unreachable for long and then
 * answers 410 has failed in that way once. */
enum kube_failure {
	KUBE_FAILURE_AWAY,    /* no answer, or one that broke off */
	KUBE_FAILURE_REFUSED, /* an answer that does not help */
	KUBE_FAILURE_GONE,    /* a watch's version is forgotten */
};
enum { KUBE_FAILURE_COUNT = KUBE_FAILURE_GONE + 1 };

struct kube_backoff {
	uint64_t ns;	   /* the last one, without jitter; 0: none yet */
	uint64_t until_ns; /* the end of its wait */
};

enum kube_step { KUBE_STEP_STREAM, KUBE_STEP_LIST, KUBE_STEP_WATCH };

struct kube_reflector_plan {
	struct kube_times times;
	struct kube_server_memory *memory;
	struct rng rng;

	/* Do this, after waiting: */
	enum kube_step step;
	uint64_t delay_ns;
	bool fresh;    /* list: whatever is newest, not what is not older than rv */
	bool whole;    /* list: in one piece */
	bool resume;   /* list: at the page that failed, with its token */
	unsigned page; /* list: objects of one; fewer while connections break */
	char rv[32];   /* of the last event or list; "" when there was none */

	struct kube_backoff backoff[KUBE_FAILURE_COUNT];
	unsigned stuck; /* how often the page at hand has failed */
};

/* How a step ended. */
struct kube_outcome {
	int code;	      /* 0, or as kube_stream */
	int http;	      /* status; 0: no answer came */
	bool listed;	      /* the list was complete (a stream: then went on as a watch) */
	bool gone;	      /* 410, as status code or as ERROR event */
	bool too_large;	      /* the server is behind our rv */
	bool has_error_event; /* an ERROR event */
	unsigned pages;	      /* that came before a list failed, in this step */
	bool more;	      /* it failed at a further page, which its token names */
	unsigned events;      /* that moved rv, after the list */
	uint64_t took_ns;
	unsigned retry_after_s;
};

void kube_reflector_plan_init(struct kube_reflector_plan *plan, const struct kube_times *times,
			      struct kube_server_memory *memory, uint64_t now_ns);
void kube_reflector_plan_next(struct kube_reflector_plan *plan, const struct kube_outcome *outcome,
			      uint64_t now_ns);
/* A page broke off: the next ones are smaller, until a list is complete. */
void kube_reflector_plan_page_broke(struct kube_reflector_plan *plan);
/* How long this watch shall last, in whole seconds. */
unsigned kube_reflector_plan_watch_s(struct kube_reflector_plan *plan);
