/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dry run: the difference between what the spec asks for and what the provider was given. */
#include "controller/dnsrecord/dry_run.h"

#include "controller/dnsrecord/plan/diff.h"

int dnsrecord_dry_run(struct dnsrecord_pass *pass)
{
	json_t *result;
	if (pass->record.problem != NULL)
		result = json_pack("{s:[], s:s}", "changes", "problem", pass->record.problem);
	else
		result = json_pack(
			"{s:o}", "changes",
			dnsrecord_diff(&pass->record, pass->choice.task == DNSRECORD_WITHDRAW));
	return dnsrecord_pass_provider_status(pass, "dryRun", result);
}
