/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of condition types. tests/functional/test_names.py compares it with the types that the
 * controllers write. */
#include "cmd/objects/condition_meaning.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

static const struct row {
	const char *type;
	enum condition_meaning when_true, when_false, when_unknown;
} rows[] = {
	/* clang-format off */
	/* type                            True               False              Unknown */
	/* DNS, ClusterOperator */
	{ "Available",                     CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "Upgradeable",                   CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "Degraded",                      CONDITION_PROBLEM, CONDITION_FINE,    CONDITION_FINE },
	{ "Progressing",                   CONDITION_NOTE,    CONDITION_FINE,    CONDITION_FINE },
	{ "TemplateConfigurationValid",    CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "TemplateConfigurationApplied",  CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "AAAAFilterDualStackWarning",    CONDITION_NOTE,    CONDITION_FINE,    CONDITION_FINE },
	/* EgressFirewall; without agents on nodes nothing is meant to be enforced */
	{ "Valid",                         CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "NamesResolved",                 CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "Warnings",                      CONDITION_NOTE,    CONDITION_FINE,    CONDITION_FINE },
	{ "Enforced",                      CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_NOTE },
	/* IPAddressClaim, pools */
	{ "Ready",                         CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "Overlapping",                   CONDITION_PROBLEM, CONDITION_FINE,    CONDITION_FINE },
	{ "OutOfRange",                    CONDITION_PROBLEM, CONDITION_FINE,    CONDITION_FINE },
	{ "ForeignAddresses",              CONDITION_PROBLEM, CONDITION_FINE,    CONDITION_FINE },
	{ "DefaultNameserversInvalid",     CONDITION_PROBLEM, CONDITION_FINE,    CONDITION_FINE },
	{ "NameserversCut",                CONDITION_NOTE,    CONDITION_FINE,    CONDITION_FINE },
	{ "FieldPruned",                   CONDITION_NOTE,    CONDITION_FINE,    CONDITION_FINE },
	/* DNSRecord, which is published whether or not DNS was asked for it since */
	{ "Created",                       CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "Owned",                         CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "InSync",                        CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_PROBLEM },
	{ "Resolvable",                    CONDITION_FINE,    CONDITION_PROBLEM, CONDITION_NOTE },
	/* clang-format on */
};

enum condition_meaning condition_meaning(const char *type, const char *status)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].type, type) == 0)
			return strcmp(status, "True") == 0    ? rows[i].when_true
			       : strcmp(status, "False") == 0 ? rows[i].when_false
							      : rows[i].when_unknown;
	}
	return CONDITION_IGNORED;
}
