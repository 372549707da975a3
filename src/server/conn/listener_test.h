/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests ask for the address of a listener, and whether it is open. */
#pragma once

#include "server/conn/listener.h"

/* NULL when none has this label ("dns://:53"). */
struct listener *listener_find(struct server *srv, const char *label);
