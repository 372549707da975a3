/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of loop need to know. */
#pragma once

struct plugin_inst;

/* The name that is asked for, with final dot. */
const char *loop_name(const struct plugin_inst *self);
