/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record sets as providers exchange them with the publisher: texts in one form, so that two sets
 * compare by bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Name: lower case, without the final dot, `*` as it is. Values: sorted, each once; addresses as
 * inet_ntop writes them, names like the set's own, TXT as the text itself, neither quoted nor
 * escaped. */
struct provider_rrset {
	const char *name;
	uint16_t type; /* enum dns_type */
	uint32_t ttl_s;
	const char *const *values;
	size_t n_values;   /* 0: no such set */
	const char *owner; /* mark of who wrote it; NULL: none */
};

/* Bytes of the copy beside the struct; what provider_rrset_copy() needs. */
size_t provider_rrset_bytes(const struct provider_rrset *set);
/* Copies into `room`, which is aligned for pointers and has that many bytes. Returns its end, aligned. */
char *provider_rrset_copy(struct provider_rrset *out, const struct provider_rrset *set, char *room);

/* Sorts values in place and drops repeated ones; returns how many are left. */
size_t provider_values_sort(const char **values, size_t count);

/* Values and TTL; two sets without values are equal. */
bool provider_rrset_equal(const struct provider_rrset *left, const struct provider_rrset *right);
