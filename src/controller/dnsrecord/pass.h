/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass over a DNSRecord: the object as the API last returned it, and writes to it. Each write is
 * locked by the version that was read; what was written is the object from then on. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/arena.h"
#include "controller/controller.h"
#include "controller/dnsrecord/plan/decide.h"
#include "controller/dnsrecord/plan/record.h"
#include "controller/dnsrecord/plan/report.h"
#include "controller/dnsrecord/plan/resolvable.h"
#include "controller/dnsrecord/state.h"

struct dnsrecord_pass {
	struct controller_ctx *ctx;
	const char *key;
	struct dnsrecord_settings settings;
	struct dnsrecord_memory memory;
	const struct provider *provider;
	json_t *object; /* a reference of ours */
	struct arena arena;
	struct dnsrecord record;	/* of `object` */
	struct dnsrecord_choice choice; /* made at the start, or after a change by others */
	bool is_forced;			/* its deletion must end, whatever is left behind */
};

/* Takes over the reference to the object. */
void dnsrecord_pass_set_object(struct dnsrecord_pass *pass, json_t *object);

/* Writes the status if it differs. 0, or a negative code: the pass is over. ERR_NOTFOUND and
 * ERR_CONFLICT are no failures: the object is gone, or has changed so that its watch starts another
 * pass. */
int dnsrecord_pass_report(struct dnsrecord_pass *pass, const struct dnsrecord_report *report);

/* Sets the condition Resolvable, if it differs. 1: written; else as above. */
int dnsrecord_pass_resolvable(struct dnsrecord_pass *pass, enum dnsrecord_resolvable what,
			      const char *message);

struct dnsrecord_marks {
	bool add_finalizer, remove_finalizer, remove_all_finalizers;
	const char *clear; /* removes the annotation gardener.cloud/operation with this value */
};
/* Changes finalizers and the annotation, where they are not so already; codes as above. */
int dnsrecord_pass_mark(struct dnsrecord_pass *pass, const struct dnsrecord_marks *marks);

/* Sets a member of status.providerStatus, if it differs; codes as above. Takes over the value. */
int dnsrecord_pass_provider_status(struct dnsrecord_pass *pass, const char *member, json_t *value);

/* Sets status.state.secret, "" for none, if it differs; codes as above. */
int dnsrecord_pass_note_secret(struct dnsrecord_pass *pass, const char *name);

/* Sets status.state.published, if there is none; codes as above. */
int dnsrecord_pass_show_published(struct dnsrecord_pass *pass);

/* An Event about the object. */
void dnsrecord_pass_event(const struct dnsrecord_pass *pass, bool is_warning, const char *reason,
			  const char *text);
/* A warning about what a deletion leaves at the provider. A namespace that is being deleted accepts no Events:
 * then it is about the Namespace, and in the log. Blocks for one call to the API. */
void dnsrecord_pass_event_of_deletion(const struct dnsrecord_pass *pass, const char *reason,
				      const char *text);
