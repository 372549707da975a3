/* Which text does a pod run, asked through the API server (pods/proxy): for an operator that runs
 * where the pods' addresses mean nothing, beside a hosted control plane (OP-T17). `fairlead
 * dns` tells the hash of its configuration at /config of the port of `ready`; CoreDNS has no such
 * page. That hash is made otherwise than the one in the text, so one has to know the text to
 * translate it. */
#pragma once

#include <stddef.h>

#include "base/slice.h"
#include "controller/dnsoperator/ack.h"

struct kube_conn;
struct kube_status;

enum {
	DNSOPERATOR_PROXY_PORT = 8181,	   /* of `ready` in the texts that are rendered */
	DNSOPERATOR_PROXY_HASH_MAX = 129,  /* with its NUL */
	DNSOPERATOR_PROXY_BODY_MAX = 1024, /* of an answer; longer ones are none of ours */
};

/* Texts that servers may run, the newest ones: what they tell of it, and the hash in it. */
enum { DNSOPERATOR_TEXTS_MAX = 8 };
struct dnsoperator_texts {
	struct dnsoperator_text_names {
		char running[DNSOPERATOR_PROXY_HASH_MAX]; /* "": no text */
		char hash[DNSOPERATOR_ACK_HASH_MAX];	  /* "": without the marker */
	} v[DNSOPERATOR_TEXTS_MAX];
	size_t next;
};

void dnsoperator_texts_add(struct dnsoperator_texts *texts, struct slice text, const char *hash);

/* What one pod's answer means. `result` and `st` are of the request, `body` is what came with a
 * 2xx. Never DNSOPERATOR_ACK_OTHER: nothing but a hash says anything about the text. */
void dnsoperator_proxy_read(int result, const struct kube_status *st, struct slice body,
			    char ret_running[DNSOPERATOR_PROXY_HASH_MAX],
			    struct dnsoperator_ack *ret);
/* Puts the hash in the text in place of what a pod told; a text that is not known gets one that no
 * other has. */
void dnsoperator_texts_name(const struct dnsoperator_texts *texts, const char *running,
			    struct dnsoperator_ack *ack);

struct dnsoperator_proxy_answer {
	struct dnsoperator_ack ack;
	char running[DNSOPERATOR_PROXY_HASH_MAX];
};

/* Asks pods of a namespace, eight at a time, each for two seconds at most. `conn` is the caller's;
 * when it is cancelled the rest counts as unreachable. */
void dnsoperator_proxy_pull(struct kube_conn *conn, const char *ns, const char *const *names,
			    size_t len, struct dnsoperator_proxy_answer *ret);
