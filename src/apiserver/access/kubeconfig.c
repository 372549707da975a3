/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes kubeconfig files: address, CA certificates and token of one user. */
#include "apiserver/access/kubeconfig.h"

#include <string.h>

#include "apiserver/access/atomic_file.h"
#include "base/err_text.h"
#include "base/text/base64.h"

static void wipe_text(struct strbuf *text)
{
	explicit_bzero(text->s, text->n);
	strbuf_reset(text);
}

int apiserver_kubeconfig_write(const struct apiserver_ca *ca, const char *dir,
			       const struct apiserver_kubeconfig *kubeconfig, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf pem = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf present = STRBUF_INIT;
	apiserver_ca_bundle(ca, &pem);
	strbuf_addf(&text,
		    "apiVersion: v1\nkind: Config\ncurrent-context: fairlead\n"
		    "clusters:\n- name: fairlead\n  cluster:\n    server: %s\n"
		    "    certificate-authority-data: ",
		    kubeconfig->server);
	base64_encode(&text, strbuf_slice(&pem));
	strbuf_addf(&text,
		    "\ncontexts:\n- name: fairlead\n  context:\n    cluster: fairlead\n"
		    "    user: %s\n"
		    "users:\n- name: %s\n  user:\n    token: %s\n",
		    kubeconfig->user, kubeconfig->user, kubeconfig->token);
	int r = apiserver_atomic_file_read(dir, kubeconfig->file, &present, err);
	if (r < 0 || !slice_eq(strbuf_slice(&present), strbuf_slice(&text)))
		r = apiserver_atomic_file_write(dir, kubeconfig->file, strbuf_slice(&text), err);
	wipe_text(&text);
	wipe_text(&present);
	return r;
}
