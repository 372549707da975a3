/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which firewalls use a DNSName, and how, as the last passes over the firewalls saw them: a table, since
 * a firewall may have thousands of rules, and each change of an address asks. Callers hold a lock. */
#pragma once

#include <stdbool.h>

#include "base/map.h"

enum rule_use { RULE_USE_REGULAR, RULE_USE_ONE_LABEL, RULE_USE_ANY_DEPTH };
enum { RULE_USES = RULE_USE_ANY_DEPTH + 1 };

struct rule_users {
	struct map by_object;
};

void rule_users_init(struct rule_users *users);
void rule_users_done(struct rule_users *users);
/* `firewall` is its key, which stays where it is until its users are removed. All its uses of an object
 * are added one after the other, without those of other firewalls between them; repeats are fine. */
void rule_users_add(struct rule_users *users, const char *object, const char *firewall,
		    enum rule_use use);
/* All uses of the object by the firewall; none is fine. */
void rule_users_remove(struct rule_users *users, const char *object, const char *firewall);
bool rule_users_have(const struct rule_users *users, const char *object, enum rule_use use);
/* Calls `fn` with each firewall that uses the object, at least once. */
void rule_users_each(const struct rule_users *users, const char *object,
		     void (*fn)(void *ctx, const char *firewall), void *ctx);
