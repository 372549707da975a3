/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a request of a pass failed. */
#include "controller/ipam/request_error.h"

#include "base/err.h"
#include "base/err_text.h"

int ipam_note_error(struct controller_ctx *ctx, const char *what, int ret,
		    const struct kube_status *status)
{
	if (ret < 0)
		err_text_set(ERR_TEXT(ctx->err), "%s: %s", what,
			     status->message[0] != '\0' ? status->message : err_str(ret));
	return ret;
}

bool ipam_is_refusal(int ret)
{
	return ret == ERR_CONFIG || ret == ERR_DENIED || ret == ERR_LIMIT || ret == ERR_UNSUPPORTED;
}
