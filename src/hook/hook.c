/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of the hook in their order. */
#include "hook/hook.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/readfile.h"
#include "hook/request.h"
#include "hook/resolv_text.h"
#include "hook/rewrite.h"
#include "hook/safe_open.h"

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int read_config(struct hook_request *request, int bundle_fd, struct err_text err)
{
	char why[256] = "";
	struct strbuf text = STRBUF_INIT;
	CLEANUP(close_fd)
	int fd =
		hook_open_in_bundle(bundle_fd, "config.json", HOOK_CONFIG_BYTES_MAX, ERR_TEXT(why));
	int r = fd < 0 ? fd : readfile_fd(fd, HOOK_CONFIG_BYTES_MAX, &text);
	if (fd < 0)
		err_text_set(err, "bundle '%s': %s", request->bundle, why);
	else if (r < 0)
		err_text_set(err, "bundle '%s': cannot read 'config.json': %s", request->bundle,
			     err_str(r));
	else
		r = hook_request_read_config(request, strbuf_slice(&text), err);
	strbuf_done(&text);
	return r;
}

/* From the locked file on. */
static int update_file(int fd, const struct hook_request *request, struct hook_report *report,
		       struct err_text err)
{
	struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
	int r = hook_rewrite_read(fd, &before, err);
	if (r == 0 && !hook_resolv_text_is_resolver_file(strbuf_slice(&before))) {
		err_text_set(err, "'%s' does not look like a resolver file", request->source);
		r = ERR_DENIED;
	}
	if (r == 0)
		r = hook_resolv_text_make(request, strbuf_slice(&before), &after, &report->notes,
					  err);
	if (r == 0 && slice_eq(strbuf_slice(&before), strbuf_slice(&after)))
		r = HOOK_SETTLED;
	else if (r == 0) {
		r = hook_rewrite_content(fd, strbuf_slice(&before), strbuf_slice(&after), err);
		r = r < 0 ? r : HOOK_REWRITTEN;
	}
	strbuf_done(&before);
	strbuf_done(&after);
	return r;
}

static int run_in_bundle(struct hook_request *request, int bundle_fd,
			 const struct hook_storage *storage, struct hook_report *report,
			 struct err_text err)
{
	int r = read_config(request, bundle_fd, err);
	if (r < 0)
		return r;
	if (!hook_request_is_wanted(request))
		return HOOK_NOT_WANTED;
	r = hook_request_find_source(request, err);
	if (r < 0)
		return r;
	strbuf_adds(&report->path, request->source);
	const struct hook_owner owner = { storage,
					  { request->id, request->sandbox_id },
					  request->by_podman };
	CLEANUP(close_fd)
	int fd = hook_open_source(bundle_fd, request->source, HOOK_RESOLV_BYTES_MAX, &owner, err);
	if (fd < 0)
		return fd;
	r = hook_rewrite_lock(fd, err);
	return r < 0 ? r : update_file(fd, request, report, err);
}

static int run_request(struct hook_request *request, struct slice state,
		       const struct hook_storage *storage, struct hook_report *report,
		       struct err_text err)
{
	int r = hook_request_read_state(request, state, err);
	snprintf(report->id, sizeof(report->id), "%s", request->id);
	if (r < 0)
		return r;
	if (!hook_request_is_wanted(request) && !hook_request_is_undecided(request))
		return HOOK_NOT_WANTED;
	CLEANUP(close_fd)
	int bundle_fd = hook_open_bundle(request->bundle, err);
	return bundle_fd < 0 ? bundle_fd : run_in_bundle(request, bundle_fd, storage, report, err);
}

int hook_run(struct slice state, const struct hook_storage *storage, struct hook_report *report,
	     struct err_text err)
{
	struct hook_request request;
	*report = (struct hook_report){ .notes = STRBUF_INIT, .path = STRBUF_INIT };
	int r = run_request(&request, state, storage, report, err);
	hook_request_done(&request);
	return r;
}

void hook_report_done(struct hook_report *report)
{
	strbuf_done(&report->notes);
	strbuf_done(&report->path);
}
