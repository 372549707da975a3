/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNSRecords that want one name: all but one have the problem that the controller would report. */
#pragma once

#include <stddef.h>

struct plan_object;

/* Sets the problem of objects whose name another has: one whose record set is published, else the older
 * one. Objects of files are younger than those of the API, and as old as their place in the files says. */
void plan_claims_check(struct plan_object *const *objects, size_t count);
