/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes the Secret, or the file. */
#include "controller/egressfirewall/transfer/key_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/readfile.h"
#include "base/text/base64.h"
#include "controller/data_dir.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/transfer/key_text.h"
#include "controller/egressfirewall/watches.h"
#include "kube/client/object.h"
#include "kube/client/secret_tree.h"
#include "kube/client/status.h"

#define NEW_FILE EGRESSFIREWALL_TRANSFER_FILE ".new"

static uint64_t wall_seconds(void)
{
	return clock_wall_ns() / NS_PER_S;
}

/* ---- the Secret ---- */

static int note_error(struct controller_ctx *ctx, const char *what, int ret,
		      struct kube_status *status)
{
	if (ret < 0)
		err_text_set(ERR_TEXT(ctx->err), "%s Secret %s: %s", what,
			     EGRESSFIREWALL_TRANSFER_SECRET,
			     status->message[0] != '\0' ? status->message : err_str(ret));
	kube_status_done(status);
	return ret;
}

static struct kube_ref secret_ref(const struct controller_ctx *ctx)
{
	return (struct kube_ref){ .kind = api_kind_find("", "Secret"),
				  .ns = egressfirewall_servers_ns(ctx),
				  .name = EGRESSFIREWALL_TRANSFER_SECRET };
}

static json_t *encode_keys(const struct strbuf *text)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf encoded = STRBUF_INIT;
	base64_encode(&encoded, strbuf_slice(text));
	return json_pack("{s:s}", EGRESSFIREWALL_TRANSFER_FILE, encoded.s);
}

static int create_secret(struct controller_ctx *ctx, const struct kube_ref *ref,
			 const struct strbuf *text)
{
	struct kube_status status;
	json_t *object =
		json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:s, s:o}", "apiVersion", "v1", "kind",
			  "Secret", "metadata", "name", ref->name, "namespace", ref->ns, "labels",
			  EGRESSFIREWALL_MANAGED_BY, EGRESSFIREWALL_MANAGER, "type", "Opaque",
			  "data", encode_keys(text));
	int r = kube_create(ctx->conn, ref, object, NULL, &status);
	kube_secret_tree_wipe(object);
	return note_error(ctx, "create", r, &status);
}

/* Whoever changed it since it was read has made keys of their own. */
static int change_secret(struct controller_ctx *ctx, const struct kube_ref *ref,
			 const json_t *object, const struct strbuf *text)
{
	struct kube_status status;
	json_t *patch = json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion",
				  api_resource_version(object), "data", encode_keys(text));
	int r = kube_merge(ctx->conn, ref, NULL, patch, NULL, &status);
	kube_secret_tree_wipe(patch);
	return note_error(ctx, "change", r, &status);
}

static int decode_keys(struct controller_ctx *ctx, const json_t *object, struct secret *ret)
{
	const json_t *data = api_get(object, "data." EGRESSFIREWALL_TRANSFER_FILE);
	int r = secret_base64(api_text_slice(data), ret);
	if (r < 0)
		err_text_set(ERR_TEXT(ctx->err), "Secret %s: data.%s is not base64",
			     EGRESSFIREWALL_TRANSFER_SECRET, EGRESSFIREWALL_TRANSFER_FILE);
	return r;
}

static int renew_secret(struct controller_ctx *ctx, const struct kube_ref *ref,
			const json_t *object, struct secret *keys)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf text = STRBUF_INIT;
	int r = object != NULL ? decode_keys(ctx, object, keys) : 0;
	if (r < 0 || !egressfirewall_transfer_keys_renew(secret_slice(keys), wall_seconds(), &text))
		return r;
	r = object != NULL ? change_secret(ctx, ref, object, &text)
			   : create_secret(ctx, ref, &text);
	if (r < 0)
		return r;
	log_info(EGRESSFIREWALL_LOG_AREA, "wrote new keys into Secret %s/%s", ref->ns, ref->name);
	secret_set(keys, strbuf_slice(&text));
	return 0;
}

static int load_secret(struct controller_ctx *ctx, struct secret *ret)
{
	CLEANUP(secret_done) struct secret keys = { 0 };
	struct kube_ref ref = secret_ref(ctx);
	struct kube_status status;
	json_t *object = NULL;
	int r = kube_get(ctx->conn, &ref, &object, &status);
	r = note_error(ctx, "read", r == ERR_NOTFOUND ? 0 : r, &status);
	if (r == 0)
		r = renew_secret(ctx, &ref, object, &keys);
	kube_secret_tree_wipe(object);
	if (r < 0)
		return r;
	secret_done(ret);
	*ret = keys;
	keys = (struct secret){ 0 };
	return 0;
}

/* ---- the file ---- */

static int fail_file(struct controller_ctx *ctx, const char *what, int ret)
{
	err_text_set(ERR_TEXT(ctx->err), "cannot %s the file of keys: %s", what, err_str(ret));
	return ret;
}

/* A server that reads meanwhile sees the old file or the new one. */
static int write_file(struct controller_ctx *ctx, int dir, const struct strbuf *text)
{
	int fd = openat(dir, NEW_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_file(ctx, "write", -errno);
	ssize_t n = write(fd, text->s, text->n);
	int r = n == (ssize_t)text->n ? 0 : n < 0 ? -errno : -ENOSPC;
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(dir, NEW_FILE, dir, EGRESSFIREWALL_TRANSFER_FILE) < 0)
		r = -errno;
	return r < 0 ? fail_file(ctx, "write", r) : 0;
}

static int read_file(struct controller_ctx *ctx, int dir, struct strbuf *out)
{
	int fd = openat(dir, EGRESSFIREWALL_TRANSFER_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : fail_file(ctx, "read", -errno);
	int r = readfile_fd(fd, EGRESSFIREWALL_TRANSFER_KEYS_BYTES, out);
	close(fd);
	return r < 0 ? fail_file(ctx, "read", r) : 0;
}

static int load_file(struct controller_ctx *ctx, struct secret *ret)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf now = STRBUF_INIT;
	CLEANUP(secret_wipe_strbuf) struct strbuf next = STRBUF_INIT;
	int dir = controller_data_dir(ctx, ERR_TEXT(ctx->err));
	if (dir < 0)
		return dir;
	int r = read_file(ctx, dir, &now);
	bool renew = r == 0 &&
		     egressfirewall_transfer_keys_renew(strbuf_slice(&now), wall_seconds(), &next);
	if (renew)
		r = write_file(ctx, dir, &next);
	close(dir);
	if (r == 0)
		secret_set(ret, strbuf_slice(renew ? &next : &now));
	return r;
}

int egressfirewall_transfer_load_keys(struct controller_ctx *ctx, struct secret *ret)
{
	bool is_machine = ctx->options != NULL && ctx->options->machine != NULL;
	return is_machine ? load_file(ctx, ret) : load_secret(ctx, ret);
}
