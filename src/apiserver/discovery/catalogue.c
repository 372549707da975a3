/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the catalogue of served groups and versions from the table of resources, in the order in
 * which discovery lists them. */
#include "apiserver/discovery/catalogue.h"
#include "apiserver/discovery/catalogue_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

enum stage { STAGE_ALPHA, STAGE_BETA, STAGE_STABLE };

struct version {
	unsigned long major, minor;
	enum stage stage;
};

static bool take_number(const char **pos, unsigned long *ret)
{
	if (!ascii_isdigit(**pos))
		return false;
	char *end;
	*ret = strtoul(*pos, &end, 10);
	*pos = end;
	return true;
}

/* "v1", "v1beta2" */
static bool read_version(const char *text, struct version *ret)
{
	*ret = (struct version){ .stage = STAGE_STABLE };
	if (*text++ != 'v' || !take_number(&text, &ret->major))
		return false;
	if (*text == '\0')
		return true;
	if (slice_starts(slice_of(text), SLICE("alpha"))) {
		ret->stage = STAGE_ALPHA;
		text += strlen("alpha");
	} else if (slice_starts(slice_of(text), SLICE("beta"))) {
		ret->stage = STAGE_BETA;
		text += strlen("beta");
	} else {
		return false;
	}
	return take_number(&text, &ret->minor) && *text == '\0';
}

int apiserver_version_cmp(const char *left, const char *right)
{
	struct version va, vb;
	bool known_a = read_version(left, &va), known_b = read_version(right, &vb);
	if (known_a != known_b)
		return known_a ? -1 : 1;
	if (!known_a)
		return strcmp(left, right);
	if (va.stage != vb.stage)
		return va.stage > vb.stage ? -1 : 1;
	if (va.major != vb.major)
		return va.major > vb.major ? -1 : 1;
	if (va.minor != vb.minor)
		return va.minor > vb.minor ? -1 : 1;
	return 0;
}

static int rank_of(const struct apiserver_group_version *gv)
{
	if (gv->group[0] == '\0')
		return 0;
	return gv->rows[0]->built_in ? 1 : 2;
}

static int compare_gv(const void *left, const void *right)
{
	const struct apiserver_group_version *x = left, *y = right;
	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	int r = strcmp(x->group, y->group);
	return r != 0 ? r : apiserver_version_cmp(x->version, y->version);
}

static int compare_rows(const void *left, const void *right)
{
	const struct apiserver_resource *const *x = left, *const *y = right;
	return strcmp((*x)->kind->plural, (*y)->kind->plural);
}

static struct apiserver_group_version *find_group_version(
	const struct apiserver_catalogue *catalogue, const char *group, const char *version)
{
	for (size_t i = 0; i < catalogue->n_versions; i++) {
		if (strcmp(catalogue->versions[i].group, group) == 0 &&
		    strcmp(catalogue->versions[i].version, version) == 0)
			return &catalogue->versions[i];
	}
	return NULL;
}

const struct apiserver_group_version *apiserver_catalogue_find(
	const struct apiserver_catalogue *catalogue, const char *group, const char *version)
{
	return find_group_version(catalogue, group, version);
}

void apiserver_catalogue_init(struct apiserver_catalogue *catalogue,
			      const struct apiserver_resource *const *rows, size_t count)
{
	*catalogue =
		(struct apiserver_catalogue){ .versions = xcalloc(count + 1,
								  sizeof(*catalogue->versions)) };
	for (size_t i = 0; i < count; i++) {
		const struct apiserver_resource *r = rows[i];
		struct apiserver_group_version *gv =
			find_group_version(catalogue, r->kind->group, r->version);
		if (gv == NULL) {
			gv = &catalogue->versions[catalogue->n_versions++];
			gv->group = r->kind->group;
			gv->version = r->version;
			gv->rows = xcalloc(count, sizeof(struct apiserver_resource *));
		}
		gv->rows[gv->n_rows++] = r;
	}
	if (catalogue->n_versions > 0)
		qsort(catalogue->versions, catalogue->n_versions, sizeof(*catalogue->versions),
		      compare_gv);
	for (size_t i = 0; i < catalogue->n_versions; i++) {
		struct apiserver_group_version *gv = &catalogue->versions[i];
		gv->first = i == 0 || strcmp(gv->group, catalogue->versions[i - 1].group) != 0;
		qsort(gv->rows, gv->n_rows, sizeof(struct apiserver_resource *), compare_rows);
	}
}

void apiserver_catalogue_done(struct apiserver_catalogue *catalogue)
{
	for (size_t i = 0; i < catalogue->n_versions; i++)
		free(catalogue->versions[i].rows);
	free(catalogue->versions);
	*catalogue = (struct apiserver_catalogue){ .versions = NULL };
}
