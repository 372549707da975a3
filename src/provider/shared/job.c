/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filling and freeing the results of jobs. */
#include "provider/shared/job.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/err_text.h"
#include "base/mem.h"

void provider_job_fail(struct provider_job *job, enum provider_code code, const char *fmt, ...)
{
	va_list args;
	assert(code != PROVIDER_OK && code != PROVIDER_UNKNOWN);
	job->code = code;
	va_start(args, fmt);
	err_text_vset(ERR_TEXT(job->error), fmt, args);
	va_end(args);
}

void provider_change_fail(struct provider_change *change, enum provider_code code, const char *fmt,
			  ...)
{
	va_list args;
	assert(code != PROVIDER_OK && code != PROVIDER_UNKNOWN);
	change->code = code;
	va_start(args, fmt);
	err_text_vset(ERR_TEXT(change->error), fmt, args);
	va_end(args);
}

/* Powers of two, so that adding one after the other is linear. */
static bool is_full(size_t count)
{
	return (count & (count - 1)) == 0;
}

bool provider_job_add_zone(struct provider_job *job, const char *zone_id, const char *name,
			   bool is_private)
{
	size_t n = strlen(name);
	if (n != 0 && name[n - 1] == '.')
		n--;
	if (n == 0 || job->n_zones == PROVIDER_ZONES_MAX)
		return false;
	if (is_full(job->n_zones))
		job->zones = xreallocarray(job->zones, job->n_zones == 0 ? 1 : job->n_zones * 2,
					   sizeof(*job->zones));
	struct provider_zone *zone = &job->zones[job->n_zones++];
	*zone = (struct provider_zone){ .id = xstrdup(zone_id),
					.name = xstrndup(name, n),
					.is_private = is_private };
	for (size_t i = 0; i < n; i++)
		zone->name[i] = ascii_lower(zone->name[i]);
	return true;
}

void provider_change_found(struct provider_change *change, size_t edit,
			   const struct provider_rrset *set)
{
	assert(edit < change->n_edits);
	if (change->found == NULL)
		change->found = xcalloc(change->n_edits, sizeof(*change->found));
	assert(change->found[edit].name == NULL);
	char *room = xmalloc(provider_rrset_bytes(set));
	provider_rrset_copy(&change->found[edit], set, room);
}

static void free_found(const struct provider_rrset *set)
{
	/* The copy begins with the values, or with the name where there are none. */
	if (set->n_values != 0)
		free((void *)(uintptr_t)set->values);
	else
		free((void *)(uintptr_t)set->name);
}

void provider_found_free(struct provider_rrset *found, size_t count)
{
	for (size_t i = 0; found != NULL && i < count; i++)
		free_found(&found[i]);
	free(found);
}

void provider_change_clear(struct provider_change *change)
{
	provider_found_free(TAKE_PTR(change->found), change->n_edits);
	free(TAKE_PTR(change->longer_zone));
	change->code = PROVIDER_UNKNOWN;
	change->error[0] = '\0';
	change->is_unsettled = false;
	change->was_different = false;
}

void provider_job_clear(struct provider_job *job)
{
	for (size_t i = 0; i < job->n_zones; i++) {
		free(job->zones[i].id);
		free(job->zones[i].name);
	}
	free(TAKE_PTR(job->zones));
	free(TAKE_PTR(job->next_page));
	free(TAKE_PTR(job->settle_token));
	job->n_zones = 0;
	job->is_zone_of_name = false;
	job->was_answered = false;
	job->retry_after_ns = 0;
	job->code = PROVIDER_OK;
	job->error[0] = '\0';
}

struct provider_size provider_change_size(const struct provider_change *change)
{
	struct provider_size size = { 0 };
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_rrset *set = &change->edits[i].set;
		size.records += MAX(set->n_values, (size_t)1);
		size.bytes += strlen(set->name);
		for (size_t j = 0; j < set->n_values; j++)
			size.bytes += strlen(set->values[j]);
	}
	return size;
}
