/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of jobs: what providers fill in, and how it is freed. */
#pragma once

#include "base/compiler.h"
#include "provider/provider.h"

/* ---- for providers ---- */

/* Sets code and sentence; the provider then calls `done`. */
PRINTF_LIKE(3, 4)
void provider_job_fail(struct provider_job *job, enum provider_code code, const char *fmt, ...);
PRINTF_LIKE(3, 4)
void provider_change_fail(struct provider_change *change, enum provider_code code, const char *fmt,
			  ...);
/* PROVIDER_FIND_ZONES: copies; `name` may have capitals and a final dot. False: there are
 * PROVIDER_ZONES_MAX, or it has no name. */
bool provider_job_add_zone(struct provider_job *job, const char *zone_id, const char *name,
			   bool is_private);
/* PROVIDER_READ: copies the set of one edit; without values it is missing. Each edit once, in order of
 * their indexes or not. */
void provider_change_found(struct provider_change *change, size_t edit,
			   const struct provider_rrset *set);

/* ---- for the publisher ---- */

/* Frees results; the job may be started again. */
void provider_job_clear(struct provider_job *job);
void provider_change_clear(struct provider_change *change);
/* `found` of a change that had so many edits; NULL is fine. */
void provider_found_free(struct provider_rrset *found, size_t count);
/* Records (at least one for each edit) and bytes of names and values, without the states before. */
struct provider_size provider_change_size(const struct provider_change *change);
