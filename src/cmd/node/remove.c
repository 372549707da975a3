/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First the table, then the report: one that is left says too much, not too little. */
#include "cmd/node/remove.h"

#include <unistd.h>

#include "addrset/nftables/apply.h"
#include "addrset/nftables/link.h"
#include "api/egress/node_report.h"
#include "base/err.h"
#include "base/err_text.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"
#include "kube/client/config.h"
#include "node/claim.h"

int node_remove_table(void)
{
	struct nftables_link *link = NULL;
	int claim = -1;
	char err[512] = "";
	int r = nftables_link_open(&link, ERR_TEXT(err));
	if (r == 0) /* an agent would make it again */
		r = node_claim_take(NODE_CLAIM_NAME, NODE_CLAIM_WAIT_NS, &claim, ERR_TEXT(err));
	if (r == 0)
		r = nftables_remove(link, ERR_TEXT(err));
	nftables_link_close(link);
	if (claim >= 0)
		close(claim);
	if (r < 0)
		cmd_print_error("node", "%s", err);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

int node_remove_report(struct kubecli *cli, const char *ns, const char *node_name)
{
	char name[EGRESS_REPORT_NAME_MAX + 1];
	struct kube_status status = { 0 };
	egress_report_name(node_name, name);
	if (!kubecli_open(cli)) {
		kubecli_close(cli);
		return EXIT_FAILED;
	}
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"), .name = name };
	ref.ns = ns != NULL ? ns : kube_config_namespace(kube_client_config(cli->client));
	int r = kube_delete(cli->conn, &ref, NULL, &status);
	bool is_gone = r == 0 || r == ERR_NOTFOUND;
	if (!is_gone)
		cmd_print_error("node",
				"the table is removed, but not the ConfigMap %s/%s, which reports "
				"its rules as in force: %s",
				ref.ns, name,
				status.message[0] != '\0' ? status.message : err_str(r));
	kube_status_done(&status);
	kubecli_close(cli);
	return is_gone ? EXIT_DONE : EXIT_FAILED;
}
