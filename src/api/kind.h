/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds this program knows: how they are named and where their objects live. One row each;
 * CRDs of our own carry their schemas in deploy/crds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct api_kind {
	const char *group;    /* "" for core */
	const char *version;  /* the one we read and write */
	const char *kind;     /* "IPAddressClaim" */
	const char *plural;   /* "ipaddressclaims" */
	const char *singular; /* "ipaddressclaim" */
	const char *shorts;   /* short names, separated by spaces; "" */
	bool namespaced;
	bool status; /* has the subresource */
	bool ours;   /* a custom resource of the product: its schema is in deploy/crds */
};

extern const struct api_kind api_kinds[];
extern const size_t api_n_kinds;

/* By kind and group ("DNS", "operator.openshift.io"); NULL when there is none. */
const struct api_kind *api_kind_find(const char *group, const char *kind);
/* By what a user writes: plural, singular, `plural.group` or Kind, else a short name; letters
 * alike. NULL when there is none or, with *ret_ambiguous true, when several fit. */
const struct api_kind *api_kind_by_word(const char *word, bool *ret_ambiguous);
/* Of an object, by its apiVersion and kind; NULL when it is none of ours. */
const struct api_kind *api_kind_of(const json_t *object);

/* Can it stand in a path as one step? Not empty, "." or "..", no '/' and no '%': such a name would
 * mean another object than the one it is written for, or all of them. */
bool api_name_is_path_segment(const char *name);

/* "operator.openshift.io/v1", "v1" */
void api_kind_api_version(struct strbuf *out, const struct api_kind *kind);
/* "/apis/operator.openshift.io/v1/dnses/default", "/api/v1/namespaces/ns/pods"; ns and name may be
 * NULL; `sub` is a subresource or NULL. Names are escaped as a URL needs it. */
void api_kind_path(struct strbuf *out, const struct api_kind *kind, const char *ns,
		   const char *name, const char *sub);
