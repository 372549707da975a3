/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiling the words of `template` stanzas at prepare. */
#pragma once

#include "plugin/template/template_priv.h"

MUST_CHECK int template_prepare(struct plugin_inst *self, struct prepare *prepare);
void template_teardown(struct plugin_inst *self);
