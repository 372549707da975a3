/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What record templates see: the fields of CoreDNS's template data, over a run. */
#pragma once

#include "plugin/template/template_priv.h"

extern const struct tmpl_env template_envs[DNS_SECTIONS];
extern const struct tmpl_class template_data_class;

/* The texts of fields; "" for numbers without a mnemonic. */
struct slice template_class_text(const struct template_run *run);
struct slice template_type_text(const struct template_run *run);
/* The query's class and type; the rule's if the query is ANY. */
uint16_t template_class(const struct template_run *run);
uint16_t template_type(const struct template_run *run);
struct slice template_regex_text(const struct template_run *run);
/* Text of a group by its key in .Group; {NULL, 0}: no such key. */
struct slice template_group(const struct template_run *run, struct slice key);
