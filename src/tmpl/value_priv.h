/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values: their types' names, whether they are true, how they compare, what they hold. */
#pragma once

#include "tmpl/tmpl_priv.h"

struct slice tmpl_type_name(const struct tmpl_value *value);
/* The same for what a pointer points to. */
struct slice tmpl_elem_name(const struct tmpl_value *value);
bool tmpl_truth(const struct tmpl_value *value);
struct tmpl_value tmpl_zero(const struct tmpl_type *type);
MUST_CHECK int tmpl_len(struct tmpl_call *call, const struct tmpl_value *value, size_t *ret);
MUST_CHECK int tmpl_list_get(struct tmpl_call *call, const struct tmpl_value *value, size_t index,
			     struct tmpl_value *ret);
/* The entries of a map by key; the array is in the arena. */
MUST_CHECK int tmpl_map_sorted(struct tmpl_call *call, const struct tmpl_value *value,
			       struct tmpl_entry **ret, size_t *ret_n);
MUST_CHECK int tmpl_equal(struct tmpl_call *call, const struct tmpl_value *left,
			  const struct tmpl_value *right, bool *ret);
MUST_CHECK int tmpl_less(struct tmpl_call *call, const struct tmpl_value *left,
			 const struct tmpl_value *right, bool *ret);
