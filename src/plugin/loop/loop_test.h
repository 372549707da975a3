/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests ask for the random name of a configuration as a client would that loops back. */
#pragma once

struct plugin_inst;

/* The name that is asked for, with final dot. */
const char *loop_name(const struct plugin_inst *self);
