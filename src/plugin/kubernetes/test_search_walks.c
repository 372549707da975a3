/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks of searchpath along the lists of this plugin: which server block answers each name of a walk,
 * names that would start another walk, and what is logged and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/kubernetes/objects/search_lists.h"
#include "plugin/kubernetes/source_test.h"
#include "plugin/kubernetes/test_world.h"
#include "testing/fake_server.h"

/* The cluster's block has answers for other names as well, which no client can reach. */
static const char blocks[] =
	"cluster.local {\n log\n prometheus\n searchpath\n cache\n kubernetes\n"
	" template IN A org test {\n  answer \"{{ .Name }} 5 IN A 192.0.2.9\"\n }\n"
	" template IN AAAA org test {\n  answer \"{{ .Name }} 5 IN AAAA 2001:db8::9\"\n }\n}\n"
	"corp.test {\n log\n template IN A host.corp.test {\n"
	"  answer \"{{ .Name }} 5 IN A 192.0.2.2\"\n }\n"
	" template ANY ANY . {\n  rcode NXDOMAIN\n }\n}\n"
	"refused.test {\n template ANY ANY . {\n  rcode REFUSED\n }\n}\n"
	". {\n log\n errors\n prometheus\n cache\n template IN AAAA . {\n  rcode NOERROR\n }\n"
	" template IN A once.example.net {\n"
	"  answer \"{{ .Name }} 5 IN CNAME web.shop.search.cluster.local.\"\n"
	"  authority \"example.net. 60 IN SOA a. b. 1 2 3 4 60\"\n }\n"
	" template IN A again.example.net {\n"
	"  answer \"{{ .Name }} 5 IN CNAME {{ .Name }}shop.search.cluster.local.\"\n }\n"
	" template IN A example.org {\n  answer \"{{ .Name }} 5 IN A 192.0.2.1\"\n }\n"
	" template ANY ANY . {\n  rcode NXDOMAIN\n }\n}\n";

static struct world world;

static void set_list(const char *ns, const char *names)
{
	char err[256];
	struct kubernetes_search_list *list =
		kubernetes_search_list_parse(slice_of(ns), slice_of(names), ERR_TEXT(err));
	assert_non_null(list);
	kubernetes_search_lists_set(kubernetes_index_lists(world.x), slice_of(ns), list);
}

static int make_world(void **state)
{
	static struct kubernetes_preset preset;
	static const char *const objects[] = {
		"namespace shop",
		"namespace corp",
		"namespace nested",
		"namespace refused",
		"service shop web ips=10.96.0.1 ports=http:80/TCP",
	};
	(void)state;
	world_init(&world, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(objects); i++)
		kube_obj_unref(world_add(&world, objects[i]));
	set_list("corp", "corp.test");
	set_list("nested", "nested.search.cluster.local shop.search.cluster.local");
	set_list("refused", "refused.test");
	preset = (struct kubernetes_preset){ .index = world.x, .imports = world.imports };
	kubernetes_source_preset(&preset);
	return 0;
}

static int free_world(void **state)
{
	(void)state;
	kubernetes_source_preset(NULL);
	world_done(&world);
	return 0;
}

static struct fake *start_blocks(void)
{
	struct fake *fake = fake_new(blocks);
	if (fake == NULL)
		fail_msg("%s", fake_error());
	return fake;
}

#define DENIED                                                            \
	"authority search.cluster.local. 5 IN SOA ns.dns.cluster.local. " \
	"hostmaster.cluster.local. "                                      \
	"1 7200 1800 86400 5\n"

static const struct {
	const char *name, *type, *reply; /* the reply after its question */
	const char *rcode;
} walks[] = {
	{ "web.shop.search.cluster.local.", "A",
	  "answer web.shop.search.cluster.local. 5 IN CNAME web.shop.svc.cluster.local.\n"
	  "answer web.shop.svc.cluster.local. 5 IN A 10.96.0.1\n",
	  "NOERROR qr aa rd" },
	/* the root block's template answers, not the cluster's */
	{ "www.example.org.shop.search.cluster.local.", "AAAA", DENIED, "NOERROR qr aa rd" },
	{ "www.example.org.shop.search.cluster.local.", "A",
	  "answer www.example.org.shop.search.cluster.local. 5 IN CNAME www.example.org.\n"
	  "answer www.example.org. 5 IN A 192.0.2.1\n",
	  "NOERROR qr aa rd" },
	{ "nope.test.shop.search.cluster.local.", "A", DENIED, "NXDOMAIN qr aa rd" },
	/* an element's own server */
	{ "host.corp.search.cluster.local.", "A",
	  "answer host.corp.search.cluster.local. 5 IN CNAME host.corp.test.\n"
	  "answer host.corp.test. 5 IN A 192.0.2.2\n",
	  "NOERROR qr aa rd" },
	{ "host.refused.search.cluster.local.", "A", "", "REFUSED qr rd" },
};

/* Each name of a walk is answered by the block that answers a client who asks for it. */
static void walks_enter_the_server(void **state)
{
	(void)state;
	struct fake *fake = start_blocks();
	for (size_t i = 0; i < ARRAY_LEN(walks); i++) {
		CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
		strbuf_addf(&want, "%s\nquestion %s IN %s\n%s", walks[i].rcode, walks[i].name,
			    walks[i].type, walks[i].reply);
		/* the second time from caches */
		for (int again = 0; again < 2; again++)
			assert_string_equal(
				fake_ask(fake, &(struct fake_ask){ .name = walks[i].name,
								   .type = walks[i].type }),
				want.s);
	}
	assert_int_equal(fake_inflight(fake), 0);
	fake_free(fake);
}

static double count_walks(struct fake *fake)
{
	double count = fake_metric(fake, "fairlead_searchpath_walks_total{server=\"dns://:53\"}");
	return count < 0 ? 0 : count;
}

/* By a list, by the question, and by aliases. */
static const char *const nested[] = {
	"web.nested.search.cluster.local.",
	"web.shop.search.cluster.local.shop.search.cluster.local.",
	"again.example.net.shop.search.cluster.local.",
	"once.example.net.shop.search.cluster.local.",
};

/* A name below the suffix inside a walk is not walked; one that a client asks for is, whatever a walk
 * has found before. */
static void walks_do_not_nest(void **state)
{
	(void)state;
	struct fake *fake = start_blocks();
	for (size_t i = 0; i < ARRAY_LEN(nested); i++) {
		double before = count_walks(fake);
		const char *reply = fake_ask(fake, &(struct fake_ask){ .name = nested[i] });
		if (reply == NULL || strstr(reply, " IN A 10.96.0.1") != NULL)
			fail_msg("%s: %s", nested[i], reply != NULL ? reply : "silence");
		assert_int_equal((int)(count_walks(fake) - before), 1);
	}
	/* no cache has the alias without its target */
	const char *reply = fake_ask(fake, &(struct fake_ask){ .name = "once.example.net." });
	assert_non_null(strstr(reply, "answer web.shop.svc.cluster.local. 5 IN A 10.96.0.1\n"));
	assert_int_equal(fake_inflight(fake), 0);
	fake_free(fake);
}

static size_t count_text(const char *text, const char *part)
{
	size_t count = 0;
	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		count++;
	return count;
}

static double count_requests(struct fake *fake, const char *zone)
{
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	strbuf_addf(&line,
		    "coredns_dns_requests_total{family=\"1\",proto=\"udp\",server=\"dns://:53\","
		    "type=\"A\",view=\"\",zone=\"%s\"}",
		    zone);
	double count = fake_metric(fake, line.s);
	return count < 0 ? 0 : count;
}

/* Logs and counters show the questions of clients: advice about ndots is derived from them. */
static void walks_are_one_question(void **state)
{
	(void)state;
	struct fake *fake = start_blocks();
	fake_log(fake);
	double before = count_requests(fake, "cluster.local."), outside = count_requests(fake, ".");
	fake_ask(fake, &(struct fake_ask){ .name = "www.example.org.shop.search.cluster.local." });
	const char *log = fake_log(fake);
	if (count_text(log, " IN ") != 1 || strstr(log, "shop.search.cluster.local. ") == NULL)
		fail_msg("%s", log);
	assert_int_equal((int)(count_requests(fake, "cluster.local.") - before), 1);
	assert_int_equal((int)(count_requests(fake, ".") - outside), 0);
	fake_free(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(walks_enter_the_server, make_world, free_world),
		cmocka_unit_test_setup_teardown(walks_do_not_nest, make_world, free_world),
		cmocka_unit_test_setup_teardown(walks_are_one_question, make_world, free_world),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
