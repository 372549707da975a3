/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record sets that a read asks for, and which of them were in the replies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "provider/provider.h"

struct powerdns_wanted_set;

struct powerdns_wanted {
	struct provider_job *job;
	struct powerdns_wanted_set *sets; /* one for each edit */
	size_t n_sets;
	struct map by_key; /* type and name -> the first of its sets */
	struct map names;  /* each name once */
};

void powerdns_wanted_init(struct powerdns_wanted *wanted, struct provider_job *job);
void powerdns_wanted_done(struct powerdns_wanted *wanted);
/* One that the server has; others than those that are wanted are passed over. */
void powerdns_wanted_take(struct powerdns_wanted *wanted, const struct provider_rrset *set);
/* All replies are there: what was in none of them is missing. */
void powerdns_wanted_finish(struct powerdns_wanted *wanted);
