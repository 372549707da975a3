/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads what providers have, for many DNSRecords at a time: the same requests as those of the controller,
 * but none writes. Accounts keep their rates, and record sets of one zone are read together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "controller/dnsrecord/plan/record.h"
#include "controller/dnsrecord/plan/step.h"
#include "net/loop.h"
#include "provider/publisher.h"

struct kube_conn;
struct plan_object;
struct plan_reads;

/* One step of an object. */
struct plan_reading {
	struct publisher_request request;
	struct plan_object *object;
	size_t at;			 /* index of the step */
	bool may_be_gone, searches_zone; /* rules of a further try */
};

/* The sets at the name of a new one that cannot be beside it: a CNAME is alone. */
enum { PLAN_NEIGHBOURS = 3 };
struct plan_neighbours {
	struct publisher_request request;
	struct plan_object *object;
	struct provider_edit edits[PLAN_NEIGHBOURS];
	size_t n;
};

struct plan_object {
	struct plan_reads *reads;
	struct dnsrecord record;
	bool withdraws;
	const struct provider *provider; /* NULL: no provider has its type here */
	bool is_unserved; /* no provider has its type, and no controller has reported about it */
	bool is_other;	  /* not to be compared: it may have the name of one that is */
	struct publisher_account *account; /* NULL: not opened */
	char *problem; /* why it cannot be read or published; NULL: no reason is known */
	struct dnsrecord_step steps[DNSRECORD_STEPS_AHEAD];
	struct plan_reading readings[DNSRECORD_STEPS_AHEAD];
	size_t n_steps;
	struct plan_neighbours neighbours;
};

struct plan_reads {
	struct loop *loop;
	struct lookup_client *lookups;
	struct publisher *publisher;
	struct kube_conn *conn;
	const json_t *secrets; /* of files, borrowed */
	bool is_drop_in;
	struct map accounts; /* by Secret and type: struct publisher_account */
	size_t n_left, n_all;
	struct loop_timer progress;
	bool has_shown;
};

/* False: no descriptors are left. */
bool plan_reads_open(struct plan_reads *reads, struct kube_conn *conn);
/* Objects must have been released before. */
void plan_reads_close(struct plan_reads *reads);

/* Starts to read what the object's steps change. The object stays where it is. */
void plan_reads_add(struct plan_reads *reads, struct plan_object *object);
/* Until all have their result; on a terminal a line on standard error says how far it is. */
void plan_reads_run(struct plan_reads *reads);
/* Frees what was read. */
void plan_object_release(struct plan_object *object);
