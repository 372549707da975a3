/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports on answers, as sentences. */
#include "dns/tsig/explain.h"

#include <inttypes.h>

#include "dns/types.h"

static void explain_rejection(const char *key, const struct dns_tsig_report *report, uint64_t now_s,
			      struct err_text out)
{
	char number[DNS_MNEMONIC_MAX];
	switch (report->error) {
	case DNS_TSIG_ERROR_BADKEY:
		err_text_set(out,
			     "the server does not accept TSIG key '%s' (BADKEY): "
			     "it does not know its name and algorithm, or the key has no rights",
			     key);
		return;
	case DNS_TSIG_ERROR_BADSIG:
		err_text_set(out, "the server has another secret for TSIG key '%s' (BADSIG)", key);
		return;
	case DNS_TSIG_ERROR_BADTRUNC:
		err_text_set(out, "the server wants longer signatures of TSIG key '%s' (BADTRUNC)",
			     key);
		return;
	case DNS_TSIG_ERROR_BADTIME:
		break;
	default:
		err_text_set(out, "the server rejects TSIG key '%s' (%s)", key,
			     dns_rcode_str(report->error, number));
		return;
	}
	if (report->server_time_s == 0) {
		err_text_set(
			out,
			"the clocks of the server and of this machine differ too much (BADTIME)");
		return;
	}
	bool ahead = report->server_time_s > now_s;
	err_text_set(out,
		     "the server's clock is %" PRIu64
		     " seconds %s this machine's (BADTIME): set the clocks",
		     ahead ? report->server_time_s - now_s : now_s - report->server_time_s,
		     ahead ? "ahead of" : "behind");
}

void dns_tsig_explain(const struct dns_tsig_key *key, const struct dns_tsig_report *report,
		      uint64_t now_s, struct err_text out)
{
	char name[DNS_NAME_TEXT_MAX], number[DNS_MNEMONIC_MAX];
	dns_tsig_key_label(key, name);
	switch (report->result) {
	case DNS_TSIG_REJECTED:
		explain_rejection(name, report, now_s, out);
		return;
	case DNS_TSIG_UNSIGNED:
		err_text_set(out, "the answer (%s) is not signed with TSIG key '%s'",
			     dns_rcode_str(report->rcode, number), name);
		return;
	case DNS_TSIG_PENDING:
		err_text_set(out, "the end of the answer is not signed with TSIG key '%s'", name);
		return;
	case DNS_TSIG_MALFORMED:
		err_text_set(out, "the answer's TSIG record is malformed");
		return;
	case DNS_TSIG_BADKEY:
		err_text_set(
			out,
			"the answer is signed with another key or algorithm than TSIG key '%s'",
			name);
		return;
	case DNS_TSIG_BADSIG:
		err_text_set(out,
			     "the answer's signature by TSIG key '%s' is wrong: it was changed on "
			     "its way",
			     name);
		return;
	case DNS_TSIG_BADTIME:
		err_text_set(out, "the answer was signed at another time: the clocks of the server "
				  "and of this machine differ");
		return;
	case DNS_TSIG_BADTRUNC:
		err_text_set(
			out,
			"the answer's signature by TSIG key '%s' is shorter than the key demands",
			name);
		return;
	case DNS_TSIG_OK:
		break;
	}
	err_text_set(out, "the answer is signed with TSIG key '%s'", name);
}
