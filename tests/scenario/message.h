/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies of a scripted upstream as bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rules.h"

struct message;

struct message *message_new(void);
void message_free(struct message *m);
/* The bytes, the caller's to free, or NULL when the reply cannot be put together: message_error
 * then tells why. */
uint8_t *message_build(struct message *m, const struct rules_reply *r, const struct rules_query *q,
		       size_t *ret_n);
/* Of the last message_build; NULL: none. */
const char *message_error(const struct message *m);
