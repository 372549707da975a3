/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead node --probe`: what the agent at a socket says about itself. */
#pragma once

#include <stdbool.h>

/* The exit status; an error is printed. `only_alive`: its hello is enough. */
int node_probe(const char *path, bool only_alive);
