/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's fmt.Sprint, Sprintln and Sprintf over template values, written to call->out. */
#pragma once

#include "tmpl/tmpl_priv.h"

MUST_CHECK int tmpl_print_value(struct tmpl_call *call, const struct tmpl_value *value);
MUST_CHECK int tmpl_print(struct tmpl_call *call, const struct tmpl_value *args, size_t count);
MUST_CHECK int tmpl_println(struct tmpl_call *call, const struct tmpl_value *args, size_t count);
MUST_CHECK int tmpl_printf(struct tmpl_call *call, struct slice format,
			   const struct tmpl_value *args, size_t count);
