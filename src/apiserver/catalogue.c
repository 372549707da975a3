/* Rows into groups, groups into order. */
#include "apiserver/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

enum stage { STAGE_ALPHA, STAGE_BETA, STAGE_STABLE };

struct version {
	unsigned long major, minor;
	enum stage stage;
};

static bool take_number(const char **s, unsigned long *ret)
{
	if (!ascii_isdigit(**s))
		return false;
	char *end;
	*ret = strtoul(*s, &end, 10);
	*s = end;
	return true;
}

/* "v1", "v1beta2" */
static bool read_version(const char *s, struct version *ret)
{
	*ret = (struct version){ .stage = STAGE_STABLE };
	if (*s++ != 'v' || !take_number(&s, &ret->major))
		return false;
	if (*s == '\0')
		return true;
	if (slice_starts(slice_of(s), SLICE("alpha"))) {
		ret->stage = STAGE_ALPHA;
		s += strlen("alpha");
	} else if (slice_starts(slice_of(s), SLICE("beta"))) {
		ret->stage = STAGE_BETA;
		s += strlen("beta");
	} else {
		return false;
	}
	return take_number(&s, &ret->minor) && *s == '\0';
}

int apiserver_version_cmp(const char *a, const char *b)
{
	struct version va, vb;
	bool known_a = read_version(a, &va), known_b = read_version(b, &vb);
	if (known_a != known_b)
		return known_a ? -1 : 1;
	if (!known_a)
		return strcmp(a, b);
	if (va.stage != vb.stage)
		return va.stage > vb.stage ? -1 : 1;
	if (va.major != vb.major)
		return va.major > vb.major ? -1 : 1;
	if (va.minor != vb.minor)
		return va.minor > vb.minor ? -1 : 1;
	return 0;
}

static int rank(const struct apiserver_gv *gv)
{
	if (gv->group[0] == '\0')
		return 0;
	return gv->rows[0]->built_in ? 1 : 2;
}

static int compare_gv(const void *a, const void *b)
{
	const struct apiserver_gv *x = a, *y = b;
	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	int r = strcmp(x->group, y->group);
	return r != 0 ? r : apiserver_version_cmp(x->version, y->version);
}

static int compare_rows(const void *a, const void *b)
{
	const struct apiserver_resource *const *x = a, *const *y = b;
	return strcmp((*x)->kind->plural, (*y)->kind->plural);
}

static struct apiserver_gv *find(const struct apiserver_catalogue *c, const char *group,
				 const char *version)
{
	for (size_t i = 0; i < c->n; i++) {
		if (strcmp(c->v[i].group, group) == 0 && strcmp(c->v[i].version, version) == 0)
			return &c->v[i];
	}
	return NULL;
}

const struct apiserver_gv *apiserver_catalogue_find(const struct apiserver_catalogue *c,
						    const char *group, const char *version)
{
	return find(c, group, version);
}

void apiserver_catalogue_init(struct apiserver_catalogue *c,
			      const struct apiserver_resource *const *rows, size_t n)
{
	*c = (struct apiserver_catalogue){ .v = xcalloc(n + 1, sizeof(*c->v)) };
	for (size_t i = 0; i < n; i++) {
		const struct apiserver_resource *r = rows[i];
		struct apiserver_gv *gv = find(c, r->kind->group, r->version);
		if (gv == NULL) {
			gv = &c->v[c->n++];
			gv->group = r->kind->group;
			gv->version = r->version;
			gv->rows = xcalloc(n, sizeof(struct apiserver_resource *));
		}
		gv->rows[gv->n_rows++] = r;
	}
	if (c->n > 0)
		qsort(c->v, c->n, sizeof(*c->v), compare_gv);
	for (size_t i = 0; i < c->n; i++) {
		struct apiserver_gv *gv = &c->v[i];
		gv->first = i == 0 || strcmp(gv->group, c->v[i - 1].group) != 0;
		qsort(gv->rows, gv->n_rows, sizeof(struct apiserver_resource *), compare_rows);
	}
}

void apiserver_catalogue_done(struct apiserver_catalogue *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].rows);
	free(c->v);
	*c = (struct apiserver_catalogue){ .v = NULL };
}
