/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead node --remove`: what agents leave behind. */
#pragma once

#include "cmd/kubecli.h"

/* Removes the table; refuses while an agent runs. Exit status, with the error printed. */
int node_remove_table(void);

/* Deletes the report of the node (api/egress/node_report.h): its rules are in force no longer. `ns` NULL: the
 * context's namespace. Opens and closes `cli`. Exit status, with the error printed; no report is fine. */
int node_remove_report(struct kubecli *cli, const char *ns, const char *node_name);
