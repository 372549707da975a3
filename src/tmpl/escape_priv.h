/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text made safe for HTML, JavaScript and URL queries. */
#pragma once

#include "tmpl/out_priv.h"

void tmpl_escape_html(struct tmpl_out *out, struct slice text);
void tmpl_escape_js(struct tmpl_out *out, struct slice text);
void tmpl_escape_url(struct tmpl_out *out, struct slice text);
